//! A large group on etcd: how soon a fresh plan is durable and told, and how soon a consumer that joins is told to
//! prepare.
//!
//! Instance and consumers share this process, the machine's cores they share with etcd. Beside each round the same
//! records are written to etcd by themselves: what no service on this machine can beat.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use futures::{StreamExt, TryStreamExt, stream};
use kafka_assigner_core::record::GroupConfig;
use kafka_assigner_server::ServedGroup;
use kafka_assigner_store::{EtcdStore, Store};
use kafka_assigner_types::kv::{Op, Txn};

use crate::consumer::{Consumer, Crowd, GROUP};
use crate::instance::{Served, create_group, create_topic, open};
use crate::report::Report;
use crate::rounds::Rounds;
use crate::stopwatch::median;

const PARTITIONS: u32 = 10_000;
const CONSUMERS: usize = 100;

/// The middle one of so many is told, and the last, which is the worst after sorting.
const ROUNDS: usize = 5;

/// A round takes some five seconds.
const BOUND: Duration = Duration::from_secs(60);

/// Transactions under way at a time, as many as a leader has.
const AT_A_TIME: usize = 4;

/// The results of one round; times count from the call that creates the topic, or that registers the consumer.
#[derive(Debug, Clone, Copy)]
struct Round {
    durable: Duration,
    delivered: Duration,
    bare_writes: Duration,
    first_warm: Duration,
}

/// Measures rounds, each with a new instance on new keys.
pub(crate) async fn run(report: &Report, etcd: &str) -> Result<()> {
    let size = format!("{PARTITIONS} partitions, {CONSUMERS} consumers");
    let measured = Rounds::measure("scale", size, (ROUNDS, BOUND), |prefix| measure(etcd, prefix));
    tell_all(report, &measured.await?)
}

async fn measure(etcd: &str, prefix: String) -> Result<Round> {
    let served = Served::start(etcd, &prefix).await?;
    create_group(&served.address, None).await?;
    let mut crowd = Crowd::register(&served.address, CONSUMERS).await?;
    let group = served.instance.group(&GROUP.parse()?).await?;
    let partitions = usize::try_from(PARTITIONS)?;

    let start = Instant::now();
    let (created, durable, delivered) = tokio::join!(
        create_topic(&served.address, PARTITIONS),
        assigned(&group, partitions),
        crowd.own(partitions)
    );
    created?;
    let (durable, delivered) = (durable? - start, delivered? - start);

    let start = Instant::now();
    let joined = Consumer::register(&served.address, CONSUMERS).await?;
    let first_warm = (joined.first_warm().await? - start).saturating_sub(debounce());
    served.stop().await?;
    let bare_writes = bare_writes(&open(etcd)?, &prefix).await?;
    Ok(Round { durable, delivered, bare_writes, first_warm })
}

/// Waits until the instance's view, which is behind the store if anything, shows so many assignments.
async fn assigned(group: &ServedGroup, partitions: usize) -> Result<Instant> {
    let mut updates = group.view().subscribe();
    while group.read(|state| state.assignments().len()) < partitions {
        updates.next().await.context("the view stopped")?;
    }
    Ok(Instant::now())
}

fn debounce() -> Duration {
    Duration::from_millis(GroupConfig::default().debounce_ms)
}

/// Writes every assignment under `prefix` a second time, elsewhere, in as few transactions as etcd takes them.
async fn bare_writes(store: &EtcdStore, prefix: &str) -> Result<Duration> {
    let written = store.range(prefix.as_bytes()).await?.records;
    let is_assignment = |key: &[u8]| key.windows(13).any(|part| part == b"/assignments/");
    let puts: Vec<Op> = written
        .into_iter()
        .filter(|record| is_assignment(&record.key))
        .map(|record| Op::put([b"/bare", &record.key[..]].concat(), record.value))
        .collect();
    let txns: Vec<Txn> =
        puts.chunks(store.limits().operations).map(|puts| Txn::guarded(Vec::new(), puts.to_vec())).collect();
    anyhow::ensure!(txns.len() * store.limits().operations >= usize::try_from(PARTITIONS)?, "all are there");
    let start = Instant::now();
    let writing = stream::iter(txns).map(|txn| store.txn(txn)).buffer_unordered(AT_A_TIME);
    writing.try_collect::<Vec<_>>().await?;
    Ok(start.elapsed())
}

fn tell_all(report: &Report, rounds: &Rounds<Round>) -> Result<()> {
    let tell = |what, aim, part| rounds.tell_times(report, what, aim, part);
    tell(["fresh plan durable", "fresh plan durable, worst"], Some(1_500.0), |round| round.durable)?;
    tell(["all commands told", "all commands told, worst"], Some(2_500.0), |round| round.delivered)?;
    tell(["etcd alone, same records", "etcd alone, worst"], None, |round| round.bare_writes)?;
    let warm = ["first Warm after the debounce", "first Warm after the debounce, worst"];
    tell(warm, Some(200.0), |round| round.first_warm)?;
    let ratio = |round: &Round| {
        Duration::from_secs_f64(round.durable.as_secs_f64() / round.bare_writes.as_secs_f64())
    };
    let value = median(rounds.each(ratio)).as_secs_f64();
    report.tell(&rounds.figure("durable next to etcd alone", value, "x", None))
}
