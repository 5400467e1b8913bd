//! A group in numbers, for lists and metrics.

use std::collections::BTreeMap;

use crate::begun::{GrantStage, grant_stage};
use crate::failing;
use crate::record::{Handoff, Phase, Progress};
use crate::state::{Entry, GroupState, Presence};
use crate::stops::standing;
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::name::MemberName;

/// The counts of one group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupCounts {
    /// Registered consumers, also those whose registration can't be read.
    pub consumers: usize,
    /// Those of them whose processes seem to be dead.
    pub suspected: usize,
    /// Registered routers, likewise.
    pub routers: usize,
    /// Topics.
    pub topics: usize,
    /// Partitions of those topics.
    pub partitions: u64,
    /// Those of them that nobody owns, or whose owner's session is over; see [`is_owned`].
    pub unowned: u64,
    /// Those whose owner has not confirmed yet that it goes on in another mode.
    pub switching: usize,
    /// Those whose owner stands before a record, and is not followed by another try yet.
    pub standing: usize,
    /// Those that nobody is granted, since two owners stopped before the same record.
    pub held: usize,
    /// Those that their owners have not begun, by the [label](crate::record::UnbegunReason::label) of the reason; reasons
    /// without any are missing. Under [`GRANTED`] those of which no report tells yet.
    pub not_begun: BTreeMap<&'static str, usize>,
    /// Those whose next record has failed for long, as their owners say.
    pub failing: usize,
    /// Handoffs by their phase, one for each unit; phases without any are missing.
    pub handoffs: BTreeMap<Phase, usize>,
    /// The routers that hold up a freeze now, each with how many; at most those that are registered.
    pub missing_acks: BTreeMap<MemberName, usize>,
}

/// The word for a grant of which no report of its owner tells.
pub const GRANTED: &str = "granted";

fn not_begun(state: &GroupState) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for at in state.assignments().keys() {
        let reason = match grant_stage(state, at) {
            None | Some(GrantStage::Begun) => continue,
            Some(GrantStage::Granted) => GRANTED,
            Some(GrantStage::NotBegun(grant)) => grant.why.label(),
        };
        *counts.entry(reason).or_default() += 1;
    }
    counts
}

/// The partitions whose next record fails, over all registrations: those of which nobody says so cost nothing.
fn whose_record_fails(state: &GroupState) -> usize {
    let registered = state.consumers().iter().filter_map(|(name, entry)| Some((name, entry.readable()?)));
    let members = registered
        .map(|(name, consumer)| Member { name: name.clone(), incarnation: consumer.incarnation.clone() });
    members.map(|member| failing::count(state, &member)).sum()
}

/// Counts everything; takes time in proportion to the group's records, and to freezes under way times routers.
#[must_use]
pub fn counts(state: &GroupState) -> GroupCounts {
    let (mut partitions, mut unowned) = (0, 0);
    for at in self::partitions(state, None).filter(|at| state.exists(at)) {
        partitions += 1;
        unowned += u64::from(!is_owned(state, &at));
    }
    let assignments = state.assignments().values().filter_map(Entry::last_good);
    let switching = assignments.filter(|assignment| assignment.switching.is_some()).count();
    let stops = state.assignments().keys().filter_map(|at| standing(state, at));
    let (held, standing): (Vec<_>, Vec<_>) = stops.partition(|stop| stop.is_last());
    let (mut handoffs, mut missing_acks) = (BTreeMap::new(), BTreeMap::new());
    for handoff in state.handoffs().keys().filter_map(|at| state.handoff(at)) {
        *handoffs.entry(handoff.phase).or_default() += 1;
        let freeze = Some(handoff).filter(|handoff| handoff.phase == Phase::Freezing);
        for router in freeze.into_iter().flat_map(|handoff| state.missing_routers(handoff)) {
            *missing_acks.entry(router).or_default() += 1;
        }
    }
    let registered = state.consumers().values().filter_map(Entry::readable);
    GroupCounts {
        suspected: registered.filter(|consumer| consumer.suspicion().is_some()).count(),
        consumers: state.consumers().len(),
        routers: state.routers().len(),
        topics: state.topics().len(),
        partitions,
        unowned,
        switching,
        standing: standing.len(),
        held: held.len(),
        not_begun: not_begun(state),
        failing: whose_record_fails(state),
        handoffs,
        missing_acks,
    }
}

