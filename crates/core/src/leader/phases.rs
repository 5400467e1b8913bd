//! The phase of one handoff, as the leader has seen it: [`PhaseSpan`].

use std::time::Duration;

use super::warm_up::WarmUp;
use crate::record::{Handoff, Phase};
use crate::state::{GroupState, Presence};
use kafka_assigner_types::id::{HandoffId, Incarnation, Member, TopicPartition};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::Moment;

/// The parts of a handoff that stay the same as long as the deadline of its phase is the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PhaseKey {
    pub(super) id: HandoffId,
    pub(super) phase: Phase,
    taken: bool,
    /// True if the old owner was fenced of the unit, and its registration can be read: its claims are waited for. While that can't
    /// be read, heartbeats are confirmed without the fence, and the wait begins anew.
    is_fenced: bool,
    /// The old owner's session: one that came back under its name has the whole time of the phase.
    old: Incarnation,
    /// True if it waits for the end of a session: no deadline runs.
    waits_for_end: bool,
}

impl PhaseKey {
    pub(super) fn of(state: &GroupState, handoff: &Handoff) -> Self {
        Self {
            id: handoff.id.clone(),
            phase: handoff.phase,
            taken: handoff.taken.is_some(),
            is_fenced: handoff.is_fenced && state.presence(&handoff.old) != Presence::Unknown,
            old: handoff.old.incarnation.clone(),
            waits_for_end: state.waits_for_end(handoff),
        }
    }

    /// True if `other` is the same phase, whoever has taken meanwhile.
    pub(super) fn is_phase(&self, other: &Self) -> bool {
        self.id == other.id && self.phase == other.phase
    }

    /// True if `other` is the same, but that one of the two waits for the end of a session.
    fn is_same_but_for_the_wait(&self, other: &Self) -> bool {
        self.waits_for_end != other.waits_for_end
            && *self == Self { waits_for_end: self.waits_for_end, ..other.clone() }
    }
}

/// Since when a handoff is in its phase, and when that has to be over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseSpan {
    pub(super) key: PhaseKey,
    mode: Mode,
    warm_up: WarmUp,
    /// True if the member that the handoff waits for is busy with a record.
    busy: bool,
    /// The moment by which a member that was busy has to say its word; `None` = it was not busy in this phase.
    word_due: Option<Moment>,
    /// The moment from which requests are held back; `None` outside of `routed` and before that.
    held_since: Option<Moment>,
    /// The moment at which the leader first saw that the handoff waits for what it waits for now.
    waits_since: Moment,
    /// The moment at which it began to wait for the end of a session; `None` = it does not. No time counts meanwhile.
    stands_since: Option<Moment>,
    /// The moment at which the leader first saw the phase.
    pub since: Moment,
    /// The moment at which the phase has to be over, by the leader's clock. Reported progress moves it on, and in
    /// `Complete` it begins anew once the new owner has taken. It counts for nothing while the handoff waits for the end
    /// of a session.
    pub deadline: Moment,
}

impl PhaseSpan {
    /// The phase of `handoff`, seen for the first time at `now`; `before` is what was seen of its unit until then.
    pub(super) fn begin(state: &GroupState, handoff: &Handoff, before: Option<&Self>, now: Moment) -> Self {
        let key = PhaseKey::of(state, handoff);
        if let Some(seen) = before.filter(|seen| seen.key.is_same_but_for_the_wait(&key)) {
            return seen.going_on(key, now);
        }
        let same_handoff = before.filter(|seen| seen.key.id == key.id);
        let same_phase = before.filter(|seen| seen.key.is_phase(&key));
        let holds = handoff.mode == Mode::Routed && handoff.phase.holds_requests();
        let held_since = same_handoff.and_then(|seen| seen.held_since).unwrap_or(now);
        let begun = Self {
            stands_since: key.waits_for_end.then_some(now),
            key,
            mode: handoff.mode,
            warm_up: WarmUp::of(handoff),
            busy: is_busy(state, handoff),
            word_due: None,
            held_since: holds.then_some(held_since),
            waits_since: now,
            since: same_phase.map_or(now, |seen| seen.since),
            deadline: now,
        };
        let deadline = now + phase_bound(state, handoff);
        begun.with_deadline(state, deadline)
    }

