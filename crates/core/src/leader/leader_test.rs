use super::*;
use crate::ack::Ack;
use crate::claim::Remaining;
use crate::plan::Deferral;
use crate::reason::DeferReason;
use crate::record::{DeathSign, GroupConfig, Phase, Taken};
use crate::test_group::{TestGroup, tp};
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::mode::Mode;

fn at(moment: Moment) -> StepInputs<'static> {
    StepInputs { moment, wall: WallMillis(0), nonce: 7, strategies: Registry::builtin() }
}

fn after(group: &TestGroup, seconds: u64) -> Moment {
    group.moment + Duration::from_secs(seconds)
}

/// Two partitions, of which the second is on the move from `a` to `b`.
fn moving() -> TestGroup {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.join("a");
    group.settle();
    group.join("b");
    group.pass();
    group
}

/// A group in `exclusive` whose only owner has crashed, beside a consumer that takes over, and the lease of the owner.
fn without_owner(wait_out_revocations: bool) -> (TestGroup, LeaseId) {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    let (mode, rejoin_grace_ms) = (Mode::Exclusive, 0);
    group.configure(&GroupConfig { mode, wait_out_revocations, rejoin_grace_ms, ..GroupConfig::default() });
    group.join("a");
    group.settle();
    group.join("b");
    let lease = group.state.assignment(&tp("t", 0)).unwrap().owner.clone().unwrap().lease;
    group.crash("a");
    (group, lease)
}

fn plan_without(reasons: impl IntoIterator<Item = DeferReason>) -> Plan {
    let deferral = |why| Deferral { unit: Vec::new(), to: None, why };
    let deferred = reasons.into_iter().map(deferral).collect();
    Plan { revision: Revision(1), strategy: String::new(), actions: Vec::new(), deferred }
}

#[test]
fn an_ending_handoff_calls_for_a_plan_only_where_something_waits_for_its_room() {
    let nobody = DeferReason::NobodyMay { because: "nobody reads it".to_owned() };
    let failed = DeferReason::FailedLately { consumer: "c".parse().unwrap() };
    assert!(!waits_for_room(&plan_without([nobody.clone(), failed])));
    let rooms = [
        DeferReason::MovesInFlight { limit: 1 },
        DeferReason::Warming { consumer: "c".parse().unwrap(), limit: 1 },
        DeferReason::HandoffEnding,
    ];
    for room in rooms {
        assert!(waits_for_room(&plan_without([nobody.clone(), room])));
    }
}

#[test]
fn a_new_leader_looks_at_everything_and_plans_and_then_sleeps() {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.join("a");
    let mut leader = Leader::new(group.moment);
    assert!(leader.looks_at_everything(group.moment));
    let pass = leader.step(&group.state, None, at(group.moment));
    assert!(pass.ask.is_empty());
    assert_eq!(pass.actions().filter(|action| matches!(action.step, Step::Grant { .. })).count(), 2);
    assert!(!leader.looks_at_everything(after(&group, 1)));
    let pass = leader.step(&group.state, None, at(after(&group, 1)));
    assert_eq!(
        (pass.actions().count(), pass.wake),
        (0, after(&group, 10)),
        "until the next look at everything"
    );
}

#[test]
fn a_leader_asks_the_store_before_it_decides_in_place_of_an_owner_that_is_gone() {
    let (group, lease) = without_owner(false);
    let mut leader = Leader::new(group.moment);
    let pass = leader.step(&group.state, None, at(group.moment));
    assert_eq!(pass.ask.keys().collect::<Vec<_>>(), [&lease]);
    assert!(
        pass.actions().next().is_none() && pass.plan.is_none(),
        "nothing is decided before it is answered"
    );
    let left: Leases = [(lease, Remaining::Left(Duration::from_secs(12)))].into_iter().collect();
    let pass = leader.step(&group.state, Some(&left), at(group.moment));
    assert!(pass.actions().next().is_none(), "its claim runs");
    assert_eq!(pass.wake, after(&group, 2), "a third of the time to live is the margin");
    assert_eq!(leader.step(&group.state, None, at(pass.wake)).ask.len(), 1, "it is asked anew");
    let gone: Leases = [(lease, Remaining::Gone)].into_iter().collect();
    assert_eq!(leader.step(&group.state, Some(&gone), at(pass.wake)).actions().count(), 1);
}

#[test]
fn a_lease_that_is_gone_is_not_asked_about_again() {
    let (group, lease) = without_owner(true);
    let mut leader = Leader::new(group.moment);
    let gone: Leases = [(lease, Remaining::Gone)].into_iter().collect();
    let pass = leader.step(&group.state, Some(&gone), at(group.moment));
    assert_eq!((pass.actions().count(), pass.wake), (0, after(&group, 10)), "a revocation is waited out");
    let pass = leader.step(&group.state, None, at(after(&group, 19)));
    assert!(pass.ask.is_empty() && pass.actions().next().is_none(), "{:?}", pass.ask);
    let pass = leader.step(&group.state, None, at(after(&group, 20)));
    assert_eq!((pass.ask.len(), pass.actions().count()), (0, 1));
}

#[test]
fn everything_is_looked_at_again_soon_after_a_write_that_did_not_apply() {
    let group = moving();
    let mut leader = Leader::new(group.moment);
    let pass = leader.step(&group.state, None, at(group.moment));
    assert_eq!(leader.written(&pass, PassOutcome::Applied, group.moment), after(&group, 10));
    assert_eq!(leader.written(&pass, PassOutcome::Outdated, group.moment), group.moment + RETRY);
    assert!(leader.looks_at_everything(group.moment + RETRY));
}

