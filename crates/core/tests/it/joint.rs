//! The acks of one call are judged together: they do what they would do one after the other, in fewer writes.

use std::collections::BTreeMap;

use kafka_assigner_core::ack::{Ack, Drained, MemberAck, Verdict, judge_all};
use kafka_assigner_core::record::{GroupConfig, MAX_SET, Phase, Taken};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::{HandoffId, Member, Offset, TopicPartition};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;
use proptest::prelude::*;
use serde_json::Value;

use crate::histories::{Story, event};

/// The ack of the kind `what` that is the `number`th of its call.
fn ack(what: usize, number: usize) -> Ack {
    let offset = i64::try_from(number).ok().and_then(|number| Offset::new(number).ok());
    match what {
        0 => Ack::Ready,
        1 => Ack::Taken(Taken { first_offset: offset, ..Taken::default() }),
        2 => Ack::Released { last_at: None },
        3 => Ack::WarmFailed { reason: "no".to_owned() },
        4 => Ack::Drained(Drained { offset, last_at: None }),
        5 => Ack::CaughtUp,
        _ => Ack::Frozen,
    }
}

/// The stored values, but for epochs, which follow from the revisions of the writes.
fn stored(group: &TestGroup) -> BTreeMap<Vec<u8>, Value> {
    let without_epochs = |record: &kafka_assigner_types::kv::Record| {
        let mut value: Value = serde_json::from_slice(&record.value).unwrap_or(Value::Null);
        if let Some(fields) = value.as_object_mut() {
            ["epoch", "run", "held", "old_epochs"].iter().for_each(|field| drop(fields.remove(*field)));
        }
        (record.key.to_vec(), value)
    };
    group.store.records().map(without_epochs).collect()
}

fn id_at(group: &TestGroup, at: &TopicPartition) -> Option<HandoffId> {
    let handoff = group.state.handoff_of(at).map(|handoff| handoff.id.clone());
    handoff.or_else(|| group.state.assignment(at)?.switching.clone())
}

/// Everybody who may say it, in any session that is registered.
fn speakers(group: &TestGroup, what: usize) -> Vec<Member> {
    if !matches!(ack(what, 0), Ack::Frozen) {
        return group.members();
    }
    let session =
        |(name, entry): (&_, &kafka_assigner_core::state::Entry<kafka_assigner_core::record::Router>)| {
            let incarnation = entry.readable()?.incarnation.clone();
            Some(Member { name: Clone::clone(name), incarnation })
        };
    group.state.routers().iter().filter_map(session).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn acks_of_one_call_do_what_they_do_one_by_one(
        events in prop::collection::vec(event(), 0..60),
        calls in prop::collection::vec(
            (0..5usize, 0..7usize, prop::collection::vec(0..12usize, 1..12), any::<bool>()), 1..6
        ),
    ) {
        let mut story = Story::new();
        events.iter().for_each(|event| story.happen(event));
        for (who, what, ats, is_named) in calls {
            let mut one_by_one = story.group.clone();
            let speakers = speakers(&one_by_one, what);
            let Some(speaker) = speakers.get(who % speakers.len().max(1)) else { continue };
            let partitions: Vec<_> = one_by_one.state.assignments().keys().cloned().collect();
            let acks = ats.iter().enumerate().filter_map(|(number, at)| {
                let at = partitions.get(at % partitions.len().max(1))?.clone();
                let handoff = id_at(&one_by_one, &at).filter(|_| is_named);
                Some(MemberAck { at, handoff, ack: ack(what, number) })
            });
            let acks: Vec<MemberAck> = acks.collect();
            for ack in &acks {
                one_by_one.say(speaker, &ack.at, ack.handoff.as_ref(), &ack.ack);
            }
            let mut together = story.group.clone();
            together.say_all(speaker, &acks);
            prop_assert_eq!(stored(&together), stored(&one_by_one), "{} says {:?}", speaker, acks);
            story.group = together;
        }
    }
}

/// A set of `topics`, of which one partition each is to move from the first member to the second one.
fn moving(topics: usize, mode: Mode) -> (TestGroup, [Member; 2], Member) {
    let mut group = TestGroup::default();
    group.configure(&GroupConfig { mode, ..GroupConfig::default() });
    (0..topics).for_each(|n| group.topic_in_set(&format!("t{n:02}"), 2, "s"));
    let router = group.route_as("r");
    let old = group.join("a");
    group.settle();
    let new = group.join("b");
    group.pass();
    (group, [old, new], router)
}