    /// The same phase once it begins to wait for the end of a session, or waits no more: an owner that is suspected and heard
    /// again and again gains no time by that.
    fn going_on(&self, key: PhaseKey, now: Moment) -> Self {
        let stood = self.stands_since.map_or(Duration::ZERO, |since| now.since(since));
        Self {
            stands_since: key.waits_for_end.then_some(now),
            key,
            word_due: self.word_due.map(|due| due + stood),
            waits_since: self.waits_since + stood,
            deadline: self.deadline + stood,
            ..self.clone()
        }
    }

    /// The same phase after the leader looked at what is reported of it; `None` where that changes nothing.
    pub(super) fn after_report(&self, state: &GroupState, handoff: &Handoff, now: Moment) -> Option<Self> {
        let busy = is_busy(state, handoff);
        if busy == self.busy {
            return None;
        }
        let bound = phase_bound(state, handoff);
        // A member that is busy no more has said its word, or is about to: that takes no longer than any other phase. It is given
        // once, or calls that fail and are tried again would put the end off for ever.
        let word_due = self.word_due.or((!busy).then(|| now + bound));
        let own = self.waits_since + bound;
        let deadline = word_due.filter(|_| !busy).map_or(own, |due| due.max(own));
        Some(Self { busy, word_due, ..self.clone() }.with_deadline(state, deadline))
    }

    /// The same phase after news of a warm-up; `None` where `hears` finds no progress in them.
    pub(super) fn after_warm_up(
        &self,
        state: &GroupState,
        now: Moment,
        hears: impl FnOnce(&mut WarmUp) -> bool,
    ) -> Option<Self> {
        let mut next = self.clone();
        let has_progressed = self.key.phase == Phase::Warming && hears(&mut next.warm_up);
        let deadline = now + phase_deadline(state, self.mode, self.key.phase);
        has_progressed.then_some(Self { deadline, ..next })
    }

    /// Requests are held back for a bounded time, however many phases lie in it.
    fn with_deadline(self, state: &GroupState, deadline: Moment) -> Self {
        let held_until = self.held_since.map(|since| since + hold_deadline(state));
        Self { deadline: held_until.map_or(deadline, |until| until.min(deadline)), ..self }
    }

    /// True if it is the phase in which `handoff` stands.
    #[must_use]
    pub fn is_of(&self, handoff: &Handoff) -> bool {
        self.key.id == handoff.id && self.key.phase == handoff.phase
    }

    /// True if the handoff waits for the end of a session whose process seems to be dead: no deadline runs.
    #[must_use]
    pub const fn waits_for_end(&self) -> bool {
        self.key.waits_for_end
    }

    pub(super) fn ended(&self, now: Moment) -> EndedPhase {
        EndedPhase { phase: self.key.phase, mode: self.mode, lasted: now.since(self.since) }
    }
}

/// A phase that a leader saw begin and end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedPhase {
    /// The phase.
    pub phase: Phase,
    /// The mode of the handoff.
    pub mode: Mode,
    /// The time that it lasted, as the leader saw it.
    pub lasted: Duration,
}

/// The member that has to end its work on a record before `handoff` can go on; `None` where it waits for something else.
///
/// Nobody processes while a new owner catches up, and while a strict one starts no other member waits for it: neither is
/// worth a longer wait.
fn at_work(handoff: &Handoff) -> Option<&Member> {
    match (handoff.phase, handoff.mode) {
        (Phase::Complete, Mode::Overlap) if handoff.taken.is_none() => Some(&handoff.new),
        (Phase::Draining, Mode::Exclusive) | (Phase::Complete, Mode::Overlap) => Some(&handoff.old),
        (Phase::Ready, Mode::Routed) if handoff.asks_for_rest() && !handoff.old_has_said_all() => {
            Some(&handoff.old)
        }
        _ => None,
    }
}

