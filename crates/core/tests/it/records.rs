//! Records that can't be read are left alone, are reported, and heal (I11).

use kafka_assigner_core::ack::{Ack, Verdict, abort};
use kafka_assigner_core::advance::advance;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::plan::unreadable_settings;
use kafka_assigner_core::reason::{CancelReason, FenceReason, Reason};
use kafka_assigner_core::record::{Assignment, Consumer, Handoff, Phase, Source, Topic, decode, encode};
use kafka_assigner_core::session::{Leaving, is_drained};
use kafka_assigner_core::state::{GroupState, Presence};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::kv::{Op, Txn};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;

/// Somebody breaks a record; what it was is returned, to mend it.
fn spoil(group: &mut TestGroup, key: &Key) -> bytes::Bytes {
    let value = group.store.get(&group.state.layout().encode(key)).unwrap().value.clone();
    group.put(key, r#"{"version":99}"#);
    value
}

/// The same group as an instance sees it that starts now.
fn fresh(group: &TestGroup) -> TestGroup {
    let mut fresh = group.clone();
    fresh.state = GroupState::new(group.state.layout().clone());
    fresh.state.reset(&group.store.snapshot());
    fresh.change_leader();
    fresh
}

fn moving_set() -> (TestGroup, Member, Member) {
    let mut group = TestGroup::default();
    group.topic_in_set("t", 2, "s");
    group.topic_in_set("u", 2, "s");
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    (group, a, b)
}

#[test]
fn an_unreadable_assignment_leaves_its_partition_alone_and_only_that() {
    let mut group = TestGroup::with_topics(&[("t", 4)]);
    let a = group.join("a");
    group.settle();
    let good = spoil(&mut group, &Key::Assignment(tp("t", 3)));
    for mut group in [group.clone(), fresh(&group)] {
        let known = group.view(&a);
        assert!(known.undecided.contains(&tp("t", 3)));
        assert_eq!(known.roles.len(), 3);
        group.join("b");
        let plan = group.plan();
        assert!(plan.actions.iter().all(|action| action.unit != [tp("t", 3)]));
        let unreadable = plan.deferred.iter().find(|d| d.unit == [tp("t", 3)]).unwrap();
        assert!(unreadable.why.to_string().contains("version 99"), "{}", unreadable.why);
        group.settle();
        assert!(group.loads()["b"] >= 1);
        group.crash("a");
        group.settle();
        assert!(group.state.unreadable().contains(&tp("t", 3)), "not granted though its owner may be dead");
        group.put(&Key::Assignment(tp("t", 3)), good.clone());
        group.settle();
        assert_eq!(group.loads()["b"], 4);
    }
}

#[test]
fn a_handoff_is_not_cleared_by_itself_while_a_part_of_it_can_not_be_read() {
    let (mut group, _, b) = moving_set();
    let good = spoil(&mut group, &Key::Assignment(tp("u", 1)));
    group.topic("u", 2);
    group.crash("a");
    group.leave(&b, &Leaving::Now);
    group.settle();
    assert!(group.state.handoff_of(&tp("u", 1)).is_some(), "nobody knows what is to become of u/1");
    group.put(&Key::Assignment(tp("u", 1)), good);
    group.settle();
    assert!(group.state.handoffs().is_empty());
}

#[test]
fn a_member_keeps_what_it_does_while_its_partition_is_undecided() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    let before = group.view(&a);
    spoil(&mut group, &Key::Assignment(tp("t", 1)));
    let after = fresh(&group).view(&a);
    assert!(before.difference(&after).is_empty());
    assert_eq!(before.followed_by(after).roles, before.roles);
}

#[test]
fn what_heals_is_looked_at_by_everybody() {
    // The members with a role in it were never known here, so nobody can be named.
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    group.join("a");
    group.join("b");
    group.settle();
    let key = Key::Assignment(tp("t", 0));
    let good = spoil(&mut group, &key);
    let mut group = fresh(&group);
    let before = group.store.revision();
    group.put(&key, good);
    let record = group.store.get(&group.state.layout().encode(&key)).unwrap().clone();
    let mut state = fresh(&group).state;
    assert!(before < record.mod_revision);
    let broken = kafka_assigner_types::kv::Record { value: "{".into(), ..record.clone() };
    let touched = state.apply(&[kafka_assigner_types::kv::Change::Put(broken)], record.mod_revision);
    assert!(touched.readability && touched.members.len() == 2);
    let touched = state.apply(&[kafka_assigner_types::kv::Change::Put(record.clone())], record.mod_revision);
    assert!(touched.readability && touched.members.len() == 2);
}

