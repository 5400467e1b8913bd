//! Every row of the table of `overlap`, on the one unit that needs it.

use std::time::Duration;

use kafka_assigner_core::ack::{self, Ack};
use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::advance::{advance, advance_by};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::{CancelReason, FenceReason, Reason};
use kafka_assigner_core::record::{Phase, Standing, Taken};
use kafka_assigner_core::rules::OVERLAP;
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::moment::WallMillis;

/// `a` owns both partitions, `b` joins, and one partition is on its way to it.
struct Scene {
    group: TestGroup,
    a: Member,
    b: Member,
}

impl Scene {
    fn warming() -> Self {
        let mut group = TestGroup::with_topics(&[("t", 2)]);
        let a = group.join("a");
        group.settle();
        let b = group.join("b");
        group.pass();
        assert_eq!(group.state.handoff(&tp("t", 1)).unwrap().phase, Phase::Warming);
        Self { group, a, b }
    }

    fn ready() -> Self {
        let mut scene = Self::warming();
        scene.say(&scene.b.clone(), &Ack::Ready);
        scene
    }

    fn complete() -> Self {
        let mut scene = Self::ready();
        scene.group.pass();
        assert_eq!(scene.group.state.handoff(&tp("t", 1)).unwrap().phase, Phase::Complete);
        scene
    }

    fn taken() -> Self {
        let mut scene = Self::complete();
        scene.say(&scene.b.clone(), &Ack::Taken(Taken::default()));
        scene
    }

    fn say(&mut self, who: &Member, what: &Ack) {
        let id = self.group.state.handoff(&tp("t", 1)).unwrap().id.clone();
        self.group.say(who, &tp("t", 1), Some(&id), what);
    }

    /// The next step; checks that it is the row `rule` that asks for it.
    fn step(&self, rule: &str) -> Option<Action> {
        let group = &self.group;
        let row: Vec<_> = OVERLAP.iter().filter(|row| row.name == rule).copied().collect();
        assert_eq!(row.len(), 1, "{rule}");
        let step = advance(&group.state, &tp("t", 1), group.context());
        let by_row = advance_by(&row, &group.state, &tp("t", 1), group.context());
        assert_eq!(step, by_row, "another row came before {rule:?}");
        step
    }

    fn does(&mut self, rule: &str) -> Step {
        let action = self.step(rule).unwrap();
        let step = action.step.clone();
        assert_eq!(self.group.carry_out(vec![action]).len(), 1);
        step
    }

    fn drain(&mut self, who: &Member) {
        assert!(self.group.leave(who, &Leaving::Drain));
    }
}

#[test]
fn a_unit_whose_topic_is_gone_is_forgotten_in_every_phase() {
    for mut scene in [Scene::warming(), Scene::ready(), Scene::complete(), Scene::taken()] {
        scene.group.topic("t", 1);
        assert_eq!(scene.does("topic gone"), Step::Forget);
        assert!(scene.group.state.assignment(&tp("t", 1)).is_none());
        assert!(scene.group.state.handoffs().is_empty());
        assert_eq!(scene.group.owner(&tp("t", 0)), Some("a"));
    }
}

#[test]
fn what_is_left_of_a_set_keeps_its_owner_before_the_switch_and_its_handoff_after_it() {
    for taken in [false, true] {
        let mut group = TestGroup::default();
        group.topic_in_set("t", 2, "s");
        group.topic_in_set("u", 2, "s");
        group.join("a");
        group.settle();
        group.join("b");
        group.pass();
        if taken {
            group.everybody_acts();
            group.pass();
        }
        group.topic_in_set("t", 1, "s");
        let next = advance(&group.state, &tp("t", 1), group.context());
        assert_eq!(next.is_some(), !taken, "{next:?}");
        if let Some(action) = next {
            assert!(matches!(action.step, Step::Clear { .. }));
        }
        let before = group.owner(&tp("u", 1)).map(str::to_owned);
        group.pass();
        assert_eq!(group.owner(&tp("u", 1)).map(str::to_owned), before, "nobody loses what is left");
        group.settle();
        assert!(group.state.assignment(&tp("t", 1)).is_none(), "what is gone is forgotten");
        assert_eq!(group.owner(&tp("u", 1)), Some("b"));
    }
}

