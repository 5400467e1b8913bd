//! Every invariant of the lint pass is seen to be broken by a plan that breaks it and nothing else.

mod broken;

use kafka_assigner_core::leader::Pass;
use kafka_assigner_core::lint::{Invariant, lint};
use kafka_assigner_core::test_group::TestGroup;

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
    a_strict_move_to_a_consumer_without_capabilities: TargetsKeepModes,
    a_move_to_a_consumer_of_other_topics: TargetsSubscribe,
    a_grant_of_a_partition_that_does_not_exist: PartitionsExist,
    a_handoff_without_a_guard: WritesAreGuarded,
    a_move_without_a_guard_on_the_session: SessionsAreGuarded,
    a_guard_that_fails: GuardsHold,
    a_grant_over_an_unreadable_record: UnreadableIsLeft,
    two_moves_of_one_partition: OneDecision,
    more_moves_than_the_budget: MovesWithinBudget,
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