/// The progress of the new owner of `handoff` with `at`, one of its partitions; `None` where it has reported none.
#[must_use]
pub fn progress<'s>(state: &'s GroupState, handoff: &Handoff, at: &TopicPartition) -> Option<&'s Progress> {
    let reported = state.registration(&handoff.new.name)?.progress.get(&at.to_string())?;
    (reported.handoff == handoff.id).then_some(reported)
}

/// The progress of a group's warm-ups, as shares of what there is to do, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUpShares {
    /// That of the partition which is the least far.
    pub least: f64,
    /// The mean over the partitions.
    pub mean: f64,
}

/// The progress of the partitions in [`Phase::Warming`]; `None` where of none is known how much there is to do. Those of
/// which it is not are left out.
#[must_use]
pub fn warm_up_shares(state: &GroupState) -> Option<WarmUpShares> {
    let warming = state.handoffs().keys().filter_map(|at| state.handoff(at));
    let warming = warming.filter(|handoff| handoff.phase == Phase::Warming);
    let partitions = warming.flat_map(|handoff| handoff.unit.iter().map(move |at| (handoff, at)));
    let shares: Vec<f64> =
        partitions.filter_map(|(handoff, at)| share(progress(state, handoff, at)?)).collect();
    let least = shares.iter().copied().reduce(f64::min)?;
    let count = u32::try_from(shares.len()).unwrap_or(u32::MAX);
    Some(WarmUpShares { least, mean: shares.iter().sum::<f64>() / f64::from(count) })
}

/// The part of the whole that is done, where that is known; where nothing is to be done, all of it.
fn share(progress: &Progress) -> Option<f64> {
    let total = progress.total?;
    let done = progress.done.min(total);
    Some(if total == 0 { 1.0 } else { ratio(done, total) })
}

#[expect(clippy::cast_precision_loss, reason = "a share for people needs no more than 52 bits")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

fn topic_sizes(state: &GroupState) -> impl Iterator<Item = (&kafka_assigner_types::name::TopicName, u32)> {
    state.topics().iter().map(|(name, entry)| (name, Entry::last_good(entry).map_or(0, |t| t.partitions)))
}

/// True if somebody owns `at` whose session is not known to be over. In the strict modes it is over as soon as it is
/// being ended: its owner is fenced, and nobody works until its claim is over. In `overlap` another owner is granted at
/// once.
#[must_use]
pub fn is_owned(state: &GroupState, at: &TopicPartition) -> bool {
    let Some(assignment) = state.assignment(at) else { return false };
    let presence = assignment.owner.as_ref().map(|owner| state.presence(&owner.member()));
    match presence {
        None | Some(Presence::Gone) => false,
        Some(Presence::Ending) => !assignment.mode.is_strict(),
        Some(Presence::Here | Presence::Unknown) => true,
    }
}

