//! Any history of commands, failures and losses, against a handler that rejects every call out of order.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// The next step of a random run.
#[derive(Debug, Clone)]
enum Random {
    Change(u32, ConsumerRole),
    Snapshot(Vec<(u32, ConsumerRole)>),
    End(u32, bool),
    Lost,
    Lapsed,
    Valid,
    Spoiled(u32),
    Wait,
}

fn target() -> impl Strategy<Value = ConsumerRole> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    let grant = || (1..6_u64, 0..3_u64, prop::sample::select(vec!["", "a", "b"]));
    let topic = || prop::sample::select(vec![7_u8, 8]);
    prop_oneof![
        Just(ConsumerRole::None),
        id.clone().prop_map(warming),
        id.clone().prop_map(|id| catching_up(id, 9, None)),
        grant().prop_map(|(run, more, id)| owner(run + more, run, id)),
        grant().prop_map(|(run, more, id)| strict_owner(run + more, run, id)),
        (topic(), grant()).prop_map(|(of, (run, more, id))| of_topic(of, owner(run + more, run, id))),
        (topic(), id.clone()).prop_map(|(of, id)| of_topic(of, warming(id))),
        (id.clone(), 1..6_u64).prop_map(|(id, run)| draining(id, run, Some(7))),
        id.prop_map(releasing),
    ]
}

fn random() -> impl Strategy<Value = Random> {
    prop_oneof![
        4 => (0..3_u32, target()).prop_map(|(n, t)| Random::Change(n, t)),
        1 => prop::collection::vec((0..3_u32, target()), 0..3).prop_map(Random::Snapshot),
        6 => (0..3_u32, prop::bool::weighted(0.8)).prop_map(|(n, ok)| Random::End(n, ok)),
        1 => Just(Random::Lost),
        1 => Just(Random::Lapsed),
        1 => Just(Random::Valid),
        1 => (0..3_u32).prop_map(Random::Spoiled),
        2 => Just(Random::Wait),
    ]
}

/// The state of one partition as a handler sees it.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Seen {
    #[default]
    Nothing,
    Warm,
    CaughtUp,
    Owned,
    Drained,
    Spoiled,
}

/// Fewer than there are partitions.
const MAX_WARMING: usize = 1;

/// Plays the handler, and fails on any call that the contract rules out.
#[derive(Debug, Default)]
struct Handler {
    seen: BTreeMap<TopicPartition, Seen>,
    running: BTreeMap<TopicPartition, Call>,
    lapsed: bool,
    /// Partitions whose preparation was told to get no further.
    stalled: BTreeSet<TopicPartition>,
    /// Partitions that were begun under a grant of a stricter mode.
    strict: BTreeSet<TopicPartition>,
    /// Partitions that may not be begun or gone on with before what is held of them was dropped.
    must_drop: BTreeSet<TopicPartition>,
}

impl Handler {
    fn seen(&self, at: &TopicPartition) -> Seen {
        self.seen.get(at).copied().unwrap_or_default()
    }

    fn perform(&mut self, actions: Vec<RoleAction>) {
        for action in actions {
            match action {
                RoleAction::Call(at, call) => self.called(at, call),
                RoleAction::RaiseEpoch { partition: at, strict, .. } => {
                    assert!(!(strict && self.lapsed), "{at} goes on without a claim");
                    self.strict.remove(&at);
                    self.strict.extend(strict.then(|| at.clone()));
                    assert_eq!(self.seen(&at), Seen::Owned);
                    assert!(!self.must_drop.contains(&at), "{at} goes on over a lost session");
                }
                RoleAction::Cancel(at) => assert!(self.running.contains_key(&at), "nothing to cancel"),
                RoleAction::Recall(at) => assert_eq!(self.running.get(&at), Some(&Call::Drain)),
                RoleAction::Rest(_) | RoleAction::EndRest(_) => {}
                RoleAction::Stalled(at) => {
                    assert!(self.is_warming(&at), "{at} is not prepared");
                    self.stalled.insert(at);
                }
                RoleAction::Forget(at) => assert_eq!(self.seen(&at), Seen::Nothing),
            }
        }
        let warming = self.running.keys().filter(|at| self.is_warming(at)).count();
        let beside = self.stalled.iter().filter(|at| self.is_warming(at)).count().min(MAX_WARMING);
        assert!(warming <= MAX_WARMING + beside, "{warming} preparations at once");
    }

    fn is_warming(&self, at: &TopicPartition) -> bool {
        matches!(self.running.get(at), Some(Call::Warm { .. }))
    }

    fn called(&mut self, at: TopicPartition, call: Call) {
        self.stalled.remove(&at);
        let seen = self.seen(&at);
        let allowed = match &call {
            Call::Warm { .. } => seen == Seen::Nothing,
            Call::CatchUp { .. } => seen == Seen::Warm && !self.lapsed,
            Call::Assigned { strict: true, .. } if self.lapsed => false,
            Call::Assigned { resumed: true, .. } => seen == Seen::Drained,
            Call::Assigned { .. } => matches!(seen, Seen::Warm | Seen::CaughtUp),
            Call::Drain | Call::Lost => seen == Seen::Owned,
            Call::Release => matches!(seen, Seen::Warm | Seen::CaughtUp | Seen::Drained | Seen::Spoiled),
        };
        assert!(allowed, "{call:?} of {at} while {seen:?}");
        if let Call::Assigned { strict, .. } = call {
            self.strict.remove(&at);
            self.strict.extend(strict.then(|| at.clone()));
        }
        if matches!(call, Call::Warm { .. } | Call::CatchUp { .. } | Call::Assigned { .. } | Call::Drain) {
            assert!(!self.must_drop.contains(&at), "{call:?} of {at} over a lost session");
        }
        assert!(self.running.insert(at, call).is_none(), "two calls at once");
    }

