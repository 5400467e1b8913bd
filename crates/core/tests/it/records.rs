//! What can't be read is left alone, is reported, and heals (I11).

use kafka_assigner_core::ack::{Ack, Verdict, abort};
use kafka_assigner_core::advance::advance;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::lab::{Lab, tp};
use kafka_assigner_core::plan::unreadable_settings;
use kafka_assigner_core::record::{Phase, Source, Topic, encode};
use kafka_assigner_core::session::{Leaving, is_drained};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::id::Member;
use kafka_assigner_types::moment::WallMillis;

/// Somebody breaks a record; what it was is returned, to mend it.
fn spoil(lab: &mut Lab, key: &Key) -> bytes::Bytes {
    let value = lab.shelf.get(&lab.state.layout().encode(key)).unwrap().value.clone();
    lab.put(key, r#"{"version":99}"#);
    value
}

/// The same group as an instance sees it that starts now.
fn fresh(lab: &Lab) -> Lab {
    let mut fresh = lab.clone();
    fresh.state = GroupState::new(lab.state.layout().clone());
    fresh.state.reset(&lab.shelf.snapshot());
    fresh.change_leader();
    fresh
}

fn moving_set() -> (Lab, Member, Member) {
    let mut lab = Lab::default();
    lab.topic_in_set("t", 2, "s");
    lab.topic_in_set("u", 2, "s");
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    (lab, a, b)
}

#[test]
fn an_unreadable_assignment_leaves_its_partition_alone_and_only_that() {
    let mut lab = Lab::with_topics(&[("t", 4)]);
    let a = lab.join("a");
    lab.settle();
    let good = spoil(&mut lab, &Key::Assignment(tp("t", 3)));
    for mut lab in [lab.clone(), fresh(&lab)] {
        let known = lab.view(&a);
        assert!(known.undecided.contains(&tp("t", 3)));
        assert_eq!(known.roles.len(), 3);
        lab.join("b");
        let plan = lab.plan();
        assert!(plan.actions.iter().all(|action| action.unit != [tp("t", 3)]));
        let unreadable = plan.deferred.iter().find(|d| d.unit == [tp("t", 3)]).unwrap();
        assert!(unreadable.why.to_string().contains("version 99"), "{}", unreadable.why);
        lab.settle();
        assert!(lab.loads()["b"] >= 1);
        lab.crash("a");
        lab.settle();
        assert!(lab.state.unreadable().contains(&tp("t", 3)), "not granted though its owner may be dead");
        lab.put(&Key::Assignment(tp("t", 3)), good.clone());
        lab.settle();
        assert_eq!(lab.loads()["b"], 4);
    }
}

#[test]
fn a_handoff_is_not_cleared_by_itself_while_a_part_of_it_can_not_be_read() {
    let (mut lab, _, b) = moving_set();
    let good = spoil(&mut lab, &Key::Assignment(tp("u", 1)));
    lab.topic("u", 2);
    lab.crash("a");
    lab.leave(&b, &Leaving::Now);
    lab.settle();
    assert!(lab.state.handoff_of(&tp("u", 1)).is_some(), "nobody knows what is to become of u/1");
    lab.put(&Key::Assignment(tp("u", 1)), good);
    lab.settle();
    assert!(lab.state.handoffs().is_empty());
}

#[test]
fn a_member_keeps_what_it_does_while_its_partition_is_undecided() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    let a = lab.join("a");
    lab.settle();
    let before = lab.view(&a);
    spoil(&mut lab, &Key::Assignment(tp("t", 1)));
    let after = fresh(&lab).view(&a);
    assert!(before.difference(&after).is_empty());
    assert_eq!(before.followed_by(after).roles, before.roles);
}

#[test]
fn what_heals_is_looked_at_by_everybody() {
    // Who has a role in it was never known here, so nobody can be named.
    let mut lab = Lab::with_topics(&[("t", 1)]);
    lab.join("a");
    lab.join("b");
    lab.settle();
    let key = Key::Assignment(tp("t", 0));
    let good = spoil(&mut lab, &key);
    let mut lab = fresh(&lab);
    let before = lab.shelf.revision();
    lab.put(&key, good);
    let record = lab.shelf.get(&lab.state.layout().encode(&key)).unwrap().clone();
    let mut state = fresh(&lab).state;
    assert!(before < record.mod_revision);
    let broken = kafka_assigner_types::kv::Record { value: "{".into(), ..record.clone() };
    let touched = state.apply(&[kafka_assigner_types::kv::Change::Put(broken)], record.mod_revision);
    assert!(touched.readability && touched.members.len() == 2);
    let touched = state.apply(&[kafka_assigner_types::kv::Change::Put(record.clone())], record.mod_revision);
    assert!(touched.readability && touched.members.len() == 2);
}