#[test]
fn a_cancelled_handoff_is_cleared() {
    let mut scene = Scene::warming();
    scene.group.crash("b");
    assert!(matches!(scene.does("new owner gone"), Step::Cancel { why: CancelReason::NewOwnerGone, .. }));
    assert!(matches!(scene.does("over"), Step::Clear { .. }));
    // As if nothing had been.
    assert_eq!(scene.group.loads().into_iter().collect::<Vec<_>>(), [("a".to_owned(), 2)]);
}

#[test]
fn a_handoff_whose_assignment_somebody_removed_is_cleared() {
    for mut scene in [Scene::warming(), Scene::ready(), Scene::complete(), Scene::taken()] {
        scene.group.remove(&Key::Assignment(tp("t", 1)));
        assert!(matches!(scene.does("assignment changed under it"), Step::Clear { .. }));
    }
}

#[test]
fn an_old_owner_that_comes_back_goes_on_giving() {
    // The handoff goes on, with assignment and handoff rewritten as one.
    for mut scene in [Scene::warming(), Scene::ready()] {
        let before = scene.group.state.assignment(&tp("t", 1)).unwrap().held_epoch();
        let phase = scene.group.state.handoff(&tp("t", 1)).unwrap().phase;
        let a = scene.group.join("a");
        let Step::Adopt { owner, epoch, .. } = scene.does("old owner came back") else { panic!() };
        assert_eq!(owner, a);
        assert!(epoch > before);
        let handoff = scene.group.state.handoff(&tp("t", 1)).unwrap();
        assert_eq!((&handoff.old, handoff.phase), (&a, phase));
        assert!(scene.group.state.assignment(&tp("t", 1)).unwrap().owner.as_ref().unwrap().is(&a));
        scene.group.settle();
        assert_eq!(scene.group.owner(&tp("t", 1)), Some("b"));
    }
}

#[test]
fn an_old_owner_that_dies_leaves_it_to_whoever_warms() {
    // No step of a dead owner is waited for.
    for mut scene in [Scene::warming(), Scene::ready()] {
        scene.group.crash("a");
        let Step::Grant { to, why, .. } = scene.does("old owner gone") else { panic!() };
        assert_eq!(to, scene.b);
        assert_eq!(why, Reason::TookOverWarm { owner: "a".parse().unwrap() });
        assert!(scene.group.state.handoffs().is_empty());
    }
}

#[test]
fn when_both_are_gone_the_plan_grants_and_clears_in_one_write() {
    for mut scene in [Scene::warming(), Scene::ready()] {
        scene.group.crash("a");
        scene.group.crash("b");
        assert_eq!(scene.step("both gone"), None);
        scene.group.join("c");
        let done = scene.group.pass();
        assert!(
            done.iter()
                .any(|action| action.unit == [tp("t", 1)] && matches!(action.step, Step::Grant { .. }))
        );
        assert_eq!(scene.group.owner(&tp("t", 1)), Some("c"));
        assert!(scene.group.state.handoffs().is_empty());
    }
}

#[test]
fn when_both_are_gone_and_nobody_is_there_no_handoff_stays_behind() {
    // And the budgets are free again.
    for mut scene in [Scene::warming(), Scene::ready(), Scene::complete(), Scene::taken()] {
        scene.group.crash("a");
        scene.group.crash("b");
        scene.group.settle();
        assert!(scene.group.state.handoffs().is_empty());
        assert!(scene.group.plan().deferred.iter().all(|d| d.why.label() == "nobody_may"));
    }
}

#[test]
fn a_target_that_may_no_longer_have_it_is_cancelled_without_blame() {
    for mut scene in [Scene::warming(), Scene::ready()] {
        scene.drain(&scene.b.clone());
        let step = scene.does("new owner may not have it");
        assert!(matches!(step, Step::Cancel { why: CancelReason::NotEligible, .. }));
        assert!(scene.group.state.assignment(&tp("t", 1)).unwrap().avoid.is_empty());
    }
}

