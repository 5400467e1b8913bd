//! A handoff from its beginning to its end.

use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Drained};
use kafka_assigner_core::action::Step;
use kafka_assigner_core::advance::advance;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::lab::{Lab, tp};
use kafka_assigner_core::record::{GroupConfig, Phase, Taken, encode};
use kafka_assigner_core::session::Leaving;
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{Member, Offset};
use kafka_assigner_types::mode::Mode;

fn role(lab: &Lab, member: &Member) -> Option<Role> {
    lab.view(member).roles.get(&tp("t", 1)).cloned()
}

#[test]
fn the_old_owner_works_until_the_new_one_works() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    let Some(Role::Owner { epoch: old_epoch, .. }) = role(&lab, &a) else { panic!() };
    lab.pass();
    assert!(matches!(role(&lab, &b), Some(Role::Warming { .. })));
    lab.say(&b, &tp("t", 1), None, &Ack::Ready);
    lab.pass();
    let Some(Role::Owner { epoch, taking: Some(_), .. }) = role(&lab, &b) else { panic!() };
    assert!(epoch > old_epoch);
    let still = role(&lab, &a).unwrap();
    assert!(matches!(still, Role::Owner { epoch, .. } if epoch == old_epoch), "release before taken");
    lab.say(&b, &tp("t", 1), None, &Ack::Taken(Taken::default()));
    assert!(matches!(role(&lab, &a), Some(Role::Releasing { epoch, .. }) if epoch == old_epoch));
    assert!(matches!(role(&lab, &b), Some(Role::Owner { taking: None, .. })));
    lab.say(&a, &tp("t", 1), None, &Ack::Released { last_at: None });
    assert_eq!(role(&lab, &a), None);
    assert!(lab.state.handoffs().is_empty());
}

#[test]
fn a_cancelled_handoff_looks_like_none() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    let a = lab.join("a");
    lab.settle();
    let before = lab.view(&a);
    let b = lab.join("b");
    lab.pass();
    lab.say(&b, &tp("t", 1), None, &Ack::WarmFailed { reason: "no".to_owned() });
    let steps = lab.steps();
    lab.carry_out(steps);
    assert_eq!(lab.state.handoff(&tp("t", 1)).unwrap().phase, Phase::Cancelled);
    let (cancelled, of_b) = (lab.view(&a), lab.view(&b));
    let steps = lab.steps();
    lab.carry_out(steps);
    assert!(lab.state.handoffs().is_empty());
    assert_eq!(lab.view(&a).roles, cancelled.roles);
    assert_eq!(lab.view(&b).roles, of_b.roles);
    assert_eq!(before.roles, cancelled.roles);
    assert!(!of_b.roles.contains_key(&tp("t", 1)));
}

#[test]
fn progress_extends_a_warm_up_for_as_long_as_it_goes_on() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    for done in 1..10 {
        lab.later(Duration::from_secs(200));
        lab.report(&b, &tp("t", 1), done);
        assert_eq!(advance(&lab.state, &tp("t", 1), lab.context()), None);
    }
    lab.later(Duration::from_secs(200));
    lab.report(&b, &tp("t", 1), 9);
    lab.later(Duration::from_secs(100));
    let cancel = advance(&lab.state, &tp("t", 1), lab.context());
    assert!(matches!(cancel.unwrap().step, Step::Cancel { .. }), "the same number again is no progress");
}

#[test]
fn reported_progress_is_no_change_of_membership() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.pass();
    let before = lab.shelf.clone();
    lab.report(&b, &tp("t", 1), 1);
    let record = lab.shelf.records().find(|record| before.get(&record.key) != Some(record)).unwrap().clone();
    let mut state = kafka_assigner_core::state::GroupState::new(lab.state.layout().clone());
    state.reset(&before.snapshot());
    let touched = state.apply(&[kafka_assigner_types::kv::Change::Put(record)], lab.shelf.revision());
    assert!(!touched.calls_for_plan() && touched.members.is_empty());
    assert!(touched.progress.contains(&b.name));
}

#[test]
fn a_new_leader_starts_every_deadline_afresh() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.join("a");
    lab.settle();
    lab.join("b");
    lab.pass();
    lab.later(Duration::from_secs(299));
    lab.change_leader();
    lab.later(Duration::from_secs(299));
    assert_eq!(advance(&lab.state, &tp("t", 1), lab.context()), None);
    lab.later(Duration::from_secs(1));
    assert!(advance(&lab.state, &tp("t", 1), lab.context()).is_some());
}

#[test]
fn nothing_a_deposed_leader_decided_applies() {
    let mut lab = Lab::with_topics(&[("t", 2)]);
    lab.join("a");
    let grants = lab.plan().actions;
    lab.remove(&Key::Leader);
    lab.put(
        &Key::Leader,
        encode(&kafka_assigner_core::record::LeaderRecord::new(
            "other".to_owned(),
            "http://other".to_owned(),
            kafka_assigner_types::moment::WallMillis(0),
        )),
    );
    let before = lab.shelf.clone();
    assert!(lab.carry_out(grants).is_empty());
    assert_eq!(lab.shelf, before);
}

#[test]
fn what_is_complete_ends_though_its_new_owner_died_and_nobody_else_may_have_it() {
    let mut lab = Lab::with_topics(&[("t", 1)]);
    lab.configure(&GroupConfig { mode: Mode::Exclusive, ..GroupConfig::default() });
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    lab.leave(&a, &Leaving::Drain);
    lab.pass();
    let id = lab.state.handoff(&tp("t", 0)).unwrap().id.clone();
    lab.say(&b, &tp("t", 0), Some(&id), &Ack::Ready);
    lab.pass();
    lab.say(&a, &tp("t", 0), Some(&id), &Ack::Drained(Drained { offset: Some(Offset(7)), last_at: None }));
    assert_eq!(lab.state.handoff(&tp("t", 0)).unwrap().phase, Phase::Complete);
    lab.crash("b");
    lab.settle();
    assert!(lab.state.handoffs().is_empty(), "it would count against the budgets for ever");
}