#[test]
fn a_handoff_that_cannot_be_read_stops_where_it_is_for_its_whole_unit() {
    let (mut lab, a, b) = moving_set();
    let lead = tp("t", 1);
    let id = lab.state.handoff(&lead).unwrap().id.clone();
    let before = (lab.view(&a), lab.view(&b));
    let good = spoil(&mut lab, &Key::Handoff(lead.clone()));
    for mut lab in [lab.clone(), fresh(&lab)] {
        for at in [&lead, &tp("u", 1)] {
            assert!(lab.state.unreadable().contains(at), "{at}");
            for (member, before) in [(&a, &before.0), (&b, &before.1)] {
                assert!(before.difference(&lab.view(member)).is_empty(), "{member} goes on");
            }
            let verdict = lab.say(&b, at, Some(&id), &Ack::Ready);
            assert!(matches!(verdict, Verdict::Unreadable { .. }), "{verdict:?}");
            assert!(matches!(abort(&lab.state, at, "", WallMillis(0)), Verdict::Unreadable { .. }));
        }
        assert_eq!(advance(&lab.state, &lead, lab.context()), None);
        assert!(lab.pass().is_empty());
        lab.put(&Key::Handoff(lead.clone()), good.clone());
        assert!(lab.state.unreadable().is_empty());
        lab.settle();
        assert_eq!(lab.loads().into_values().collect::<Vec<_>>(), [2, 2]);
    }
}

#[test]
fn a_handoff_of_nothing_or_in_a_foreign_place_is_unreadable() {
    let (mut lab, ..) = moving_set();
    let mut handoff: serde_json::Value = lab.stored(&Key::Handoff(tp("t", 1)));
    lab.put(&Key::Handoff(tp("t", 0)), handoff.to_string());
    assert!(lab.state.error_at(&tp("t", 0)).unwrap().contains("belongs to t/1"));
    handoff["unit"] = serde_json::json!([]);
    lab.put(&Key::Handoff(tp("t", 0)), handoff.to_string());
    assert!(lab.state.error_at(&tp("t", 0)).unwrap().contains("no partition"));
    lab.remove(&Key::Handoff(tp("t", 0)));
    lab.settle();
    assert_eq!(lab.loads().into_values().collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn a_reference_without_its_handoff_is_cleared_away() {
    let (mut lab, ..) = moving_set();
    lab.remove(&Key::Handoff(tp("t", 1)));
    lab.settle();
    assert!(lab.state.handoffs().is_empty());
    assert_eq!(lab.loads().into_values().collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn a_wish_that_cannot_be_read_holds_its_handoff_and_is_reported() {
    let (mut lab, _, b) = moving_set();
    for topic in ["t", "u"] {
        lab.say(&b, &tp(topic, 1), None, &Ack::Ready);
    }
    lab.put(&Key::Intent(tp("t", 1)), "{");
    assert!(lab.pass().is_empty());
    assert!(unreadable_settings(&lab.state).iter().any(|line| line.starts_with("handoff_intents/t/1: ")));
    lab.remove(&Key::Intent(tp("t", 1)));
    lab.pass();
    assert_eq!(lab.state.handoff(&tp("t", 1)).unwrap().phase, Phase::Complete);
}

#[test]
fn a_topic_that_cannot_be_read_keeps_its_set_together_and_its_partitions_in_place() {
    let mut lab = Lab::default();
    lab.topic_in_set("t", 2, "s");
    lab.topic_in_set("u", 2, "s");
    lab.join("a");
    lab.settle();
    let good = spoil(&mut lab, &Key::Topic("u".parse().unwrap()));
    lab.join("b");
    assert!(lab.settle().is_empty());
    assert_eq!(lab.plan().deferred.len(), 2);
    lab.put(&Key::Topic("u".parse().unwrap()), good);
    lab.settle();
    assert_eq!(lab.loads().into_values().collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn a_topic_of_a_preposterous_size_is_not_planned() {
    let mut lab = Lab::with_topics(&[("t", 1)]);
    lab.put(&Key::Topic("huge".parse().unwrap()), encode(&Topic::new(u32::MAX, Source::Kafka)));
    lab.join("a");
    lab.settle();
    assert_eq!(lab.loads()["a"], 1);
    assert!(unreadable_settings(&lab.state)[0].contains("4294967295 partitions"));
}

#[test]
fn nobody_is_drained_while_a_record_that_may_name_them_was_never_readable() {
    let mut lab = Lab::with_topics(&[("t", 1)]);
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    spoil(&mut lab, &Key::Assignment(tp("t", 0)));
    assert!(is_drained(&lab.state, &b), "its last good value names somebody else");
    assert!(!is_drained(&lab.state, &a));
    assert!(!is_drained(&fresh(&lab).state, &b));
}

#[test]
fn an_old_owner_with_an_unreadable_registration_still_works_for_all_we_know() {
    // The only way back after a switch that was not taken; a grant to a third would end its work.
    let mut lab = Lab::with_topics(&[("t", 2)]);
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    lab.say(&b, &tp("t", 1), None, &Ack::Ready);
    lab.pass();
    let good = spoil(&mut lab, &Key::Consumer(a.name.clone()));
    lab.join("c");
    lab.crash("b");
    lab.pass();
    assert_eq!(lab.state.handoff(&tp("t", 1)).unwrap().phase, Phase::Complete);
    assert!(lab.view(&a).roles.contains_key(&tp("t", 1)));
    assert!(lab.plan().actions.is_empty());
    assert!(!good.is_empty());
}
