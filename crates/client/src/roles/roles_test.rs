use std::time::Duration;

use proptest::prelude::*;

use super::*;

const T0: Moment = Moment::after_start(Duration::ZERO);

fn p(number: i32) -> TopicPartition {
    TopicPartition::new("t", number)
}

fn warming(id: &str) -> Target {
    Target::Warming(Warming { handoff_id: id.into(), current_owner: Some("other".into()) })
}

fn owner(epoch: u64, run: u64, handoff: &str) -> Target {
    let handoff = (!handoff.is_empty()).then(|| handoff.to_owned());
    let prepared_by = handoff.clone();
    Target::Owner(Grant { epoch, run, start_offset: None, taken_for: handoff, prepared_by })
}

fn releasing(id: &str) -> Target {
    Target::Releasing(Leave { handoff_id: Some(id.into()), new_owner: Some("other".into()) })
}

fn change(targets: impl IntoIterator<Item = (i32, Target)>) -> RoleEvent {
    RoleEvent::Changed(RoleChange::Some(targets.into_iter().map(|(n, t)| (p(n), t)).collect()))
}

fn snapshot(targets: impl IntoIterator<Item = (i32, Target)>) -> RoleEvent {
    let roles = targets.into_iter().map(|(n, t)| (p(n), t)).collect();
    RoleEvent::Changed(RoleChange::All { roles, undecided: BTreeSet::new() })
}

fn failure(message: &str) -> CallFailure {
    CallFailure { message: message.to_owned(), spoiled: false }
}

fn ended(number: i32, result: Result<(), &str>) -> RoleEvent {
    RoleEvent::CallEnded { partition: p(number), result: result.map_err(failure) }
}

fn warm_call(number: i32, id: &str) -> RoleAction {
    let provenance = Provenance::Handoff(id.into());
    RoleAction::Call(p(number), Call::Warm { provenance, current_owner: Some("other".into()) })
}

fn direct_warm(number: i32, run: u64) -> RoleAction {
    RoleAction::Call(p(number), Call::Warm { provenance: Provenance::Run(run), current_owner: None })
}

fn assigned_call(number: i32, epoch: u64) -> RoleAction {
    RoleAction::Call(p(number), Call::Assigned { epoch, start_offset: None, resumed: false })
}

fn call(number: i32, call: Call) -> RoleAction {
    RoleAction::Call(p(number), call)
}

fn acks(roles: &Roles) -> Vec<(i32, AckKind, String)> {
    roles.due_acks().map(|(at, ack)| (at.partition(), ack.kind, ack.handoff_id)).collect()
}

/// Runs events that must each lead to the given actions.
fn script(roles: &mut Roles, steps: impl IntoIterator<Item = (RoleEvent, Vec<RoleAction>)>) {
    for (number, (event, expected)) in steps.into_iter().enumerate() {
        let shown = format!("step {number}: {event:?}");
        assert_eq!(roles.step(T0, event), expected, "{shown}");
    }
}

/// A machine in which partition 0 is owned under epoch 5 of run 5.
fn owning() -> Roles {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, owner(5, 5, ""))]), vec![direct_warm(0, 5)]),
            (ended(0, Ok(())), vec![assigned_call(0, 5)]),
            (ended(0, Ok(())), vec![]),
        ],
    );
    roles
}

#[test]
fn a_handoff_warms_then_takes_and_each_step_is_acknowledged() {
    let mut roles = Roles::new(8);
    script(&mut roles, [(change([(0, warming("h"))]), vec![warm_call(0, "h")]), (ended(0, Ok(())), vec![])]);
    assert_eq!(acks(&roles), [(0, AckKind::Ready, "h".into())]);
    script(
        &mut roles,
        [(change([(0, owner(5, 5, "h"))]), vec![assigned_call(0, 5)]), (ended(0, Ok(())), vec![])],
    );
    assert_eq!(acks(&roles), [(0, AckKind::Taken, "h".into())]);
    roles.step(T0, RoleEvent::Acked { partition: p(0), kind: AckKind::Taken, handoff_id: "h".into() });
    assert_eq!(acks(&roles), []);
}

