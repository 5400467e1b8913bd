use super::*;
use crate::ack::Ack;
use crate::claim::Remaining;
use crate::lab::{Lab, tp};
use crate::plan::Deferral;
use crate::reason::DeferReason;
use crate::record::{GroupConfig, Phase, Taken};
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::mode::Mode;

fn at(moment: Moment) -> StepInputs<'static> {
    StepInputs { moment, wall: WallMillis(0), nonce: 7, strategies: Registry::builtin() }
}

fn after(lab: &Lab, seconds: u64) -> Moment {
    lab.moment + Duration::from_secs(seconds)
}

/// Two partitions, of which the second is on the move from `a` to `b`.
fn moving() -> Lab {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.join("a");
    lab.settle();
    lab.join("b");
    lab.pass();
    lab
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
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.join("a");
    let mut leader = Leader::new(lab.moment);
    assert!(leader.looks_at_everything(lab.moment));
    let pass = leader.step(&lab.state, None, at(lab.moment));
    assert!(pass.ask.is_empty());
    assert_eq!(pass.actions().filter(|action| matches!(action.step, Step::Grant { .. })).count(), 2);
    assert!(!leader.looks_at_everything(after(&lab, 1)));
    let pass = leader.step(&lab.state, None, at(after(&lab, 1)));
    assert_eq!(
        (pass.actions().count(), pass.wake),
        (0, after(&lab, 10)),
        "until the next look at everything"
    );
}

#[test]
fn a_leader_asks_the_store_before_it_decides_in_place_of_an_owner_that_is_gone() {
    let mut lab = Lab::with_topics(&[("t", 1)]);
    lab.configure(&GroupConfig { mode: Mode::Exclusive, rejoin_grace_ms: 0, ..GroupConfig::default() });
    lab.join("a");
    lab.settle();
    lab.join("b");
    let lease = lab.state.assignment(&tp("t", 0)).unwrap().owner.clone().unwrap().lease;
    lab.crash("a");
    let mut leader = Leader::new(lab.moment);
    let pass = leader.step(&lab.state, None, at(lab.moment));
    assert_eq!(pass.ask.keys().collect::<Vec<_>>(), [&lease]);
    assert!(
        pass.actions().next().is_none() && pass.plan.is_none(),
        "nothing is decided before it is answered"
    );
    let left: Leases = [(lease, Remaining::Left(Duration::from_secs(12)))].into_iter().collect();
    let pass = leader.step(&lab.state, Some(&left), at(lab.moment));
    assert!(pass.actions().next().is_none(), "its claim runs");
    assert_eq!(pass.wake, after(&lab, 2), "a third of the time to live is the margin");
    assert_eq!(leader.step(&lab.state, None, at(pass.wake)).ask.len(), 1, "it is asked anew");
    let gone: Leases = [(lease, Remaining::Gone)].into_iter().collect();
    assert_eq!(leader.step(&lab.state, Some(&gone), at(pass.wake)).actions().count(), 1);
}

#[test]
fn everything_is_looked_at_again_soon_after_a_write_that_did_not_apply() {
    let lab = moving();
    let mut leader = Leader::new(lab.moment);
    let pass = leader.step(&lab.state, None, at(lab.moment));
    assert_eq!(leader.written(&pass, true, lab.moment), after(&lab, 10));
    assert_eq!(leader.written(&pass, false, lab.moment), lab.moment + RETRY);
    assert!(leader.looks_at_everything(lab.moment + RETRY));
}

#[test]
fn progress_moves_a_deadline_on_and_the_phase_is_as_old_as_before() {
    let mut lab = moving();
    let since = lab.moment;
    let handoff = lab.state.handoff(&tp("t", 1)).unwrap().clone();
    let b = lab.members().into_iter().find(|member| member.name.as_str() == "b").unwrap();
    lab.later(Duration::from_secs(100));
    lab.report(&b, handoff.lead(), 1);
    let span = &lab.leader.memory().phases()[handoff.lead()];
    assert!(span.is_of(&handoff));
    assert_eq!((span.since, span.deadline), (since, after(&lab, 300)));
}

#[test]
fn the_end_of_a_phase_is_told_once_with_its_length_whenever_the_new_owner_took() {
    let mut lab = moving();
    let lead = tp("t", 1);
    let mut leader = Leader::having_seen(&lab.state, lab.moment);
    let [a, b] =
        ["a", "b"].map(|name| lab.members().into_iter().find(|it| it.name.as_str() == name).unwrap());
    let mut ended = Vec::new();
    let mut say = |lab: &mut Lab, member, ack| {
        lab.later(Duration::from_secs(3));
        lab.say(member, &lead, None, &ack);
        lab.pass();
        ended.extend(leader.observe(&lab.state, &std::mem::take(&mut lab.touched), lab.moment));
    };
    say(&mut lab, &b, Ack::Ready);
    say(&mut lab, &b, Ack::Taken(Taken::default()));
    say(&mut lab, &a, Ack::Released { last_at: None });
    let seconds = |ended: &EndedPhase| (ended.phase, ended.lasted.as_secs());
    assert_eq!(ended.iter().map(seconds).collect::<Vec<_>>(), [(Phase::Warming, 3), (Phase::Complete, 6)]);
}
