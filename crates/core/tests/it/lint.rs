//! Every invariant of the lint pass is seen to be broken by a plan that breaks it and nothing else.

mod broken;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::leader::Pass;
use kafka_assigner_core::lint::{Invariant, lint};
use kafka_assigner_core::record::{Topic, encode};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::mode::Mode;

fn broken_by(group: &TestGroup, pass: &Pass) -> Vec<Invariant> {
    lint(&group.state, pass, group.context()).into_iter().map(|violation| violation.invariant).collect()
}

/// A test for each pass of [`broken`], with the invariant that it breaks.
macro_rules! passes {
    ($($test:ident: $invariant:ident),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                let (group, pass) = broken::$test();
                assert_eq!(broken_by(&group, &pass), [Invariant::$invariant]);
            }
        )*

        const SEEN: &[Invariant] = &[$(Invariant::$invariant),*];
    };
}

passes! {
    another_owner_under_the_same_epoch: EpochsRise,
    an_epoch_below_the_revision: EpochsOutliveRecords,
    a_grant_beside_a_strict_owner: OneOwner,
    catching_up_beside_a_strict_owner: OneOwner,
    a_strict_grant_beside_an_owner_in_overlap: NoEarlierOwner,
    a_final_offset_that_gets_lost: FinalOffsetsStay,
    a_cancel_that_leaves_the_old_owner_stopped: StoppedOwnersResume,
    a_grant_in_place_of_an_unreadable_owner: UnknownOwnersKeep,
    a_handoff_over_another_one: OneHandoff,
    a_handoff_to_the_owner_itself: HandoffsMove,
    a_phase_that_only_an_ack_may_end: PhasesInOrder,
    complete_without_the_assignment: OwnersMatchPhases,
    a_set_without_a_reference: HandoffsAreWhole,
    a_reference_that_stays_behind: HandoffsAreWhole,
    a_move_in_overlap_of_a_strict_grant: HandoffsKeepModes,
    a_drain_before_the_routers_freeze: RoutersFreezeFirst,
    a_move_to_an_earlier_session: TargetsAreHere,
    a_move_to_a_draining_consumer: TargetsAreActive,
    a_move_to_a_suspect: TargetsAreHeard,
    a_strict_move_to_a_consumer_without_capabilities: TargetsKeepModes,
    a_move_to_a_consumer_of_other_topics: TargetsSubscribe,
    a_grant_of_a_partition_that_does_not_exist: PartitionsExist,
    a_move_of_what_two_owners_stopped_at: StoppedAreHeld,
    a_handoff_without_a_guard: WritesAreGuarded,
    a_move_without_a_guard_on_the_session: SessionsAreGuarded,
    a_guard_that_fails: GuardsHold,
    a_grant_over_an_unreadable_record: UnreadableIsLeft,
    two_moves_of_one_partition: OneDecision,
    more_moves_than_the_budget: MovesWithinBudget,
    more_prepared_handoffs_become_moves_than_the_budget: MovesWithinBudget,
    more_warm_ups_than_the_budget: WarmUpsWithinBudget,
    more_partitions_than_the_limit: LimitsHold,
    a_move_of_half_a_set: SetsStayTogether,
}

#[test]
fn every_invariant_has_a_pass_that_breaks_it() {
    let missing: Vec<_> = Invariant::ALL.iter().filter(|invariant| !SEEN.contains(invariant)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
#[should_panic(
    expected = "StoppedOwnersResume (an owner that was asked to stop is granted its partitions again)"
)]
fn a_violation_names_the_invariant() {
    let (group, pass) = broken::a_cancel_that_leaves_the_old_owner_stopped();
    let violations = lint(&group.state, &pass, group.context());
    panic!("{}", violations[0]);
}

/// A partition that is granted again in another mode moves with a later plan, and so does the rest of its set: whoever
/// has that rest may get something else meanwhile, above its limit until then.
#[test]
fn what_moves_with_a_later_plan_counts_for_no_limit() {
    let mut group = TestGroup::with_topics(&[("t", 3), ("u", 2)]);
    let limited = group.join_as("a", |consumer| consumer.max_partitions = Some(1));
    group.join("c");
    let key = Key::Topic("u".parse().unwrap());
    let strict = Topic { mode: Some(Mode::Exclusive), ..group.stored::<Topic>(&key) };
    group.put(&key, encode(&strict));
    group.join("b");
    group.topic_in_set("t", 1, "s");
    group.pass();
    group.topic_in_set("u", 3, "s");
    group.pass();
    assert_eq!(group.loads().get("a"), Some(&2), "until the set comes together: {:?}", group.loads());
    group.settle();
    assert_eq!(group.loads().get(limited.name.as_str()), Some(&1), "{:?}", group.loads());
}

/// A set that grows brings its new partitions to the consumer to which the others are on their way; what that has
/// beside stays, since nobody else has room.
#[test]
fn what_a_set_grew_by_may_exceed_a_limit_where_nobody_has_room() {
    let mut group = TestGroup::with_topics(&[("u", 2)]);
    group.topic_in_set("t", 2, "s");
    group.join_as("c", |consumer| consumer.max_partitions = Some(3));
    group.pass();
    group.join_as("a", |consumer| consumer.max_partitions = Some(2));
    group.pass();
    assert!(group.state.handoff(&tp("t", 1)).is_some(), "a part of what will be a unit is on its way");
    group.topic_in_set("v", 2, "s");
    group.pass();
    group.settle();
    assert_eq!(group.loads(), [("a".to_owned(), 3), ("c".to_owned(), 3)].into(), "six, with room for five");
}