#[test]
fn a_release_drains_first_and_is_acknowledged_only_when_nothing_is_held() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (ended(0, Ok(())), vec![call(0, Call::Release)]),
        ],
    );
    assert_eq!(acks(&roles), []);
    script(&mut roles, [(ended(0, Ok(())), vec![])]);
    assert_eq!(acks(&roles), [(0, AckKind::Released, "h".into())]);
    script(&mut roles, [(change([(0, Target::None)]), vec![RoleAction::Forget(p(0))])]);
}

// What failed is remembered and repeated, never skipped.
#[test]
fn a_failed_drain_keeps_the_partition_and_is_repeated() {
    let mut roles = owning();
    script(
        &mut roles,
        [(change([(0, releasing("h"))]), vec![call(0, Call::Drain)]), (ended(0, Err("disk full")), vec![])],
    );
    let retry = roles.next_wake().expect("a retry is planned");
    assert_eq!(acks(&roles), []);
    assert_eq!(roles.step(retry, RoleEvent::Timer), [call(0, Call::Drain)]);
}

#[test]
fn a_start_that_spoiled_its_preparation_begins_with_another_one() {
    let mut roles = Roles::new(8);
    let spoiled = Err(CallFailure { message: "panic".into(), spoiled: true });
    script(
        &mut roles,
        [
            (change([(0, owner(5, 5, ""))]), vec![direct_warm(0, 5)]),
            (ended(0, Ok(())), vec![assigned_call(0, 5)]),
            (RoleEvent::CallEnded { partition: p(0), result: spoiled }, vec![]),
        ],
    );
    let retry = roles.next_wake().expect("a retry is planned");
    assert_eq!(roles.step(retry, RoleEvent::Timer), [call(0, Call::Release)]);
    assert_eq!(roles.step(retry, ended(0, Ok(()))), [direct_warm(0, 5)]);
}

#[test]
fn a_start_that_succeeds_though_it_was_cancelled_is_lost() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, owner(5, 5, ""))]), vec![direct_warm(0, 5)]),
            (ended(0, Ok(())), vec![assigned_call(0, 5)]),
            (change([(0, releasing("h"))]), vec![RoleAction::Cancel(p(0))]),
            (change([(0, owner(6, 5, ""))]), vec![]),
            (ended(0, Ok(())), vec![call(0, Call::Lost)]),
            (ended(0, Ok(())), vec![direct_warm(0, 5)]),
        ],
    );
}

#[test]
fn an_owner_that_is_granted_again_goes_on_without_a_call() {
    let mut roles = owning();
    script(&mut roles, [(change([(0, owner(9, 5, ""))]), vec![RoleAction::RaiseEpoch(p(0), 9)])]);
    script(&mut roles, [(snapshot([(0, owner(9, 5, ""))]), vec![])]);
}

// A drained old owner whose handoff was cancelled resumes its own state.
#[test]
fn a_drained_owner_of_the_same_run_resumes() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (change([(0, owner(9, 5, ""))]), vec![]),
            (ended(0, Ok(())), vec![call(0, Call::Assigned { epoch: 9, start_offset: None, resumed: true })]),
        ],
    );
}

// A returning owner never reuses what it had in an earlier run.
#[test]
fn a_drained_owner_of_an_earlier_run_starts_anew() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (change([(0, owner(9, 9, ""))]), vec![]),
            (ended(0, Ok(())), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![direct_warm(0, 9)]),
        ],
    );
}

#[test]
fn a_cancelled_preparation_is_dropped() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, warming("h"))]), vec![warm_call(0, "h")]),
            (ended(0, Ok(())), vec![]),
            (change([(0, Target::None)]), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![RoleAction::Forget(p(0))]),
        ],
    );
}

// The handoff goes while the preparation runs.
#[test]
fn a_running_preparation_is_cancelled_and_dropped_after_it_ended() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, warming("h"))]), vec![warm_call(0, "h")]),
            (snapshot([]), vec![RoleAction::Cancel(p(0))]),
            (ended(0, Err("cancelled")), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![RoleAction::Forget(p(0))]),
        ],
    );
    assert_eq!(acks(&roles), []);
}

