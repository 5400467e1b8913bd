//! A leader that dies while a thousand moves are under way: when have those that drain ended, when does somebody lead
//! again, and when is there another plan?
//!
//! ```text
//!  first owns 2 000 partitions ─► second joins, 1 000 moves drain ─► the leader is killed ─► drains may end
//!                                                                    third joins          ─► a move to third
//! ```
//!
//! The instances are processes of their own. Consumers are those of the client library, in this process; they have no
//! work, and their drains are held until the leader is dead. What happened is read from the records.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use async_trait::async_trait;
use kafka_assigner_audit::watcher::{Observed, Observer};
use kafka_assigner_client::{
    Consumer, ConsumerError, ConsumerOptions, HandlerError, Offset, OwnedContext, PartitionHandler, Stopped,
};
use kafka_assigner_core::record::{HandoffRecord, Phase};
use kafka_assigner_proto::v1::GroupConfig;
use kafka_assigner_rig::observer::Observing;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::child::Child;
use crate::consumer::GROUP;
use crate::instance::{LEADER_TTL, create_group, create_topic, open};
use crate::report::Report;
use crate::rounds::Rounds;
use crate::stopwatch::ms;

const PARTITIONS: u32 = 2_000;

/// Half of the partitions go to the second consumer, which is as many as the group's default allows at once.
const MOVES: usize = 1_000;

/// The middle one is told, and the worst.
const ROUNDS: usize = 3;

/// A round takes some ten seconds.
const BOUND: Duration = Duration::from_secs(90);

/// The time between two looks at the records, which is the precision of the times.
const LOOK: Duration = Duration::from_millis(1);

/// The next plan may take that much longer than the leader's session.
const PLAN: Duration = Duration::from_secs(1);

/// The results of one round; times count from the leader's death.
#[derive(Debug, Clone, Copy)]
struct Round {
    drained: Duration,
    led: Duration,
    /// Moves that had still to end then.
    left: usize,
    planned: Duration,
}

/// Measures rounds, each on new keys.
pub(crate) async fn run(report: &Report, etcd: &str) -> Result<()> {
    let size = format!("{MOVES} of {PARTITIONS} partitions move");
    let measured = Rounds::measure("failover", size, (ROUNDS, BOUND), |prefix| measure(etcd, prefix));
    tell_all(report, &measured.await?)
}

async fn measure(etcd: &str, prefix: String) -> Result<Round> {
    let mut instances = Vec::new();
    for _ in 0..2 {
        instances.push(Child::start("instance", &[etcd, &prefix]).await?);
    }
    let observer = Observing::start(open(etcd)?, &prefix, GROUP)?;
    let mut members = Members::new(&instances);
    prepare(&observer, &instances[0].address, &mut members).await?;

    let leader = observer.look().leader().context("somebody leads")?;
    let death = Instant::now();
    instances.retain(|instance| instance.address != leader);
    members.may_drain.send_replace(true);
    members.join("third")?;
    let (drained, (led, left), planned) = tokio::join!(
        when(&observer, |seen| (draining(seen) == 0).then_some(())),
        when(&observer, |seen| (seen.leader_changes() > 0).then(|| draining(seen))),
        when(&observer, |seen| (moves_to(seen, "third").next().is_some()).then_some(())),
    );
    ensure!(observer.look().cancelled() == 0, "moves were cancelled");
    Ok(Round { drained: drained.0 - death, led: led - death, left, planned: planned.0 - death })
}

/// Until all moves to the second consumer drain.
async fn prepare(observer: &Observer, address: &str, members: &mut Members) -> Result<()> {
    let config = GroupConfig {
        mode: Some("exclusive".to_owned()),
        max_warming: Some(u32::try_from(MOVES)?),
        ..GroupConfig::default()
    };
    create_group(address, Some(config)).await?;
    create_topic(address, PARTITIONS).await?;
    members.join("first")?;
    // A partition whose owner had not begun would not be held.
    members.begun.subscribe().wait_for(|begun| *begun == PARTITIONS).await?;
    members.join("second")?;
    when(observer, |seen| (draining(seen) == MOVES).then_some(())).await;
    Ok(())
}

/// The time at which the records first showed it, and what they showed.
async fn when<R>(observer: &Observer, shows: impl Fn(&Observed) -> Option<R>) -> (Instant, R) {
    loop {
        let shown = shows(&observer.look());
        if let Some(shown) = shown {
            return (Instant::now(), shown);
        }
        sleep(LOOK).await;
    }
}

/// The phases of the moves to `name`.
fn moves_to<'a>(seen: &'a Observed, name: &'a str) -> impl Iterator<Item = Phase> + 'a {
    let records = seen.state.handoffs().values().filter_map(|entry| entry.last_good());
    records.filter_map(move |record| match record {
        HandoffRecord::Lead(handoff) => (handoff.new.name.as_str() == name).then_some(handoff.phase),
        HandoffRecord::Reference(_) => None,
    })
}

fn draining(seen: &Observed) -> usize {
    moves_to(seen, "second").filter(|phase| *phase == Phase::Draining).count()
}

/// Consumers that know both instances.
struct Members {
    endpoints: Vec<String>,
    may_drain: watch::Sender<bool>,
    /// The number of partitions that somebody began to work on.
    begun: watch::Sender<u32>,
    /// They end with this.
    running: JoinSet<Result<Stopped, ConsumerError>>,
}

impl Members {
    fn new(instances: &[Child]) -> Self {
        let endpoints = instances.iter().map(|instance| instance.address.clone()).collect();
        let (may_drain, begun) = (watch::Sender::new(false), watch::Sender::new(0));
        Self { endpoints, may_drain, begun, running: JoinSet::new() }
    }

    fn join(&mut self, name: &str) -> Result<()> {
        let consumer = Consumer::new(ConsumerOptions {
            group: GROUP.to_owned(),
            max_warming: MOVES,
            ..ConsumerOptions::new(name, self.endpoints.clone())
        })?;
        let handler = Idle { may_drain: self.may_drain.subscribe(), begun: self.begun.clone() };
        self.running.spawn(consumer.run(handler, CancellationToken::new()));
        Ok(())
    }
}

/// Has nothing to do, and stops when it may.
struct Idle {
    may_drain: watch::Receiver<bool>,
    begun: watch::Sender<u32>,
}

#[async_trait]
impl PartitionHandler for Idle {
    async fn assigned(&self, _: &OwnedContext) -> Result<(), HandlerError> {
        self.begun.send_modify(|begun| *begun += 1);
        Ok(())
    }

    async fn drain(&self, _: &OwnedContext) -> Result<Option<Offset>, HandlerError> {
        self.may_drain.clone().wait_for(|may| *may).await?;
        Ok(None)
    }
}

fn tell_all(report: &Report, rounds: &Rounds<Round>) -> Result<()> {
    let tell = |what, aim, part| rounds.tell_times(report, what, aim, part);
    tell(["all drains ended", "all drains ended, worst"], None, |round| round.drained)?;
    tell(["another one leads", "another one leads, worst"], None, |round| round.led)?;
    tell(["next plan", "next plan, worst"], Some(ms(LEADER_TTL + PLAN)), |round| round.planned)?;
    let left = rounds.each(|round| round.left).into_iter().max().unwrap_or_default();
    let value = f64::from(u32::try_from(left)?);
    report.tell(&rounds.figure("moves that waited for a leader, worst", value, "", Some(0.0)))
}
