//! Whatever happens in whatever order: afterwards the group comes to rest, and on the way nothing that must hold
//! is broken. That epochs rise (I2) is held by the group at every single change.

mod event;
mod story;

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_core::record::HandoffRecord;
use kafka_assigner_core::state::{GroupState, Presence};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::kv::{Must, Txn};
use kafka_assigner_types::name::MemberName;
use proptest::prelude::*;

pub(crate) use event::{Event, NAMES, event};
pub(crate) use story::Story;

/// In a strict mode the owner is remembered for as long as it may act, with or without a topic.
fn may_act_on(state: &GroupState, at: &TopicPartition) -> bool {
    let assignment = state.assignment(at).filter(|assignment| assignment.mode.is_strict());
    let owner = assignment.and_then(|assignment| assignment.owner.as_ref());
    owner.is_some_and(|owner| state.presence(&owner.member()) == Presence::Here)
}

pub(crate) fn same(a: &BTreeMap<TopicPartition, Role>, b: &BTreeMap<TopicPartition, Role>) -> bool {
    a.keys().eq(b.keys()) && a.iter().all(|(at, role)| role.is_same(&b[at]))
}

/// The partitions at which the records name each member, found by looking at each of them.
fn named(state: &GroupState) -> BTreeMap<MemberName, BTreeSet<TopicPartition>> {
    let mut named: BTreeMap<MemberName, BTreeSet<TopicPartition>> = BTreeMap::new();
    for (at, entry) in state.assignments() {
        if let Some(owner) = entry.last_good().and_then(|a| a.owner.as_ref()) {
            named.entry(owner.name.clone()).or_default().insert(at.clone());
        }
    }
    for entry in state.handoffs().values() {
        if let Some(HandoffRecord::Lead(handoff)) = entry.last_good() {
            for name in [&handoff.old.name, &handoff.new.name] {
                named.entry(name.clone()).or_default().extend(handoff.unit.iter().cloned());
            }
        }
    }
    named
}

fn indexed(state: &GroupState) -> BTreeMap<MemberName, BTreeSet<TopicPartition>> {
    NAMES
        .iter()
        .map(|name| name.parse::<MemberName>().unwrap())
        .map(|name| (name.clone(), state.concerned(&name).cloned().collect::<BTreeSet<_>>()))
        .filter(|(_, concerned)| !concerned.is_empty())
        .collect()
}