/// Every partition of the group in order, from `from` on: those of its topics, and those that are assigned though
/// their topic does not have them any more.
pub fn partitions<'s>(
    state: &'s GroupState,
    from: Option<&TopicPartition>,
) -> impl Iterator<Item = TopicPartition> + 's {
    let from = from.cloned();
    let mut sizes: BTreeMap<&kafka_assigner_types::name::TopicName, u32> = topic_sizes(state).collect();
    for at in state.assignments().keys() {
        let size = sizes.entry(&at.topic).or_default();
        *size = (*size).max(at.partition.saturating_add(1));
    }
    sizes
        .into_iter()
        .flat_map(move |(topic, size)| {
            let start = match &from {
                Some(from) if from.topic > *topic => size,
                Some(from) if from.topic == *topic => from.partition,
                _ => 0,
            };
            (start..size).map(|partition| TopicPartition::new(topic.clone(), partition))
        })
        .filter(|at| state.exists(at) || state.assignments().contains_key(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::Ack;
    use crate::key::Key;
    use crate::reason::FenceReason;
    use crate::record::{Consumer, GroupConfig, Standing, encode};
    use crate::test_group::{TestGroup, tp};
    use kafka_assigner_types::mode::Mode;

    #[test]
    fn partitions_of_a_topic_that_was_never_readable_are_there_as_far_as_they_are_assigned() {
        let mut group = TestGroup::with_topics(&[("t", 2)]);
        group.join("a");
        group.settle();
        group.put(&Key::Topic("t".parse().unwrap()), "{");
        let mut fresh = GroupState::new(group.state.layout().clone());
        fresh.reset(&group.store.snapshot());
        assert!(fresh.topics()["t"].last_good().is_none());
        assert!(fresh.exists(&tp("t", 1)), "nobody knows that it is gone");
        let counted = counts(&fresh);
        assert_eq!((counted.partitions, counted.unowned), (2, 0));
    }

    #[test]
    fn a_partition_counts_as_unowned_until_it_is_granted_and_again_when_its_owner_is_gone() {
        let mut group = TestGroup::with_topics(&[("t", 3)]);
        assert_eq!(counts(&group.state).unowned, 3);
        group.join("a");
        group.settle();
        let counted = counts(&group.state);
        assert_eq!((counted.consumers, counted.partitions, counted.unowned), (1, 3, 0));
        group.crash("a");
        assert_eq!(counts(&group.state).unowned, 3);
    }

    #[test]
    fn in_the_strict_modes_a_partition_whose_owner_is_fenced_counts_as_unowned_and_in_overlap_not() {
        for (mode, unowned) in [(Mode::Overlap, 0), (Mode::Exclusive, 2), (Mode::Routed, 2)] {
            let mut group = TestGroup::with_topics(&[("t", 2)]);
            group.configure(&GroupConfig { mode, ..GroupConfig::default() });
            let a = group.join("a");
            group.settle();
            let key = Key::Consumer(a.name);
            let consumer: Consumer = group.stored(&key);
            let standing = Standing::Ending(FenceReason::NoProgress);
            group.put(&key, encode(&Consumer { standing, ..consumer }));
            assert_eq!(counts(&group.state).unowned, unowned, "{mode}");
        }
    }

    #[test]
    fn handoffs_are_counted_by_phase() {
        let mut group = TestGroup::with_topics(&[("t", 4)]);
        group.join("a");
        group.settle();
        group.join("b");
        group.pass();
        assert_eq!(counts(&group.state).handoffs, BTreeMap::from([(Phase::Warming, 2)]));
    }

    #[test]
    fn a_router_counts_once_for_each_freeze_that_waits_for_it_until_it_has_said_its_word() {
        let mut group = TestGroup::with_topics(&[("t", 4)]);
        group.configure(&GroupConfig { mode: Mode::Routed, ..GroupConfig::default() });
        let (front, edge) = (group.route_as("front"), group.route_as("edge"));
        group.join("a");
        group.settle();
        let b = group.join("b");
        group.pass();
        assert!(counts(&group.state).missing_acks.is_empty(), "nothing freezes yet");
        let moving: Vec<_> = group.state.handoffs().keys().cloned().collect();
        moving.iter().for_each(|at| {
            let id = group.state.handoff(at).unwrap().id.clone();
            group.say(&b, at, Some(&id), &Ack::Ready);
        });
        group.pass();
        let missing = |group: &TestGroup| counts(&group.state).missing_acks;
        assert_eq!(missing(&group), BTreeMap::from([(front.name.clone(), 2), (edge.name.clone(), 2)]));
        let id = group.state.handoff(&moving[0]).unwrap().id.clone();
        group.freeze(&front, &moving[0], &id);
        assert_eq!(missing(&group), BTreeMap::from([(front.name, 1), (edge.name, 2)]));
    }

    #[test]
    fn warmth_is_that_of_the_partitions_of_which_it_is_known_how_much_there_is_to_do() {
        let mut group = TestGroup::with_topics(&[("t", 6)]);
        group.join("a");
        group.settle();
        let b = group.join("b");
        group.pass();
        assert_eq!(warm_up_shares(&group.state), None, "nothing was reported");
        let moving: Vec<_> = group.state.handoffs().keys().cloned().collect();
        let reported = [(1, Some(4)), (9, Some(8)), (5, None)];
        let key = Key::Consumer(b.name);
        let mut consumer: Consumer = group.stored(&key);
        for (at, (done, total)) in moving.iter().zip(reported) {
            let handoff = group.state.handoff(at).unwrap().id.clone();
            consumer.progress.insert(
                at.to_string(),
                Progress { handoff, done, total, left_ms: None, extra: crate::record::Extra::new() },
            );
        }
        group.put(&key, encode(&consumer));
        assert_eq!(warm_up_shares(&group.state), Some(WarmUpShares { least: 0.25, mean: 0.625 }));
    }

    #[test]
    fn partitions_come_in_order_with_those_that_their_topic_lost() {
        let mut group = TestGroup::with_topics(&[("a", 2), ("b", 2)]);
        group.join("c");
        group.settle();
        group.topic("a", 1);
        let all = [tp("a", 0), tp("a", 1), tp("b", 0), tp("b", 1)];
        assert_eq!(partitions(&group.state, None).collect::<Vec<_>>(), all);
        assert_eq!(partitions(&group.state, Some(&tp("a", 1))).collect::<Vec<_>>(), all[1..]);
    }
}
