//! A record that can't be handled: passed over, buried, or before which its partition stands.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use kafka_assigner_rig::{topics, within};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{BorrowedMessage, Headers as _, Message as _};
use tokio::task::block_in_place;

use super::notes::{EdgeDeed, EdgeNote};
use super::report::{EdgeCase, POISON_DEAD_LETTER, POISON_SKIP, POISON_STOP};
use super::stage::{Ground, SETTLES, Stage};
use super::verdict::Place;
use crate::scenario::workers::Workers;

/// Partitions of each topic.
const PARTITIONS: u32 = 4;

/// The record that can't be handled.
const POISONED: Place = (1, 100);

/// The partition with the record that can't be handled once the first one can, and the distance of that record from the
/// end of the log before.
const POISONED_AGAIN: Place = (2, 50);

/// A stop may take so long to hand over, by default; a record that can't be handled must not use it up.
const LEAVES_WITHIN: Duration = Duration::from_secs(17);

/// The time between two looks at what operators are shown.
const LOOK: Duration = Duration::from_millis(500);

/// A broker that runs answers within milliseconds.
const ANSWER: Duration = Duration::from_secs(10);

/// It is passed over.
pub(super) async fn skip(ground: Ground<'_>) -> Result<EdgeCase> {
    let mut stage = ground.stage(POISON_SKIP, PARTITIONS, &[]).await?;
    let workers = poisoned(&mut stage).await?.with("--remedy", "skip");
    play(&mut stage, workers).await?;
    let case = stage.judge(&BTreeSet::new())?;
    let skipped = case.skipped;
    Ok(case.concluded(skipped))
}

/// It is written to the dead-letter topic.
pub(super) async fn dead_letter(ground: Ground<'_>) -> Result<EdgeCase> {
    let mut stage = ground.stage(POISON_DEAD_LETTER, PARTITIONS, &[]).await?;
    let topic = format!("{}.dead", stage.name);
    topics::create(stage.kafka(), &topic, 1).await?;
    let workers = poisoned(&mut stage).await?.with("--remedy", "dead-letter").with("--dead-letters", &topic);
    play(&mut stage, workers).await?;
    let letters = block_in_place(|| letters(stage.kafka(), &topic))?;
    let case = stage.judge(&letters)?;
    let buried = case.dead_lettered;
    Ok(case.concluded(buried))
}

/// Its partition stands until another version handles it; the next such record is passed over by an operator.
pub(super) async fn stop(ground: Ground<'_>) -> Result<EdgeCase> {
    let mut stage = ground.stage(POISON_STOP, PARTITIONS, &[]).await?;
    let standing = stand_until_healed(&mut stage).await?;
    hold_until_skipped(&mut stage).await?;
    Ok(stage.judge(&BTreeSet::new())?.concluded(standing))
}

/// The owner leaves, and another version can handle the record. Returns how often a partition was seen to stand.
async fn stand_until_healed(stage: &mut Stage<'_>) -> Result<usize> {
    let mut workers = poisoned(stage).await?.with("--remedy", "stop");
    workers.join(&stage.worker(1))?;
    stage.sees("a partition that stands", |notes| notes.iter().any(stands)).await?;
    let all_others = |notes: &[EdgeNote]| (0..PARTITIONS).all(|of| of == POISONED.0 || handles(notes, of));
    stage.sees("work in the other partitions", all_others).await?;
    let mut healed = stage.workers();
    healed.join(&stage.worker(2))?;
    stage.settles(2).await?;
    workers.leave(&stage.worker(1)).await?;
    stage.truth.heal();
    stage.accounts_for_all().await?;
    healed.end().await?;
    Ok(stage.notes()?.iter().filter(|note| stands(note)).count())
}