// A new handoff id while the preparation for an older one runs.
#[test]
fn a_new_handoff_warms_again_after_the_running_warm_ended() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, warming("a"))]), vec![warm_call(0, "a")]),
            (change([(0, warming("b"))]), vec![RoleAction::Cancel(p(0))]),
            (ended(0, Ok(())), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![warm_call(0, "b")]),
        ],
    );
}

#[test]
fn preparations_keep_their_bound_and_unowned_partitions_go_first() {
    let mut roles = Roles::new(2);
    let four = [(0, warming("a")), (1, warming("b")), (2, warming("c")), (3, owner(4, 4, ""))];
    script(
        &mut roles,
        [
            (change(four), vec![direct_warm(3, 4), warm_call(0, "a")]),
            (ended(0, Ok(())), vec![warm_call(1, "b")]),
            (ended(3, Ok(())), vec![assigned_call(3, 4), warm_call(2, "c")]),
        ],
    );
}

#[test]
fn a_declined_handoff_is_reported_and_not_tried_again() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [(change([(0, warming("h"))]), vec![warm_call(0, "h")]), (ended(0, Err("no room")), vec![])],
    );
    assert_eq!(acks(&roles), [(0, AckKind::WarmFailed, "h".into())]);
    let retry = roles.next_wake().expect("the rest is dropped after a wait");
    assert_eq!(roles.step(retry, RoleEvent::Timer), [call(0, Call::Release)]);
    assert_eq!(roles.step(retry, ended(0, Ok(()))), []);
    assert_eq!(roles.step(retry, change([(0, warming("i"))])), [warm_call(0, "i")]);
}

#[test]
fn a_grant_during_the_preparation_uses_it() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, warming("h"))]), vec![warm_call(0, "h")]),
            (change([(0, owner(7, 7, ""))]), vec![]),
            (ended(0, Ok(())), vec![assigned_call(0, 7)]),
        ],
    );
}

#[test]
fn a_grant_after_missed_commands_prepares_again() {
    let mut roles = Roles::new(8);
    script(
        &mut roles,
        [
            (change([(0, warming("h"))]), vec![warm_call(0, "h")]),
            (ended(0, Ok(())), vec![]),
            (snapshot([(0, owner(7, 7, ""))]), vec![call(0, Call::Release)]),
            (ended(0, Ok(())), vec![direct_warm(0, 7)]),
        ],
    );
}

#[test]
fn what_the_service_cannot_decide_stays_as_it_is() {
    let mut roles = owning();
    let undecided = BTreeSet::from([p(0)]);
    let nothing_known = RoleEvent::Changed(RoleChange::All { roles: Vec::new(), undecided });
    script(&mut roles, [(nothing_known, vec![]), (snapshot([]), vec![call(0, Call::Lost)])]);
}

#[test]
fn a_lost_session_loses_what_is_owned_and_drops_what_is_warm() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(1, warming("h"))]), vec![warm_call(1, "h")]),
            (ended(1, Ok(())), vec![]),
            (RoleEvent::SessionLost, vec![call(0, Call::Lost), call(1, Call::Release)]),
            (snapshot([(0, owner(9, 9, ""))]), vec![]),
            (ended(0, Ok(())), vec![direct_warm(0, 9)]),
        ],
    );
}

// What is being drained when the session goes is not carried into the next one.
#[test]
fn a_drain_that_fails_after_the_loss_ends_in_lost_before_the_next_session_owns_again() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(0, releasing("h"))]), vec![call(0, Call::Drain)]),
            (RoleEvent::SessionLost, vec![RoleAction::Cancel(p(0))]),
            (snapshot([(0, owner(9, 9, ""))]), vec![]),
            (ended(0, Err("fenced")), vec![call(0, Call::Lost)]),
            (ended(0, Ok(())), vec![direct_warm(0, 9)]),
        ],
    );
}