#[test]
fn a_handoff_that_cannot_be_read_stops_where_it_is_for_its_whole_unit() {
    let (mut group, a, b) = moving_set();
    let lead = tp("t", 1);
    let id = group.state.handoff(&lead).unwrap().id.clone();
    let before = (group.view(&a), group.view(&b));
    let good = spoil(&mut group, &Key::Handoff(lead.clone()));
    for mut group in [group.clone(), fresh(&group)] {
        for at in [&lead, &tp("u", 1)] {
            assert!(group.state.unreadable().contains(at), "{at}");
            for (member, before) in [(&a, &before.0), (&b, &before.1)] {
                assert!(before.difference(&group.view(member)).is_empty(), "{member} goes on");
            }
            let verdict = group.say(&b, at, Some(&id), &Ack::Ready);
            assert!(matches!(verdict, Verdict::Unreadable { .. }), "{verdict:?}");
            assert!(matches!(abort(&group.state, at, "", WallMillis(0)), Verdict::Unreadable { .. }));
        }
        assert_eq!(advance(&group.state, &lead, group.context()), None);
        assert!(group.pass().is_empty());
        group.put(&Key::Handoff(lead.clone()), good.clone());
        assert!(group.state.unreadable().is_empty());
        group.settle();
        assert_eq!(group.loads().into_values().collect::<Vec<_>>(), [2, 2]);
    }
}

