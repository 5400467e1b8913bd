//! A group whose name another one had that was deleted: owners of that one may still act, whom no record names.

use std::time::Duration;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::DeferReason;
use kafka_assigner_core::record::{GroupConfig, HistoryNote, Tombstone, encode};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::kv::{Op, Txn};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;

const CLAIMS: Duration = Duration::from_secs(600);
const CLAIMS_MS: u64 = 600_000;

/// A group that is created where a tombstone lies.
fn created(mode: Mode) -> TestGroup {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    let tombstone = encode(&Tombstone::new(CLAIMS_MS, WallMillis(0)));
    let put = Op::put(group.state.layout().gone(), tombstone);
    assert!(group.apply(&Txn::guarded(Vec::new(), vec![put])));
    let note = HistoryNote { earlier_claims_ms: CLAIMS_MS, ..HistoryNote::new("") };
    group.put(&Key::History, encode(&note));
    group.configure(&GroupConfig { mode, ..GroupConfig::default() });
    // It has not seen anything before the group was there.
    group.change_leader();
    group
}

fn has_tombstone(group: &TestGroup) -> bool {
    group.store.get(&group.state.layout().gone()).is_some()
}

/// The reasons of what the plan leaves out.
fn deferred(group: &TestGroup) -> Vec<DeferReason> {
    group.plan().deferred.into_iter().map(|deferral| deferral.why).collect()
}

#[test]
fn strict_grants_wait_for_the_claims_of_a_deleted_group_of_the_name() {
    let mut group = created(Mode::Exclusive);
    group.join("a");
    group.later(CLAIMS.saturating_sub(Duration::from_millis(1)));
    assert!(group.pass().is_empty());
    assert_eq!(deferred(&group), [DeferReason::EarlierGroup { left_ms: 1 }]);
    assert!(has_tombstone(&group));
    group.later(Duration::from_millis(1));
    group.settle();
    assert_eq!(group.owner(&tp("t", 0)), Some("a"));
    assert!(!has_tombstone(&group), "the leader removes it");
    assert_eq!(group.stored::<HistoryNote>(&Key::History).earlier_claims_ms, 0);
    group.crash("a");
    group.change_leader();
    group.join("b");
    group.later(Duration::from_secs(31));
    group.settle();
    assert_eq!(group.owner(&tp("t", 0)), Some("b"), "nobody waits again");
}

// Deleted, created in `overlap`, granted at once, and then switched: the owner before may have been a strict one.
#[test]
fn what_a_new_group_grants_in_overlap_is_not_switched_while_earlier_claims_may_run() {
    let mut group = created(Mode::Overlap);
    group.join("a");
    group.settle();
    assert_eq!(group.owner(&tp("t", 0)), Some("a"), "in overlap nobody waits");
    group.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    group.later(CLAIMS.saturating_sub(Duration::from_millis(1)));
    assert!(group.pass().is_empty());
    assert_eq!(deferred(&group), [DeferReason::EarlierGroup { left_ms: 1 }]);
    group.later(Duration::from_millis(1));
    group.settle();
    assert_eq!(group.state.assignment(&tp("t", 0)).unwrap().mode, Mode::Exclusive);
}

#[test]
fn a_new_leader_waits_for_earlier_claims_anew() {
    let mut group = created(Mode::Exclusive);
    group.join("a");
    group.later(CLAIMS / 2);
    group.pass();
    group.change_leader();
    group.later(CLAIMS / 2);
    assert!(group.pass().is_empty(), "it has seen half of the wait");
    group.later(CLAIMS / 2);
    group.settle();
    assert_eq!(group.owner(&tp("t", 0)), Some("a"));
}

#[test]
fn a_deleted_group_leaves_the_claims_that_its_owners_may_have() {
    let claims = |mode, ttl_ms, grace_ms| {
        let mut group = TestGroup::with_topics(&[("t", 1)]);
        group.configure(&GroupConfig { mode, ..GroupConfig::default() });
        assert_eq!(group.state.claims_after_deletion_ms(), 0, "nobody owned anything");
        group.join_as("a", |consumer| (consumer.ttl_ms, consumer.outage_grace_ms) = (ttl_ms, grace_ms));
        group.settle();
        group.state.claims_after_deletion_ms()
    };
    assert_eq!(claims(Mode::Exclusive, 45_000, 600_000), 45_000);
    assert_eq!(claims(Mode::Overlap, 45_000, 600_000), 600_000, "it may be cut off, and act on");
    assert_eq!(claims(Mode::Overlap, 45_000, 0), 45_000, "it has no grace");
    assert_eq!(claims(Mode::Overlap, 1_200_000, 600_000), 1_200_000);
    assert_eq!(
        created(Mode::Exclusive).state.claims_after_deletion_ms(),
        CLAIMS_MS,
        "deleted again meanwhile"
    );
}