#[test]
fn a_reconnect_repeats_acknowledgements() {
    let mut roles = Roles::new(8);
    script(&mut roles, [(change([(0, warming("h"))]), vec![warm_call(0, "h")]), (ended(0, Ok(())), vec![])]);
    roles.step(T0, RoleEvent::Acked { partition: p(0), kind: AckKind::Ready, handoff_id: "h".into() });
    assert_eq!(acks(&roles), []);
    roles.step(T0, snapshot([(0, warming("h"))]));
    assert_eq!(acks(&roles), [(0, AckKind::Ready, "h".into())]);
}

#[test]
fn leaving_gives_everything_up_and_ignores_what_comes_later() {
    let mut roles = owning();
    script(
        &mut roles,
        [
            (change([(1, warming("h"))]), vec![warm_call(1, "h")]),
            (RoleEvent::LeaveAll, vec![call(0, Call::Drain), RoleAction::Cancel(p(1))]),
            (change([(2, warming("i"))]), vec![]),
            (ended(1, Err("cancelled")), vec![call(1, Call::Release)]),
            (ended(0, Ok(())), vec![call(0, Call::Release)]),
            (ended(1, Ok(())), vec![RoleAction::Forget(p(1))]),
            (ended(0, Ok(())), vec![]),
        ],
    );
    assert!(roles.is_idle());
    assert_eq!(acks(&roles), []);
}

/// What a random run does next.
#[derive(Debug, Clone)]
enum Random {
    Change(i32, Target),
    Snapshot(Vec<(i32, Target)>),
    End(i32, bool),
    Lost,
    Wait,
}

fn target() -> impl Strategy<Value = Target> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    prop_oneof![
        Just(Target::None),
        id.clone().prop_map(warming),
        (1..6_u64, 0..3_u64, prop::sample::select(vec!["", "a", "b"])).prop_map(|(run, more, id)| owner(
            run + more,
            run,
            id
        )),
        id.prop_map(releasing),
    ]
}

fn random() -> impl Strategy<Value = Random> {
    prop_oneof![
        4 => (0..3, target()).prop_map(|(n, t)| Random::Change(n, t)),
        1 => prop::collection::vec((0..3, target()), 0..3).prop_map(Random::Snapshot),
        6 => (0..3, prop::bool::weighted(0.8)).prop_map(|(n, ok)| Random::End(n, ok)),
        1 => Just(Random::Lost),
        2 => Just(Random::Wait),
    ]
}

/// What a handler would see of one partition.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Seen {
    #[default]
    Nothing,
    Warm,
    Owned,
    Drained,
    Spoiled,
}

/// Plays the handler, and fails on any call that the contract rules out.
#[derive(Debug, Default)]
struct Handler {
    seen: BTreeMap<TopicPartition, Seen>,
    running: BTreeMap<TopicPartition, Call>,
    /// Partitions that may not be begun or gone on with before what is held of them was dropped.
    must_drop: BTreeSet<TopicPartition>,
}

impl Handler {
    fn seen(&self, at: &TopicPartition) -> Seen {
        self.seen.get(at).copied().unwrap_or_default()
    }

    fn perform(&mut self, actions: Vec<RoleAction>, max_warming: usize) {
        for action in actions {
            match action {
                RoleAction::Call(at, call) => self.called(at, call),
                RoleAction::RaiseEpoch(at, _) => {
                    assert_eq!(self.seen(&at), Seen::Owned);
                    assert!(!self.must_drop.contains(&at), "{at} goes on over a lost session");
                }
                RoleAction::Cancel(at) => assert!(self.running.contains_key(&at), "nothing to cancel"),
                RoleAction::Forget(at) => assert_eq!(self.seen(&at), Seen::Nothing),
            }
        }
        let warming = self.running.values().filter(|c| matches!(c, Call::Warm { .. })).count();
        assert!(warming <= max_warming, "{warming} preparations at once");
    }