#[test]
fn a_handoff_of_nothing_or_in_a_foreign_place_is_unreadable() {
    let (mut group, ..) = moving_set();
    let mut handoff: serde_json::Value = group.stored(&Key::Handoff(tp("t", 1)));
    group.put(&Key::Handoff(tp("t", 0)), handoff.to_string());
    assert!(group.state.error_at(&tp("t", 0)).unwrap().contains("belongs to t/1"));
    handoff["unit"] = serde_json::json!([]);
    group.put(&Key::Handoff(tp("t", 0)), handoff.to_string());
    assert!(group.state.error_at(&tp("t", 0)).unwrap().contains("no partition"));
    group.remove(&Key::Handoff(tp("t", 0)));
    group.settle();
    assert_eq!(group.loads().into_values().collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn a_reference_without_its_handoff_is_cleared_away() {
    let (mut group, ..) = moving_set();
    group.remove(&Key::Handoff(tp("t", 1)));
    group.settle();
    assert!(group.state.handoffs().is_empty());
    assert_eq!(group.loads().into_values().collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn an_intent_that_cannot_be_read_holds_its_handoff_and_is_reported() {
    let (mut group, _, b) = moving_set();
    for topic in ["t", "u"] {
        group.say(&b, &tp(topic, 1), None, &Ack::Ready);
    }
    group.put(&Key::Intent(tp("t", 1)), "{");
    assert!(group.pass().is_empty());
    assert!(unreadable_settings(&group.state).iter().any(|line| line.starts_with("handoff_intents/t/1: ")));
    group.remove(&Key::Intent(tp("t", 1)));
    group.pass();
    assert_eq!(group.state.handoff(&tp("t", 1)).unwrap().phase, Phase::Complete);
}

#[test]
fn a_topic_that_cannot_be_read_keeps_its_set_together_and_its_partitions_in_place() {
    let mut group = TestGroup::default();
    group.topic_in_set("t", 2, "s");
    group.topic_in_set("u", 2, "s");
    group.join("a");
    group.settle();
    let good = spoil(&mut group, &Key::Topic("u".parse().unwrap()));
    group.join("b");
    assert!(group.settle().is_empty());
    assert_eq!(group.plan().deferred.len(), 2);
    group.put(&Key::Topic("u".parse().unwrap()), good);
    group.settle();
    assert_eq!(group.loads().into_values().collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn a_topic_of_a_preposterous_size_is_not_planned() {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    group.put(&Key::Topic("huge".parse().unwrap()), encode(&Topic::new(u32::MAX, Source::Kafka)));
    group.join("a");
    group.settle();
    assert_eq!(group.loads()["a"], 1);
    assert!(unreadable_settings(&group.state)[0].contains("4294967295 partitions"));
}

#[test]
fn nobody_is_drained_while_a_record_that_may_name_them_was_never_readable() {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    spoil(&mut group, &Key::Assignment(tp("t", 0)));
    assert!(is_drained(&group.state, &b), "its last good value names somebody else");
    assert!(!is_drained(&group.state, &a));
    assert!(!is_drained(&fresh(&group).state, &b));
}

#[test]
fn an_old_owner_with_an_unreadable_registration_still_works_for_all_we_know() {
    // The only way back after a switch that was not taken; a grant to a third would end its work.
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    group.say(&b, &tp("t", 1), None, &Ack::Ready);
    group.pass();
    let good = spoil(&mut group, &Key::Consumer(a.name.clone()));
    group.join("c");
    group.crash("b");
    group.pass();
    assert_eq!(group.state.handoff(&tp("t", 1)).unwrap().phase, Phase::Complete);
    assert!(group.view(&a).roles.contains_key(&tp("t", 1)));
    assert!(group.plan().actions.is_empty());
    assert!(!good.is_empty());
}

/// The record as a newer version may write it in place of one of this version.
fn newer(record: &serde_json::Value) -> bytes::Bytes {
    record.to_string().into()
}

fn written_back<T: serde::Serialize + serde::de::DeserializeOwned>(
    stored: &serde_json::Value,
) -> serde_json::Value {
    let record: T = decode(&newer(stored)).expect("a newer record can be read");
    serde_json::from_slice(&encode(&record)).expect("it is JSON")
}

#[test]
fn what_a_newer_version_wrote_inside_of_a_record_is_written_back() {
    let assignment = serde_json::json!({
        "version": 1, "epoch": 3, "run": 3, "mode": "exclusive", "since": 0, "new": [1],
        "owner": {"name": "a", "incarnation": "a-1", "lease": 7, "ttl_ms": 30_000, "outage_grace_ms": 9, "zone": "x"},
        "avoid": [{"consumer": "b", "incarnation": "b-1", "failures": 1, "for_ms": 10_000, "by": "c"}],
        "why": {"kind": "owner_was_slow", "owner": "b", "seconds": 3},
    });
    assert_eq!(written_back::<Assignment>(&assignment), assignment);
    let handoff = serde_json::json!({
        "version": 1, "id": "h", "unit": [{"topic": "t", "partition": 0}], "mode": "overlap", "phase": "cancelled",
        "old": {"name": "a", "incarnation": "a-1"}, "new": {"name": "b", "incarnation": "b-1"}, "since": 0,
        "taken": {"first_offset": 4, "first_key": "k"},
        "cancelled": {"kind": "too_hot", "degrees": 99}, "why": {"kind": "owner_returned"},
    });
    assert_eq!(written_back::<Handoff>(&handoff), handoff);
    let consumer = serde_json::json!({
        "version": 1, "incarnation": "a-1", "ttl_ms": 30_000, "outage_grace_ms": 9, "renewal": "client", "since": 0,
        "instance": "i",
        "standing": {"is": "ending", "why": "store_restored"},
        "progress": {"t/0": {"handoff": "h", "done": 1, "bytes": 2}},
    });
    assert_eq!(written_back::<Consumer>(&consumer), consumer);
}

#[test]
fn a_reason_of_a_newer_version_is_shown_by_its_word() {
    let reason: Reason = serde_json::from_str(r#"{"kind":"owner_was_slow","owner":"b"}"#).unwrap();
    assert_eq!(reason.to_string(), "owner was slow (a reason of a newer version)");
    let reason: FenceReason = serde_json::from_str(r#""store_restored_again""#).unwrap();
    assert_eq!(reason.to_string(), "store restored again (a reason of a newer version)");
}

// During an upgrade, and for ever after it was undone: a reason is for people, and must not freeze what it is about.
#[test]
fn a_reason_of_a_newer_version_is_kept_and_shown_and_freezes_nothing() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    let newer = |group: &mut TestGroup, key: &Key, field: &str, reason: serde_json::Value| {
        let mut record: serde_json::Value = group.stored(key);
        record[field] = reason;
        let written = serde_json::to_vec(&record).unwrap();
        group.put(key, written);
    };
    let reason = serde_json::json!({ "kind": "took_over_suspect", "owner": "b", "age": { "ms": 3 } });
    let key = Key::Assignment(tp("t", 0));
    newer(&mut group, &key, "why", reason.clone());
    assert!(group.state.unreadable().is_empty(), "{:?}", group.state.error_at(&tp("t", 0)));
    let assignment: Assignment = group.stored(&key);
    assert_eq!(assignment.why.to_string(), "took over suspect (a reason of a newer version)");
    assert_eq!(serde_json::to_value(&assignment).unwrap()["why"], reason, "as it came");
    let (key, lease) =
        (Key::Consumer("a".parse().unwrap()), group.state.registration(&a.name).unwrap().lease);
    let mut record: serde_json::Value = group.stored(&key);
    record["standing"] = serde_json::json!({ "is": "ending", "why": "its_rack_burns" });
    let at = group.state.layout().encode(&key);
    let op = Op::put_leased(at, serde_json::to_vec(&record).unwrap(), lease);
    group.apply(&Txn::guarded(Vec::new(), vec![op]));
    assert_eq!(group.state.presence(&a), Presence::Ending);
    let cancelled = serde_json::json!({ "kind": "awaits_nobody", "for_ms": 7 });
    let read: CancelReason = serde_json::from_value(cancelled.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), cancelled);
    assert!(!read.is_failure(Mode::Overlap), "nobody is passed over for what nobody here understands");
}