/// Two owners stop before a record. The one whose partition stands leaves, the partition is held, and an operator passes
/// the record over.
async fn hold_until_skipped(stage: &mut Stage<'_>) -> Result<()> {
    let (partition, distance) = POISONED_AGAIN;
    let poisoned = (partition, stage.truth.end() + distance);
    stage.fill(100).await?;
    let id = stage.truth.poison(poisoned).context("there is no such record")?;
    let mut workers = stage.workers().with("--poison", id.to_string()).with("--remedy", "stop");
    for number in [3, 4] {
        workers.join(&stage.worker(number))?;
        stage.settles(number - 2).await?;
        sees_standing(stage, &stage.worker(3)).await?;
    }
    // The partition may have moved to the second one, which then has to have tried the record, too.
    let owner = stage.group.owner_of(partition).context("nobody owns the partition")?;
    sees_standing(stage, &owner).await?;
    stage.tell(&format!("{owner} is asked to leave, whose partition stands"));
    let asked = Instant::now();
    workers.leave(&owner).await?;
    let took = asked.elapsed();
    ensure!(took < LEAVES_WITHIN, "a consumer whose partition stands took {took:?} to leave");
    let name = stage.name.clone();
    let held =
        || Ok(block_in_place(|| stage.operates(&["assignments", &name]))?.contains("held").then_some(()));
    within(SETTLES, LOOK, held).await?.context("the partition was never shown as held")?;
    let partition = partition.to_string();
    block_in_place(|| stage.operates(&["resume", &name, &name, &partition, "--skip"]))?;
    stage.accounts_for_all().await?;
    workers.end().await
}

/// Waits until a partition of the consumer stands.
async fn sees_standing(stage: &Stage<'_>, consumer: &str) -> Result<()> {
    let is_its = |note: &EdgeNote| stands(note) && note.process.starts_with(consumer);
    stage.sees("an owner that stands", |notes| notes.iter().any(is_its)).await
}

fn stands(note: &EdgeNote) -> bool {
    matches!(note.deed, EdgeDeed::Counted { standing, .. } if standing > 0)
}

/// True if the record behind the place of the poisoned one was handled in a partition.
fn handles(notes: &[EdgeNote], of: u32) -> bool {
    let behind = |note: &EdgeNote| matches!(note.deed, EdgeDeed::Handled { partition, offset, .. } if partition == of && offset > POISONED.1);
    notes.iter().any(behind)
}

/// A log with the record; workers that can't handle it.
pub(super) async fn poisoned(stage: &mut Stage<'_>) -> Result<Workers> {
    stage.fill(200).await?;
    let id = stage.truth.poison(POISONED).context("there is no such record")?;
    Ok(stage.workers().with("--poison", id.to_string()))
}

/// Two consumers share the partitions, a third one comes, and one leaves.
pub(super) async fn play(stage: &mut Stage<'_>, mut workers: Workers) -> Result<()> {
    workers.join(&stage.worker(1))?;
    workers.join(&stage.worker(2))?;
    stage.accounts_for_all().await?;
    stage.settles(2).await?;
    workers.join(&stage.worker(3))?;
    stage.settles(3).await?;
    workers.leave(&stage.worker(1)).await?;
    stage.fill(50).await?;
    stage.accounts_for_all().await?;
    workers.end().await
}

/// The places of the records in a dead-letter topic of one partition.
pub(super) fn letters(kafka: &str, topic: &str) -> Result<BTreeSet<Place>> {
    let consumer: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", kafka).set("group.id", "letters").create()?;
    let (_, end) = consumer.fetch_watermarks(topic, 0, ANSWER)?;
    let mut list = rdkafka::TopicPartitionList::new();
    list.add_partition_offset(topic, 0, rdkafka::Offset::Beginning)?;
    consumer.assign(&list)?;
    let mut places = BTreeSet::new();
    for _ in 0..end {
        let Some(letter) = consumer.poll(ANSWER) else {
            bail!("{topic} has {end} letters, and no more come")
        };
        places.extend(place(&letter?));
    }
    Ok(places)
}

/// The place that a letter names in its headers.
fn place(letter: &BorrowedMessage<'_>) -> Option<Place> {
    let word = |name: &str| {
        let header = letter.headers()?.iter().find(|header| header.key == name)?;
        std::str::from_utf8(header.value?).ok().map(str::to_owned)
    };
    let partition = word("dead_letter.partition")?.parse().ok()?;
    Some((partition, word("dead_letter.offset")?.parse().ok()?))
}