#[test]
fn a_target_that_says_it_cannot_is_cancelled_and_passed_over() {
    let mut scene = Scene::warming();
    scene.say(&scene.b.clone(), &Ack::WarmFailed { reason: "disk full".to_owned() });
    let Step::Cancel { why, .. } = scene.does("unwanted") else { panic!() };
    assert_eq!(why.to_string(), "the new owner could not warm up: disk full");
    let avoid = &scene.group.state.assignment(&tp("t", 1)).unwrap().avoid;
    assert_eq!((avoid[0].consumer.as_str(), avoid[0].failures), ("b", 1));
}

#[test]
fn an_operator_can_stop_what_is_not_complete() {
    let mut scene = Scene::ready();
    let verdict = ack::abort(&scene.group.state, &tp("t", 1), "not now", WallMillis(0));
    let ack::Verdict::Record { write, .. } = verdict else { panic!("{verdict:?}") };
    assert!(scene.group.apply(&write.unfenced()));
    assert!(matches!(scene.does("unwanted"), Step::Cancel { why: CancelReason::Aborted { .. }, .. }));
    let complete = ack::abort(&Scene::complete().group.state, &tp("t", 1), "not now", WallMillis(0));
    assert!(matches!(complete, ack::Verdict::Refused { .. }));
}

#[test]
fn a_warm_up_without_progress_is_cancelled_at_its_deadline() {
    // By time alone, without any event.
    let mut scene = Scene::warming();
    scene.group.later(Duration::from_secs(299));
    assert_eq!(advance(&scene.group.state, &tp("t", 1), scene.group.context()), None);
    scene.group.later(Duration::from_secs(1));
    assert_eq!(scene.group.leader.memory().overdue(scene.group.moment).collect::<Vec<_>>(), [&tp("t", 1)]);
    let Step::Cancel { why, .. } = scene.does("overdue") else { panic!() };
    assert_eq!(why.to_string(), "still warming after 300000 ms without progress");
}

#[test]
fn what_is_ready_is_switched_even_by_a_leader_that_slept_past_the_deadline() {
    let mut scene = Scene::ready();
    scene.group.later(Duration::from_secs(3_600));
    let before = scene.group.state.assignment(&tp("t", 1)).unwrap().held_epoch();
    let Step::Complete { from, to, epoch, .. } = scene.does("warm") else { panic!() };
    assert_eq!((&from, &to), (&scene.a, &scene.b));
    assert!(epoch > before);
    let handoff = scene.group.state.handoff(&tp("t", 1)).unwrap();
    assert_eq!(handoff.old_epoch(&tp("t", 1)), Some(before));
}

#[test]
fn a_new_owner_that_dies_before_it_took_gives_back_to_the_one_who_works() {
    let mut scene = Scene::complete();
    scene.group.crash("b");
    let Step::Grant { to, why, .. } = scene.does("died before it took") else { panic!() };
    assert_eq!((to, why), (scene.a.clone(), Reason::GivenBack { from: "b".parse().unwrap() }));
    assert!(scene.group.state.handoffs().is_empty());
    assert!(scene.group.state.assignment(&tp("t", 1)).unwrap().avoid.is_empty());
}

#[test]
fn a_new_owner_that_dies_after_it_took_leaves_an_orphan() {
    let mut scene = Scene::taken();
    scene.group.crash("b");
    assert_eq!(scene.step("an orphan"), None);
    scene.group.settle();
    assert_eq!(scene.group.owner(&tp("t", 1)), Some("a"));
    assert!(scene.group.state.handoffs().is_empty());
}

#[test]
fn a_handoff_that_nobody_is_left_to_release_is_cleared() {
    for mut scene in [Scene::complete(), Scene::taken()] {
        scene.group.crash("a");
        assert!(matches!(scene.does("nobody left to release it"), Step::Clear { .. }));
        assert_eq!(scene.group.owner(&tp("t", 1)), Some("b"));
    }
}

