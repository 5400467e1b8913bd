//! Records as operators see them.

use std::time::Duration;

use kafka_assigner_core::begun::{GrantStage, grant_stage};
use kafka_assigner_core::counts::{self, GroupCounts, is_owned};
use kafka_assigner_core::explain::waits_for;
use kafka_assigner_core::failing;
use kafka_assigner_core::leader::{busy_member, phase_bound};
use kafka_assigner_core::record::{self, Handoff, Source, Standing};
use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_core::stops;
use kafka_assigner_core::view::{Role, role};
use kafka_assigner_proto::v1;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::{WallMillis, millis};
use kafka_assigner_types::name::{MemberName, TopicName};

use crate::convert::{wire_mode, wire_partition};
use crate::group::PhaseTime;

/// A number that the wire has fewer bits for than a group could ever need.
pub(super) fn count<N: TryInto<u32>>(number: N) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}

pub(super) fn unix_ms(wall: WallMillis) -> i64 {
    i64::try_from(wall.0).unwrap_or(i64::MAX)
}

pub(super) fn summary(state: &GroupState, counted: &GroupCounts) -> v1::GroupSummary {
    let handoffs: usize = counted.handoffs.values().sum();
    v1::GroupSummary {
        group: state.layout().group().to_string(),
        strategy: state.configured(|config| config.strategy.clone()),
        consumers: count(counted.consumers),
        topics: count(counted.topics),
        partitions: count(counted.partitions),
        unowned: count(counted.unowned),
        handoffs: count(handoffs),
    }
}

pub(super) fn config(config: &record::GroupConfig) -> v1::GroupConfig {
    v1::GroupConfig {
        strategy: Some(config.strategy.clone()),
        mode: Some(config.mode.to_string()),
        session_timeout_ms: Some(config.session_timeout_ms),
        max_session_timeout_ms: Some(config.max_session_timeout_ms),
        debounce_ms: Some(config.debounce_ms),
        warm_deadline_ms: Some(config.warm_deadline_ms),
        phase_deadline_ms: Some(config.phase_deadline_ms),
        drain_deadline_ms: Some(config.drain_deadline_ms),
        hold_deadline_ms: Some(config.hold_deadline_ms),
        takeover_after_ms: Some(config.takeover_after_ms),
        max_moves_in_flight: Some(config.max_moves_in_flight),
        max_warming: Some(config.max_warming),
        rejoin_grace_ms: Some(config.rejoin_grace_ms),
        catch_up: Some(config.catch_up),
        wait_out_revocations: Some(config.wait_out_revocations),
        spread_topics: Some(config.spread_topics.clone()),
    }
}

/// The leader; `None` where there is none, or it is not known.
pub(super) fn leader(state: &GroupState) -> Option<v1::Leader> {
    let leader = state.leader()?.readable()?;
    Some(v1::Leader {
        instance: leader.instance.clone(),
        endpoint: leader.address.clone(),
        term: leader.create_revision.0,
    })
}

pub(super) fn topic(name: &TopicName, entry: &Entry<record::Topic>) -> v1::Topic {
    let shown = v1::Topic { topic: name.to_string(), ..v1::Topic::default() };
    let Some(topic) = entry.last_good() else { return shown };
    let source = match topic.source {
        Source::Kafka => v1::TopicSource::Kafka,
        Source::Static => v1::TopicSource::Operator,
    };
    v1::Topic {
        partitions: topic.partitions,
        topic_id: topic.topic_id.clone().unwrap_or_default(),
        source: source.into(),
        copartition: topic.copartition.clone(),
        mode: topic.mode.map(|mode| mode.to_string()),
        ..shown
    }
}

pub(super) fn consumer(
    state: &GroupState,
    name: &MemberName,
    entry: &Entry<record::Consumer>,
) -> v1::Consumer {
    let shown = v1::Consumer { name: name.to_string(), ..roles(state, name, entry) };
    let Some(consumer) = entry.readable() else { return shown };
    let (standing, ending_because) = match &consumer.standing {
        Standing::Active => (v1::ConsumerState::Active, String::new()),
        Standing::Draining => (v1::ConsumerState::Draining, String::new()),
        Standing::Ending(why) => (v1::ConsumerState::Ending, why.to_string()),
    };
    let renewal = match consumer.renewal {
        record::Renewal::Client => v1::Renewal::Client,
        record::Renewal::Server => v1::Renewal::Server,
    };
    v1::Consumer {
        incarnation: consumer.incarnation.to_string(),
        state: standing.into(),
        topics: consumer.topics.iter().map(ToString::to_string).collect(),
        max_partitions: consumer.max_partitions.unwrap_or_default(),
        rack: consumer.rack.clone(),
        capacity: consumer.capacity,
        generation: consumer.generation.clone(),
        session_timeout_ms: consumer.ttl_ms,
        renewal: renewal.into(),
        since_unix_ms: unix_ms(consumer.since),
        client: consumer.client.clone(),
        caller: consumer.caller.clone(),
        instance: consumer.instance.clone(),
        ending_because,
        suspected: consumer.suspected.as_ref().map(suspicion),
        fenced: u32::try_from(consumer.fenced.len()).unwrap_or(u32::MAX),
        ..shown
    }
}