    fn called(&mut self, at: TopicPartition, call: Call) {
        let seen = self.seen(&at);
        let allowed = match &call {
            Call::Warm { .. } => seen == Seen::Nothing,
            Call::Assigned { resumed, .. } => seen == if *resumed { Seen::Drained } else { Seen::Warm },
            Call::Drain | Call::Lost => seen == Seen::Owned,
            Call::Release => matches!(seen, Seen::Warm | Seen::Drained | Seen::Spoiled),
        };
        assert!(allowed, "{call:?} of {at} while {seen:?}");
        if matches!(call, Call::Warm { .. } | Call::Assigned { .. }) {
            assert!(!self.must_drop.contains(&at), "{call:?} of {at} over a lost session");
        }
        assert!(self.running.insert(at, call).is_none(), "two calls at once");
    }

    fn end(&mut self, at: &TopicPartition, ok: bool) -> Option<RoleEvent> {
        let call = self.running.remove(at)?;
        let ok = ok || call == Call::Lost;
        let after = match (&call, ok) {
            (Call::Warm { .. }, true) => Seen::Warm,
            (Call::Warm { .. }, false) => Seen::Spoiled,
            (Call::Assigned { .. }, true) => Seen::Owned,
            (Call::Drain, true) => Seen::Drained,
            (Call::Release | Call::Lost, true) => Seen::Nothing,
            (_, false) => self.seen(at),
        };
        self.seen.insert(at.clone(), after);
        if after == Seen::Nothing {
            self.must_drop.remove(at);
        }
        let result = if ok { Ok(()) } else { Err(failure("failed")) };
        Some(RoleEvent::CallEnded { partition: at.clone(), result })
    }

    fn session_lost(&mut self) {
        let held = self.seen.iter().filter(|(_, seen)| **seen != Seen::Nothing).map(|(at, _)| at.clone());
        self.must_drop.extend(held.chain(self.running.keys().cloned()));
    }
}

/// Lets every call succeed until nothing happens any more.
fn settle(roles: &mut Roles, handler: &mut Handler, now: &mut Moment) {
    for _ in 0..200 {
        *now = *now + Duration::from_secs(60);
        handler.perform(roles.step(*now, RoleEvent::Timer), 2);
        let running: Vec<_> = handler.running.keys().cloned().collect();
        for at in running {
            let event = handler.end(&at, true).expect("it runs");
            handler.perform(roles.step(*now, event), 2);
        }
    }
    assert!(handler.running.is_empty(), "it never settles");
}

fn reached(target: &Target, seen: Seen, declined: bool) -> bool {
    match target {
        Target::None | Target::Releasing(_) => seen == Seen::Nothing,
        Target::Warming(_) => seen == Seen::Warm || (declined && seen == Seen::Nothing),
        Target::Owner(_) => seen == Seen::Owned,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_keeps_the_handlers_contract_and_reaches_its_targets(
        history in prop::collection::vec(random(), 1..60)
    ) {
        let (mut roles, mut handler, mut now) = (Roles::new(2), Handler::default(), T0);
        let mut targets = BTreeMap::new();
        for step in history {
            let event = match step {
                Random::Change(n, t) => {
                    targets.insert(p(n), t.clone());
                    Some(change([(n, t)]))
                }
                Random::Snapshot(all) => {
                    targets = all.iter().map(|(n, t)| (p(*n), t.clone())).collect();
                    Some(snapshot(all))
                }
                Random::End(n, ok) => handler.end(&p(n), ok),
                Random::Lost => {
                    targets.clear();
                    handler.session_lost();
                    Some(RoleEvent::SessionLost)
                }
                Random::Wait => {
                    now = now + Duration::from_millis(700);
                    Some(RoleEvent::Timer)
                }
            };
            if let Some(event) = event {
                handler.perform(roles.step(now, event), 2);
            }
        }
        settle(&mut roles, &mut handler, &mut now);
        for n in 0..3 {
            let target = targets.get(&p(n)).cloned().unwrap_or_default();
            let declined = acks(&roles).iter().any(|(at, kind, _)| *at == n && *kind == AckKind::WarmFailed);
            prop_assert!(reached(&target, handler.seen(&p(n)), declined), "{n}: {target:?}, {:?}", handler.seen(&p(n)));
        }
    }
}