#[test]
fn what_is_never_taken_goes_back_and_is_not_tried_again_at_once() {
    let mut scene = Scene::complete();
    scene.group.later(Duration::from_secs(30));
    assert!(matches!(scene.does("never taken"), Step::Grant { .. }));
    let assignment = scene.group.state.assignment(&tp("t", 1)).unwrap();
    assert!(assignment.owner.as_ref().unwrap().is(&scene.a));
    assert_eq!(assignment.avoid.len(), 1);
    // The balance is made with the other partition instead.
    assert!(scene.group.pass().iter().all(|action| action.unit == [tp("t", 0)]));
}

#[test]
fn whoever_never_releases_loses_its_session_and_nothing_before_that_was_taken() {
    let mut scene = Scene::complete();
    scene.group.later(Duration::from_secs(29));
    scene.say(&scene.b.clone(), &Ack::Taken(Taken::default()));
    scene.group.later(Duration::from_secs(29));
    assert_eq!(
        advance(&scene.group.state, &tp("t", 1), scene.group.context()),
        None,
        "taking starts the time anew"
    );
    scene.group.later(Duration::from_secs(1));
    let Step::EndSession { member, why } = scene.does("never released") else { panic!() };
    assert_eq!((&member, why), (&scene.a, FenceReason::NeverReleased));
    let standing = &scene.group.state.registration(&scene.a.name).unwrap().standing;
    assert_eq!(*standing, Standing::Ending(FenceReason::NeverReleased));
    scene.group.settle();
    assert_eq!(scene.group.loads().into_iter().collect::<Vec<_>>(), [("b".to_owned(), 2)]);
}

#[test]
fn a_forced_end_stands_back_when_the_release_came_meanwhile() {
    let mut scene = Scene::taken();
    scene.group.later(Duration::from_secs(30));
    let late = scene.step("never released").unwrap();
    scene.say(&scene.a.clone(), &Ack::Released { last_at: None });
    assert!(scene.group.carry_out(vec![late]).is_empty());
    assert_eq!(scene.group.state.registration(&scene.a.name).unwrap().standing, Standing::Active);
}

#[test]
fn the_end_of_one_session_for_two_partitions_is_carried_out() {
    let mut group = TestGroup::with_topics(&[("t", 4)]);
    group.join("a");
    group.settle();
    let b = group.join("b");
    group.pass();
    for at in [tp("t", 2), tp("t", 3)] {
        group.say(&b, &at, None, &Ack::Ready);
    }
    group.pass();
    for at in [tp("t", 2), tp("t", 3)] {
        group.say(&b, &at, None, &Ack::Taken(Taken::default()));
    }
    group.later(Duration::from_secs(30));
    let steps = group.steps();
    assert!(steps.iter().all(|a| matches!(a.step, Step::EndSession { .. })));
    assert_eq!(steps.len(), 2);
    assert_eq!(group.carry_out(steps).len(), 1, "the second finds the session ending already");
}

#[test]
fn every_row_is_the_first_for_something() {
    // The tests above name a row each, and those of suspects; this holds the list against the table.
    let named =
        [include_str!("table.rs"), include_str!("suspects/ahead.rs"), include_str!("suspects/dying.rs")]
            .concat();
    for row in OVERLAP {
        let checks = ["does(", "step(", "decides(&group, "].map(|check| format!("{check}\"{}\")", row.name));
        let is_named = checks.iter().any(|check| named.contains(check)) || row.name == "part of it gone";
        assert!(is_named, "no test for {row:?}");
    }
}

#[test]
fn a_dead_handoff_is_cleared_though_only_those_who_drain_are_left() {
    // Found by a history: the old owner's successor and the new owner drain, and nobody else is there.
    for mut scene in [Scene::warming(), Scene::ready()] {
        scene.drain(&scene.b.clone());
        let again = scene.group.join("a");
        scene.drain(&again);
        scene.group.settle();
        assert!(scene.group.state.handoffs().is_empty());
    }
}
