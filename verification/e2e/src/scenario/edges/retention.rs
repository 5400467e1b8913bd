//! Retention: of records before a start, of records while they are read, and of offsets.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_rig::topics::Committed;
use kafka_assigner_rig::within;
use kafka_assigner_types::mode::Mode;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tokio::task::block_in_place;

use super::notes::{EdgeDeed, EdgeNote};
use super::report::{EdgeCase, OFFSET_EXPIRY, RETENTION_BEFORE_START, RETENTION_WHILE_RUNNING};
use super::stage::Ground;

/// Partitions of each topic.
const PARTITIONS: u32 = 4;

/// The time that each record takes while retention overtakes its consumer.
const RECORD_MS: &str = "3";

/// A queue that retention can overtake: what has been fetched is handled all the same.
const SMALL_QUEUE: [&str; 3] =
    ["queued.min.messages=50", "queued.max.messages.kbytes=8", "fetch.message.max.bytes=4096"];

/// The group that commits once, and of which Kafka forgets that.
const CONTROL: &str = "offset-expiry-control";

/// The time after which a quiet offset is committed again: a third of what the broker of this case keeps them.
const REFRESH_MS: &str = "20000";

/// Kafka forgets an offset a minute after its commit, and looks every five seconds.
const FORGOTTEN: Duration = Duration::from_secs(180);

/// The time between two questions to Kafka about what it has forgotten.
const LOOK: Duration = Duration::from_secs(2);

/// Records are removed while nobody reads: whoever starts is told of them.
pub(super) async fn before_start(ground: Ground<'_>) -> Result<EdgeCase> {
    let mut stage = ground.stage(RETENTION_BEFORE_START, PARTITIONS, &[]).await?;
    let mut workers = stage.workers();
    stage.fill(300).await?;
    workers.join(&stage.worker(1))?;
    stage.accounts_for_all().await?;
    workers.leave(&stage.worker(1)).await?;
    let committed = stage.truth.end();
    stage.fill(700).await?;
    stage.remove_before(committed + 200).await?;
    workers.join(&stage.worker(2))?;
    stage.accounts_for_all().await?;
    workers.end().await?;
    let case = stage.judge(&BTreeSet::new())?;
    let gaps = case.gaps_told;
    Ok(case.concluded(gaps))
}

/// Records are removed before a slow consumer has come to them.
pub(super) async fn while_running(ground: Ground<'_>) -> Result<EdgeCase> {
    let mut stage = ground.stage(RETENTION_WHILE_RUNNING, PARTITIONS, &[]).await?;
    stage.fill(4_000).await?;
    let slow = stage.workers().with("--record-ms", RECORD_MS);
    let mut workers = SMALL_QUEUE.iter().fold(slow, |workers, setting| workers.with("--setting", *setting));
    workers.join(&stage.worker(1))?;
    let begun = |notes: &[EdgeNote]| (0..PARTITIONS).all(|of| handled(notes, of) >= 100);
    stage.sees("work in every partition", begun).await?;
    stage.remove_before(stage.truth.end() - 1_000).await?;
    stage.accounts_for_all().await?;
    workers.join(&stage.worker(2))?;
    stage.settles(2).await?;
    workers.end().await?;
    let case = stage.judge(&BTreeSet::new())?;
    let gaps = case.gaps_told;
    Ok(case.concluded(gaps))
}

fn handled(notes: &[EdgeNote], of: u32) -> usize {
    let is_of =
        |note: &&EdgeNote| matches!(note.deed, EdgeDeed::Handled { partition, .. } if partition == of);
    notes.iter().filter(is_of).count()
}

/// The partitions of two groups are quiet until Kafka has forgotten what another group has committed at the same time.
pub(super) async fn of_offsets(ground: Ground<'_>) -> Result<EdgeCase> {
    let (strict, overlap) = tokio::try_join!(quiet(ground, Mode::Exclusive), quiet(ground, Mode::Overlap))?;
    let happened = usize::from(strict.happened > 0 && overlap.happened > 0);
    Ok(strict.and(&overlap).concluded(happened))
}

async fn quiet(ground: Ground<'_>, mode: Mode) -> Result<EdgeCase> {
    let mut stage = ground.stage_in(OFFSET_EXPIRY, mode, PARTITIONS, &[]).await?;
    let mut workers = stage.workers().with("--offset-refresh-ms", REFRESH_MS);
    stage.fill(20).await?;
    workers.join(&stage.worker(1))?;
    stage.accounts_for_all().await?;
    let control = Control::commit(stage.kafka(), &stage.name)?;
    let is_forgotten = within(FORGOTTEN, LOOK, || Ok(control.is_forgotten()?.then_some(()))).await?.is_some();
    stage.tell("Kafka has forgotten another group's offset");
    workers.join(&stage.worker(2))?;
    stage.settles(2).await?;
    workers.leave(&stage.worker(1)).await?;
    stage.fill(5).await?;
    stage.accounts_for_all().await?;
    workers.end().await?;
    Ok(stage.judge(&BTreeSet::new())?.concluded(usize::from(is_forgotten)))
}

/// An offset of a group that is committed once.
struct Control {
    committed: Committed,
}

impl Control {
    fn commit(kafka: &str, topic: &str) -> Result<Self> {
        let group = format!("{CONTROL}-{topic}");
        let consumer: BaseConsumer =
            ClientConfig::new().set("bootstrap.servers", kafka).set("group.id", &group).create()?;
        let mut offset = TopicPartitionList::new();
        offset.add_partition_offset(topic, 0, Offset::Offset(1))?;
        block_in_place(|| consumer.commit(&offset, CommitMode::Sync)).context("the control commits")?;
        Ok(Self { committed: Committed::new(kafka, &group, topic)? })
    }

    /// Of one record before offset 1, none is committed.
    fn is_forgotten(&self) -> Result<bool> {
        block_in_place(|| Ok(self.committed.missing(&[(0, 1)].into())? == 1))
    }
}