    fn end(&mut self, at: &TopicPartition, ok: bool) -> Option<RoleEvent> {
        let call = self.running.remove(at)?;
        let ok = ok || call == Call::Lost;
        let after = match (&call, ok) {
            (Call::Warm { .. }, true) => Seen::Warm,
            (Call::CatchUp { .. }, true) => Seen::CaughtUp,
            (Call::Warm { .. } | Call::CatchUp { .. }, false) => Seen::Spoiled,
            (Call::Assigned { .. }, true) => Seen::Owned,
            (Call::Drain, true) => Seen::Drained,
            (Call::Release | Call::Lost, true) => Seen::Nothing,
            (_, false) => self.seen(at),
        };
        self.seen.insert(at.clone(), after);
        if after == Seen::Nothing {
            self.must_drop.remove(at);
        }
        let result = if ok { Ok(None) } else { Err(failure("failed")) };
        Some(RoleEvent::CallEnded { partition: at.clone(), result })
    }

    /// Only an owner, or one that begins to be, can be spoiled.
    fn spoiled(&mut self, at: &TopicPartition) {
        if self.acts(at) {
            self.must_drop.insert(at.clone());
        }
    }

    fn acts(&self, at: &TopicPartition) -> bool {
        let begins = matches!(self.running.get(at), Some(Call::Assigned { .. }));
        begins || self.seen(at) == Seen::Owned
    }

    fn claim_lapsed(&mut self) {
        self.lapsed = true;
        let lost: Vec<_> = self.strict.iter().filter(|at| self.acts(at)).cloned().collect();
        self.must_drop.extend(lost);
    }

    fn session_lost(&mut self) {
        let held = self.seen.iter().filter(|(_, seen)| **seen != Seen::Nothing).map(|(at, _)| at.clone());
        self.must_drop.extend(held.chain(self.running.keys().cloned()));
    }
}

/// Lets every call succeed until nothing happens any more.
fn settle(roles: &mut Roles, handler: &mut Handler, now: &mut Moment) {
    handler.lapsed = false;
    handler.perform(roles.step(*now, RoleEvent::ClaimValid));
    for _ in 0..200 {
        *now = *now + Duration::from_secs(60);
        handler.perform(roles.step(*now, time_passes()));
        let running: Vec<_> = handler.running.keys().cloned().collect();
        for at in running {
            let event = handler.end(&at, true).expect("it runs");
            handler.perform(roles.step(*now, event));
        }
    }
    assert!(handler.running.is_empty(), "it never settles");
}

fn reached(target: &ConsumerRole, seen: Seen, declined: bool) -> bool {
    match target {
        ConsumerRole::None | ConsumerRole::Releasing(_) => seen == Seen::Nothing,
        ConsumerRole::Warming(_) => seen == Seen::Warm || (declined && seen == Seen::Nothing),
        ConsumerRole::CatchingUp(_) => seen == Seen::CaughtUp || (declined && seen == Seen::Nothing),
        ConsumerRole::Owner(_) => seen == Seen::Owned,
        ConsumerRole::Draining(_) => !matches!(seen, Seen::Owned | Seen::CaughtUp),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_keeps_the_handlers_contract_and_reaches_its_targets(
        history in prop::collection::vec(random(), 1..60)
    ) {
        let (mut roles, mut handler, mut now) = (Roles::new(MAX_WARMING), Handler::default(), T0);
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
                Random::Lapsed => {
                    handler.claim_lapsed();
                    Some(RoleEvent::ClaimLapsed)
                }
                Random::Valid => {
                    handler.lapsed = false;
                    Some(RoleEvent::ClaimValid)
                }
                Random::Spoiled(n) => {
                    handler.spoiled(&p(n));
                    Some(RoleEvent::Spoiled(p(n)))
                }
                Random::Wait => {
                    now = now + Duration::from_millis(700);
                    Some(time_passes())
                }
            };
            if let Some(event) = event {
                handler.perform(roles.step(now, event));
            }
        }
        settle(&mut roles, &mut handler, &mut now);
        for n in 0..3 {
            let target = targets.get(&p(n)).cloned().unwrap_or_default();
            let drained = acks(&roles).iter().any(|(at, kind, _)| *at == n && *kind == AckKind::Drained);
            prop_assert!(drained == matches!(target, ConsumerRole::Draining(_)), "{n}: {target:?} is unanswered");
            let declined = acks(&roles).iter().any(|(at, kind, _)| *at == n && *kind == AckKind::WarmFailed);
            prop_assert!(reached(&target, handler.seen(&p(n)), declined), "{n}: {target:?}, {:?}", handler.seen(&p(n)));
        }
    }
}