/// True if a consumer may have a partition: it is subscribed to all that moves with it, and takes partitions.
fn has_a_taker(group: &TestGroup, at: &TopicPartition) -> bool {
    let label = |topic: &_| group.state.topics()[topic].readable().and_then(|t| t.copartition.clone());
    let mine = label(&at.topic);
    let set = group
        .state
        .topics()
        .keys()
        .filter(|topic| **topic == at.topic || (mine.is_some() && label(topic) == mine));
    let set: Vec<_> = set.collect();
    group.state.consumers().values().filter_map(|entry| entry.readable()).any(|consumer| {
        let takes = consumer.standing == kafka_assigner_core::record::Standing::Active;
        takes && consumer.max_partitions.is_none() && set.iter().all(|topic| consumer.subscribes(topic))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_history_ends_in_the_fixed_point_with_an_owner_wherever_there_is_a_taker(
        events in prop::collection::vec(event(), 0..60)
    ) {
        let mut story = Story::new();
        events.iter().for_each(|event| story.happen(event));
        story.come_to_rest();
        let group = &story.group;
        prop_assert!(group.plan().actions.is_empty());
        prop_assert!(group.steps().is_empty());
        prop_assert!(group.state.handoffs().is_empty(), "{:?}", group.state.handoffs());
        prop_assert!(group.state.intents().is_empty());
        for (topic, entry) in group.state.topics() {
            for number in 0..entry.readable().unwrap().partitions {
                let at = tp(topic.as_str(), number);
                let owner = group.owner(&at).and_then(|name| name.parse().ok());
                let is_here = owner.is_some_and(|name: MemberName| group.state.consumers().contains_key(&name));
                prop_assert!(is_here || !has_a_taker(group, &at), "{at} has no owner");
            }
        }
        for at in group.state.assignments().keys() {
            let has_topic = group.state.topics().get(&at.topic).is_some();
            prop_assert!(has_topic || may_act_on(&group.state, at), "{at} of no topic");
        }
    }

    #[test]
    fn requests_are_held_back_once_the_old_owner_rests(events in prop::collection::vec(event(), 0..60)) {
        let mut story = Story::routed();
        events.iter().for_each(|event| story.happen(event));
    }

    #[test]
    fn a_state_that_followed_is_the_state_that_a_listing_gives(
        events in prop::collection::vec(event(), 0..60)
    ) {
        let mut story = Story::new();
        for event in &events {
            story.happen(event);
            let followed = &story.group.state;
            let mut listed = GroupState::new(followed.layout().clone());
            listed.reset(&story.group.store.snapshot());
            prop_assert_eq!(followed.unreadable(), listed.unreadable());
            prop_assert_eq!(indexed(followed), named(followed), "the index");
            prop_assert_eq!(indexed(&listed), named(&listed), "the index");
            prop_assert_eq!(followed.revision(), listed.revision());
            // Beside what can't be read now and could be before, both are the same.
            if story.spoiled.is_empty() {
                prop_assert_eq!(followed.assignments(), listed.assignments());
                prop_assert_eq!(followed.handoffs(), listed.handoffs());
                prop_assert_eq!(followed.consumers(), listed.consumers());
                prop_assert_eq!(followed.routers(), listed.routers());
                prop_assert_eq!(followed.router_acks(), listed.router_acks());
                for member in story.group.members() {
                    prop_assert_eq!(
                        story.group.view(&member),
                        kafka_assigner_core::view::consumer_view(&listed, &member)
                    );
                }
            }
        }
    }

    #[test]
    fn a_listing_brings_any_older_state_up_to_date(
        events in prop::collection::vec(event(), 1..40), until in 0usize..40
    ) {
        let mut story = Story::new();
        let mut old = story.group.state.clone();
        for (number, event) in events.iter().enumerate() {
            story.happen(event);
            if number == until {
                old = story.group.state.clone();
            }
        }
        story.mend();
        let touched = old.reset(&story.group.store.snapshot());
        prop_assert_eq!(old.assignments(), story.group.state.assignments());
        prop_assert_eq!(old.handoffs(), story.group.state.handoffs());
        prop_assert_eq!(indexed(&old), named(&old));
        prop_assert!(old.reset(&story.group.store.snapshot()).is_empty(), "{touched:?}");
    }

    #[test]
    fn every_write_is_guarded_by_the_leader_or_by_the_session_that_speaks(
        events in prop::collection::vec(event(), 0..40)
    ) {
        let mut story = Story::new();
        for event in &events {
            story.happen(event);
            // The term of the leader comes with the transaction, see `write`.
            for action in story.group.plan().actions.iter().chain(&story.group.steps()) {
                let changed = action.write.ops.iter().filter(|op| matches!(op, kafka_assigner_types::kv::Op::Put { .. }));
                for op in changed {
                    let kafka_assigner_types::kv::Op::Put { key, .. } = op else { unreachable!() };
                    let is_guarded = action.write.guards.iter().any(|guard| {
                        guard.key == *key && matches!(guard.must, Must::BeAbsent | Must::HaveModRevision(_))
                    });
                    prop_assert!(is_guarded, "{action:?} writes {key:?} unseen");
                }
                let mut store = story.group.store.clone();
                let txn = Txn::guarded(action.write.guards.clone(), action.write.ops.clone());
                prop_assert!(store.txn(&txn).is_some(), "{action:?} is outdated at once");
                prop_assert!(store.txn(&txn).is_none(), "{action:?} applies twice");
            }
        }
    }
}