fn suspicion(mark: &record::Suspicion) -> v1::Suspicion {
    let sign = match &mark.sign {
        record::DeathSign::Detached => v1::DeathSign::Detached,
        record::DeathSign::Silent => v1::DeathSign::Silent,
        record::DeathSign::Other(_) => v1::DeathSign::Unspecified,
    };
    v1::Suspicion { sign: sign.into(), instance: mark.by.clone(), since_unix_ms: unix_ms(mark.since) }
}

/// The number of partitions that a consumer has in each role; of one whose registration can't be read, those that name
/// it.
fn roles(state: &GroupState, name: &MemberName, entry: &Entry<record::Consumer>) -> v1::Consumer {
    let mut shown = v1::Consumer::default();
    let member = entry.last_good().map(|consumer| kafka_assigner_types::id::Member {
        name: name.clone(),
        incarnation: consumer.incarnation.clone(),
    });
    for at in state.concerned(name) {
        match member.as_ref().and_then(|member| role(state, member, at)) {
            Some(Role::Owner { .. }) => {
                shown.owned += 1;
                let is_its = |stop: &record::Stop| member.as_ref().is_some_and(|member| stop.is_by(member));
                shown.stopped += u32::from(stops::standing(state, at).is_some_and(is_its));
                let stage = grant_stage(state, at);
                shown.not_begun += u32::from(stage.is_some_and(|stage| stage != GrantStage::Begun));
            }
            Some(Role::Warming { .. } | Role::CatchingUp { .. }) => shown.warming += 1,
            Some(Role::Draining { .. } | Role::Releasing { .. }) => shown.releasing += 1,
            None if member.is_none() && owner(state, at) == Some(name) => shown.owned += 1,
            None => {}
        }
    }
    shown.failing = member.map_or(0, |member| count(failing::count(state, &member)));
    shown
}

/// The owner that the partition's assignment names.
pub(super) fn owner<'s>(state: &'s GroupState, at: &TopicPartition) -> Option<&'s MemberName> {
    Some(&state.assignment(at)?.owner.as_ref()?.name)
}

pub(super) fn assignment(state: &GroupState, at: &TopicPartition) -> v1::PartitionAssignment {
    let mut shown = v1::PartitionAssignment {
        topic: at.topic.to_string(),
        partition: wire_partition(at.partition),
        why: "nobody was granted it so far".to_owned(),
        ..v1::PartitionAssignment::default()
    };
    if let Some(assignment) = state.assignment(at) {
        shown.epoch = assignment.held_epoch().0;
        shown.since_unix_ms = unix_ms(assignment.since);
        shown.why = assignment.why.to_string();
        shown.mode = wire_mode(assignment.mode).into();
        shown.switching = assignment.switching.is_some();
        shown.gap_ms = assignment.gap_ms;
        if let Some(owner) = &assignment.owner {
            shown.owner = owner.name.to_string();
            shown.incarnation = owner.incarnation.to_string();
        }
        if assignment.owner.is_some() && !is_owned(state, at) {
            shown.why.push_str("; the session of its owner is over");
        }
    }
    shown.stopped = stops::standing(state, at).map(standstill);
    (shown.stage, shown.stage_message) = stage(state, at);
    shown.failing = failing::failure(state, at).map(failing_record);
    if let Some(error) = state.error_at(at) {
        shown.why = format!("a record can't be read: {error}");
    }
    shown
}

/// The word for the stage of the grant of `at`, and the last error of an owner that has not begun it.
fn stage(state: &GroupState, at: &TopicPartition) -> (String, String) {
    let (word, message) = match grant_stage(state, at) {
        None => ("", ""),
        Some(GrantStage::Granted) => (counts::GRANTED, ""),
        Some(GrantStage::Begun) => ("begun", ""),
        Some(GrantStage::NotBegun(grant)) => (grant.why.label(), &*grant.message),
    };
    (word.to_owned(), message.to_owned())
}

pub(super) fn standstill(stop: &record::Stop) -> v1::Standstill {
    v1::Standstill {
        offset: stop.offset.get(),
        reason: stop.reason.clone(),
        consumer: stop.consumer.to_string(),
        earlier_consumer: stop.earlier.as_ref().map(ToString::to_string).unwrap_or_default(),
        since_unix_ms: unix_ms(stop.since),
        is_of_drain: stop.is_of_drain,
    }
}

fn failing_record(failure: &record::RecordFailure) -> v1::FailingRecord {
    v1::FailingRecord {
        offset: failure.offset.get(),
        reason: failure.reason.clone(),
        since_unix_ms: unix_ms(failure.since),
    }
}