fn of_unit(group: &TestGroup, ack: &Ack) -> Vec<MemberAck> {
    let lead = tp("t00", 1);
    let handoff = group.state.handoff(&lead).unwrap();
    let of = |at: &TopicPartition| MemberAck {
        at: at.clone(),
        handoff: Some(handoff.id.clone()),
        ack: ack.clone(),
    };
    handoff.unit.iter().map(of).collect()
}

#[test]
fn one_transaction_records_the_acks_of_the_largest_set_in_every_phase() {
    for mode in Mode::ALL {
        let (mut group, [old, new], router) = moving(MAX_SET, mode);
        let mut path = vec![(&new, Ack::Ready)];
        path.extend((mode == Mode::Routed).then_some((&router, Ack::Frozen)));
        path.extend(mode.is_strict().then(|| (&old, Ack::Drained(Drained::default()))));
        path.extend((mode == Mode::Routed).then_some((&new, Ack::CaughtUp)));
        path.extend([(&new, Ack::Taken(Taken::default())), (&old, Ack::Released { last_at: None })]);
        for (speaker, ack) in path {
            let acks = of_unit(&group, &ack);
            assert_eq!(group.say_all(speaker, &acks), 1, "{ack:?} in {mode}");
            group.pass();
        }
        assert!(group.state.handoffs().is_empty(), "{mode}");
        assert_eq!(group.loads().into_values().collect::<Vec<_>>(), [MAX_SET, MAX_SET]);
    }
}

#[test]
fn the_last_acks_of_a_router_end_the_freeze_with_them() {
    let (mut group, [_, new], router) = moving(3, Mode::Routed);
    let ready = of_unit(&group, &Ack::Ready);
    group.say_all(&new, &ready);
    group.pass();
    let frozen = of_unit(&group, &Ack::Frozen);
    group.say_all(&router, &frozen[..1]);
    assert_eq!(group.state.handoff(&tp("t00", 1)).unwrap().phase, Phase::Freezing);
    group.say_all(&router, &frozen[1..]);
    assert_eq!(group.state.handoff(&tp("t00", 1)).unwrap().phase, Phase::Draining, "no leader in between");
}

#[test]
fn what_one_write_cant_record_with_the_rest_is_judged_again() {
    let (group, [_, new], _) = moving(2, Mode::Overlap);
    let mut acks = of_unit(&group, &Ack::Ready);
    acks.push(acks[0].clone());
    acks.push(MemberAck { ack: Ack::WarmFailed { reason: "no".to_owned() }, ..acks[1].clone() });
    acks.push(MemberAck { at: tp("t00", 0), ..acks[0].clone() });
    let judged = judge_all(&group.state, &new, &acks, WallMillis(0));
    let by_acks: Vec<_> = judged.iter().map(|judged| (&judged.acks[..], judged.verdict.clone())).collect();
    assert_eq!(by_acks[0], (&[4][..], Verdict::Over), "it does not move");
    assert_eq!(by_acks[1].0, [0, 1]);
    assert!(matches!(by_acks[1].1, Verdict::Record { .. }));
    assert_eq!(by_acks.len(), 2, "neither the repetition nor the other kind has an answer yet");
}

#[test]
fn acks_of_several_units_in_one_call_are_independent_writes() {
    let mut group = TestGroup::with_topics(&[("t", 6)]);
    group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    let leads: Vec<_> = group.state.handoffs().keys().cloned().collect();
    assert_eq!(leads.len(), 3);
    let ready =
        |at: &TopicPartition| MemberAck { at: at.clone(), handoff: id_at(&group, at), ack: Ack::Ready };
    let acks: Vec<_> = leads.iter().map(ready).collect();
    let judged = judge_all(&group.state, &b, &acks, WallMillis(0));
    assert_eq!(judged.iter().map(|judged| &judged.acks[..]).collect::<Vec<_>>(), [[0], [1], [2]]);
    assert_eq!(group.say_all(&b, &acks), 1, "that share a transaction");
}