/// The member that `handoff` waits for, if it says that a record of the unit is still in the works.
#[must_use]
pub fn busy_member<'h>(state: &GroupState, handoff: &'h Handoff) -> Option<&'h Member> {
    let member = at_work(handoff)?;
    let consumer = state.registration_of(member)?;
    let is_meant = |at: &TopicPartition| consumer.busy.get(&at.to_string()) == Some(&handoff.id);
    handoff.unit.iter().any(is_meant).then_some(member)
}

fn is_busy(state: &GroupState, handoff: &Handoff) -> bool {
    busy_member(state, handoff).is_some()
}

/// The longest time that `handoff` may wait for what it waits for now.
#[must_use]
pub fn phase_bound(state: &GroupState, handoff: &Handoff) -> Duration {
    if let Some(claims) = fenced_claims(state, handoff) {
        return claims;
    }
    let bound = phase_deadline(state, handoff.mode, handoff.phase);
    if is_busy(state, handoff) { bound.max(drain_deadline(state)) } else { bound }
}

/// The time for which claims of an old owner that was fenced may run, from the sight of the fence: a whole time to live of its
/// session, of which its own clock grants two thirds, or its outage grace where that is longer: it has one as long as it has not
/// confirmed that `overlap` is over. `None` where it was not, or has stopped since.
fn fenced_claims(state: &GroupState, handoff: &Handoff) -> Option<Duration> {
    let owner = state.assignment(handoff.lead())?.owner.as_ref()?;
    let assignments = handoff.unit.iter().filter_map(|at| state.assignment(at));
    let grace_ms = assignments.map(|assignment| assignment.outlived_grace_ms).max().unwrap_or_default();
    let waits = handoff.is_fenced && handoff.phase == Phase::Draining;
    waits.then(|| Duration::from_millis(owner.ttl_ms.max(grace_ms)))
}

/// The longest time that a phase may last while nothing is reported of it.
fn phase_deadline(state: &GroupState, mode: Mode, phase: Phase) -> Duration {
    let configured = Duration::from_millis(state.configured(|config| match phase {
        Phase::Warming => config.warm_deadline_ms,
        Phase::Ready
        | Phase::Freezing
        | Phase::Draining
        | Phase::CatchingUp
        | Phase::Complete
        | Phase::Cancelled => config.phase_deadline_ms,
    }));
    match (mode, phase) {
        (Mode::Routed, Phase::Freezing) => configured.min(freeze_bound(state)),
        (Mode::Routed, phase) if phase.holds_requests() => configured.min(hold_deadline(state)),
        _ => configured,
    }
}

/// The longest time that routers get to hold requests back: seven tenths of the time for which they hold them, so that
/// the old owner has time to drain after the last router was given up.
#[must_use]
pub fn freeze_bound(state: &GroupState) -> Duration {
    hold_deadline(state) * 7 / 10
}

/// The time to live of the sessions of routers that ask for none: half of the time for which requests are held back, or
/// that of consumers where it is shorter. So a router that dies is over before a freeze that waits for it is cancelled.
#[must_use]
pub fn router_session(state: &GroupState) -> Duration {
    let consumers = Duration::from_millis(state.configured(|config| config.session_timeout_ms));
    consumers.min(hold_deadline(state) / 2)
}

/// The longest time that a phase may last while the member that it waits for is busy with a record.
fn drain_deadline(state: &GroupState) -> Duration {
    Duration::from_millis(state.configured(|config| config.drain_deadline_ms))
}

/// The longest time for which a move may hold requests back, over all its phases.
#[must_use]
pub fn hold_deadline(state: &GroupState) -> Duration {
    Duration::from_millis(state.configured(|config| config.hold_deadline_ms))
}