/// The part of a handoff that concerns `at`, one of its partitions, and how the `time` of its phase stands, where that is
/// known.
pub(super) fn handoff(
    state: &GroupState,
    handoff: &Handoff,
    at: &TopicPartition,
    time: Option<PhaseTime>,
) -> v1::Handoff {
    let phase = match handoff.phase {
        record::Phase::Warming => v1::Phase::Warming,
        record::Phase::Ready => v1::Phase::Ready,
        record::Phase::Freezing => v1::Phase::Freezing,
        record::Phase::Draining => v1::Phase::Draining,
        record::Phase::CatchingUp => v1::Phase::CatchingUp,
        record::Phase::Complete => v1::Phase::Complete,
        record::Phase::Cancelled => v1::Phase::Cancelled,
    };
    v1::Handoff {
        topic: at.topic.to_string(),
        partition: wire_partition(at.partition),
        handoff_id: handoff.id.to_string(),
        old_owner: handoff.old.name.to_string(),
        new_owner: handoff.new.name.to_string(),
        phase: phase.into(),
        since_unix_ms: unix_ms(handoff.since),
        phase_age_ms: time.map(|time| millis(time.age)),
        deadline_ms: time.and_then(|time| time.left).map(millis),
        progress: progress(state, handoff, at, time),
        taken: handoff.taken.is_some(),
        waiting_for: waits_for(state, handoff).to_string(),
        why: handoff.why.to_string(),
        cancelled_because: handoff.cancelled.as_ref().map(ToString::to_string).unwrap_or_default(),
        mode: wire_mode(handoff.mode).into(),
        missing_routers: missing_routers(state, handoff),
        busy: busy_member(state, handoff).is_some(),
    }
}

fn missing_routers(state: &GroupState, handoff: &Handoff) -> Vec<String> {
    if handoff.phase != record::Phase::Freezing {
        return Vec::new();
    }
    state.missing_routers(handoff).iter().map(ToString::to_string).collect()
}

fn progress(
    state: &GroupState,
    handoff: &Handoff,
    at: &TopicPartition,
    time: Option<PhaseTime>,
) -> Option<v1::WarmProgress> {
    let age = report_age(state, handoff, time).unwrap_or_default();
    counts::progress(state, handoff, at).map(|reported| wire_progress(at, reported, age))
}

/// The time since progress was last written for a warm-up: it puts the deadline off to a whole one. `None` where the instance
/// does not lead the group, or no deadline runs.
fn report_age(state: &GroupState, handoff: &Handoff, time: Option<PhaseTime>) -> Option<Duration> {
    let left = time.filter(|_| handoff.phase == record::Phase::Warming)?.left?;
    Some(phase_bound(state, handoff).saturating_sub(left))
}

/// The progress that was reported so long ago: what was left then is less by now.
fn wire_progress(at: &TopicPartition, reported: &record::Progress, age: Duration) -> v1::WarmProgress {
    v1::WarmProgress {
        topic: at.topic.to_string(),
        partition: wire_partition(at.partition),
        handoff_id: reported.handoff.to_string(),
        done: reported.done,
        total: reported.total,
        left_ms: reported.left_ms.map(|left| left.saturating_sub(millis(age))),
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_core::record::{Extra, Progress};
    use kafka_assigner_core::test_group::{TestGroup, catching_up, tp};
    use kafka_assigner_types::id::HandoffId;

    use super::*;

    #[test]
    fn an_owner_is_shown_with_the_epoch_that_it_holds_while_another_one_catches_up() {
        let (lab, at) = catching_up();
        let held = lab.state.assignment(&at).unwrap().held_epoch();
        assert_eq!(assignment(&lab.state, &at).epoch, held.0);
    }

    #[test]
    fn the_time_that_a_warm_up_still_takes_is_shown_less_the_age_of_its_report() {
        let handoff = HandoffId::new("h");
        let told = Progress { handoff, done: 3, total: Some(9), left_ms: Some(7_000), extra: Extra::new() };
        let shown = wire_progress(&tp("t", 1), &told, Duration::ZERO);
        assert_eq!((shown.done, shown.total, shown.left_ms), (3, Some(9), Some(7_000)));
        assert_eq!((&*shown.topic, shown.partition, &*shown.handoff_id), ("t", 1, "h"));
        let left = |seconds| wire_progress(&tp("t", 1), &told, Duration::from_secs(seconds)).left_ms;
        assert_eq!([left(2), left(9)], [Some(5_000), Some(0)]);
    }

    #[test]
    fn the_age_of_a_report_is_what_is_gone_of_the_deadline_that_it_put_off() {
        let mut lab = TestGroup::with_topics(&[("t", 2)]);
        lab.join("a");
        lab.settle();
        lab.join("b");
        lab.pass();
        let handoff = lab.state.handoff(&tp("t", 1)).unwrap().clone();
        let whole = Duration::from_millis(lab.state.configured(|config| config.warm_deadline_ms));
        let time = |gone: u64| {
            let left = Some(whole - Duration::from_secs(gone));
            Some(PhaseTime { age: Duration::from_secs(500), left })
        };
        assert_eq!(report_age(&lab.state, &handoff, time(7)), Some(Duration::from_secs(7)));
        assert_eq!(report_age(&lab.state, &handoff, None), None);
        let ready = Handoff { phase: record::Phase::Ready, ..handoff };
        assert_eq!(report_age(&lab.state, &ready, time(7)), None);
    }
}
