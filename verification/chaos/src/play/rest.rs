//! The time after the last fault.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use kafka_assigner_core::record::Owner;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_rig::clock::Moment;
use kafka_assigner_types::id::TopicPartition;
use tokio::time::{Instant, sleep};

use super::setting::Setting;
use crate::load::{PARTITIONS, RETURNING, TOPIC};
use crate::sink::Sink;

/// The longest time without a change before everything is at rest: longer than any of the deadlines for which something
/// waits, and than two of them one after the other.
const STANDSTILL: Duration = Duration::from_secs(30);

/// The longest time for which changes may go on without an end: a slow run comes to rest long before.
const REST: Duration = Duration::from_secs(300);

/// The time between two looks whether they are done.
const LOOK: Duration = Duration::from_millis(50);

/// The result of coming to rest.
#[derive(Debug)]
pub(crate) struct Rest {
    /// The time that it took.
    pub(crate) took: Duration,
    /// Handoffs that were left.
    pub(crate) stuck: usize,
    /// The things that were not at rest.
    pub(crate) violations: Vec<String>,
}

/// Waits until everything is at rest.
pub(crate) async fn come_to_rest(setting: &Setting) -> Result<Rest> {
    let (begin, from) = (Instant::now(), Moment::now());
    let (mut before, mut changed) = (Vec::new(), begin);
    loop {
        let unrest = unrest(setting, from);
        if unrest != before {
            (before, changed) = (unrest.clone(), Instant::now());
        }
        if unrest.is_empty() || changed.elapsed() > STANDSTILL || begin.elapsed() > REST {
            let stuck = setting.stage.observer.look().state.handoffs().len();
            return Ok(Rest { took: begin.elapsed(), stuck, violations: unrest });
        }
        sleep(LOOK).await;
    }
}

/// True if nothing moves, and every partition is worked on by somebody who lives.
pub(crate) fn is_at_rest(setting: &Setting) -> bool {
    unrest(setting, Moment::default()).is_empty()
}

/// The things that are not at rest, in words. Every partition must have had an effect after `from` under the grant that
/// stands.
fn unrest(setting: &Setting, from: Moment) -> Vec<String> {
    let Setting { stage, sink, returning, .. } = setting;
    let living = stage.crew.names();
    let seen = stage.observer.look();
    let handoffs = seen.state.handoffs().keys().map(|at| format!("{at} is still being handed over"));
    let standing = (0..PARTITIONS).map(|partition| (TOPIC, partition, partition));
    let returned =
        returning.partitions().into_iter().map(|(partition, number)| (RETURNING, partition, number));
    let idle = standing.chain(returned).filter_map(|(topic, partition, number)| {
        let at = TopicPartition::new(topic.parse().ok()?, partition.unsigned_abs());
        let problem = problem(&seen.state, &living, sink, (&at, number), from)?;
        Some(format!("{at} {problem}"))
    });
    handoffs.chain(idle).collect()
}

fn problem(
    state: &GroupState,
    living: &[String],
    sink: &Sink,
    (at, number): (&TopicPartition, i32),
    from: Moment,
) -> Option<String> {
    let Some(assignment) = state.assignment(at) else { return Some("is not assigned".to_owned()) };
    let Some(owner) = &assignment.owner else { return Some("has no owner".to_owned()) };
    if !lives(state, living, owner) {
        return Some(format!("belongs to {}, who is gone", owner.name));
    }
    let epoch = assignment.held_epoch().0;
    let last = sink.last_applied(number);
    if last.is_some_and(|last| last.at > from && last.write.epoch == epoch) {
        return None;
    }
    Some(format!("makes no progress with {} in epoch {epoch}", owner.name))
}

/// True if a running process has the very session that owns.
fn lives(state: &GroupState, living: &[String], owner: &Owner) -> bool {
    let registered = state.registration(&owner.name);
    let is_registered = registered.is_some_and(|consumer| consumer.incarnation == owner.incarnation);
    is_registered && living.iter().any(|name| *name == owner.name.to_string())
}

/// Waits until every record has had its effect, for as long as they have. What has not by then is lost, and found to be.
pub(crate) async fn do_the_rest(sink: &Sink, ends: &BTreeMap<i32, i64>) {
    let last = |partition: &i32| sink.last_applied(*partition).map(|last| last.write.offset + 1);
    let reached = || -> Vec<Option<i64>> { ends.keys().map(last).collect() };
    let all: Vec<Option<i64>> = ends.values().copied().map(Some).collect();
    let (mut before, mut changed) = (Vec::new(), Instant::now());
    while before != all && changed.elapsed() < STANDSTILL {
        sleep(LOOK).await;
        let now = reached();
        if now != before {
            (before, changed) = (now, Instant::now());
        }
    }
}