#[test]
fn progress_moves_a_deadline_on_and_the_phase_is_as_old_as_before() {
    let mut group = moving();
    let since = group.moment;
    let handoff = group.state.handoff(&tp("t", 1)).unwrap().clone();
    let b = group.members().into_iter().find(|member| member.name.as_str() == "b").unwrap();
    group.later(Duration::from_secs(100));
    group.report(&b, handoff.lead(), 1);
    let span = &group.leader.memory().phases()[handoff.lead()];
    assert!(span.is_of(&handoff));
    assert_eq!((span.since, span.deadline), (since, after(&group, 300)));
}

#[test]
fn the_end_of_a_phase_is_told_once_with_its_length_whenever_the_new_owner_took() {
    let mut group = moving();
    let lead = tp("t", 1);
    let mut leader = Leader::having_seen(&group.state, group.moment);
    let [a, b] =
        ["a", "b"].map(|name| group.members().into_iter().find(|it| it.name.as_str() == name).unwrap());
    let mut ended = Vec::new();
    let mut say = |group: &mut TestGroup, member, ack| {
        group.later(Duration::from_secs(3));
        group.say(member, &lead, None, &ack);
        group.pass();
        ended.extend(leader.observe(&group.state, &std::mem::take(&mut group.touched), group.moment));
    };
    say(&mut group, &b, Ack::Ready);
    say(&mut group, &b, Ack::Taken(Taken::default()));
    say(&mut group, &a, Ack::Released { last_at: None });
    let seconds = |ended: &EndedPhase| (ended.phase, ended.lasted.as_secs());
    assert_eq!(ended.iter().map(seconds).collect::<Vec<_>>(), [(Phase::Warming, 3), (Phase::Complete, 6)]);
}

/// The first of two owners is a suspect whose time has come, and the pass that ends it.
fn ending() -> (TestGroup, Leader, Pass) {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.join("b");
    group.settle();
    group.suspect(&a, DeathSign::Detached);
    let mut leader = Leader::having_seen(&group.state, group.moment);
    group.later(Duration::from_secs(3));
    let pass = leader.step(&group.state, None, at(group.moment));
    assert!(pass.actions().any(|action| action.step.label() == "end_session"));
    (group, leader, pass)
}

#[test]
fn a_takeover_counts_where_the_registration_is_gone_before_anybody_sees_its_end() {
    let (mut group, mut leader, pass) = ending();
    pass.actions().for_each(|action| leader.note_applied(action, group.moment));
    group.crash("a");
    leader.observe(&group.state, &std::mem::take(&mut group.touched), group.moment);
    assert_eq!(leader.memory().suspicions.taken_over(group.moment).collect::<Vec<_>>(), ["a"]);
    let later = after(&group, 31);
    assert_eq!(leader.memory().suspicions.taken_over(later).count(), 0, "for a time to live");
}

#[test]
fn a_takeover_counts_once_wherever_it_is_seen() {
    let (mut group, mut leader, pass) = ending();
    pass.actions().for_each(|action| leader.note_applied(action, group.moment));
    group.carry_out(pass.actions().cloned().collect());
    leader.observe(&group.state, &std::mem::take(&mut group.touched), group.moment);
    let deaths = Arc::clone(leader.memory().deaths());
    let other = Leader::new(group.moment).remembering(deaths);
    assert_eq!(other.memory().suspicions.taken_over(group.moment).collect::<Vec<_>>(), ["a"]);
}

/// Explanations of a plan are made by a leader that has just begun.
#[test]
fn who_explains_remembers_the_deaths_that_the_leader_has_seen() {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    group.join("a");
    group.settle();
    for (owner, next) in [("a", "b"), ("b", "a"), ("a", "b")] {
        group.join(next);
        let owner = group.members().into_iter().find(|member| member.name.as_str() == owner).unwrap();
        group.suspect(&owner, DeathSign::Detached);
        group.follow(Duration::from_secs(4));
        if group.owner(&tp("t", 0)) == Some(next) {
            group.follow(Duration::from_secs(30));
            group.crash(owner.name.as_str());
        }
    }
    let explained = |leader: &Leader| {
        let plan = leader.preview(&group.state, &Leases::default(), at(group.moment), &WhatIf::default());
        crate::explain::explain(&group.state, &tp("t", 0), plan.as_ref()).last().unwrap().to_string()
    };
    let begun = Leader::having_seen(&group.state, group.moment);
    assert!(!explained(&begun).contains("its owners die"), "it has seen nothing of that");
    let begun = begun.remembering(Arc::clone(group.leader.memory().deaths()));
    let told = "It has to wait: its owners die one after the other: the session of a has still to end.";
    assert_eq!(explained(&begun), told);
}

#[test]
fn the_waits_after_failed_writes_grow_by_the_kind_of_failure() {
    use PassOutcome::{Applied, Outdated, Refused, Unanswered};
    let waits = |outcome: PassOutcome| {
        let mut leader = Leader::new(Moment::default());
        (0..12).map(move |_| leader.wait_after(outcome).map(|wait| wait.as_millis())).collect::<Vec<_>>()
    };
    assert_eq!(waits(Applied), [None; 12]);
    assert_eq!(waits(Outdated), [Some(200); 12], "somebody was faster, and another look mends that");
    assert_eq!(waits(Unanswered)[..5], [200, 400, 800, 1_600, 2_000].map(Some));
    assert_eq!(
        waits(Refused)[..10],
        [200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000].map(Some)
    );
    let mut leader = Leader::new(Moment::default());
    for outcome in [Refused, Refused, Applied] {
        leader.wait_after(outcome);
    }
    assert_eq!(leader.wait_after(Refused), Some(RETRY), "a success begins anew");
}
