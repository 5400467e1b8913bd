//! One partition: what it should be, what it is, and the next call that brings the two together.

use std::time::Duration;

use super::ack::{AckKind, RoleAck};
use super::call::{Call, CallFailure, CallResult, NextCall};
use super::holding::{Holding, RunningCall, Stop};
use super::pace::{NO_PROGRESS, WarmUpPace};
use super::role::{
    CatchingUpRole, ConsumerRole, DrainingRole, OwnerRole, Provenance, ReleasingRole, WarmingRole,
};
use super::unbegun::{UnbegunCause, UnbegunRole};
use kafka_assigner_types::id::{Epoch, HandoffId, Offset};
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::topic_id::TopicId;

/// The wait after the first failed call of a handler; it doubles with each further one.
const FIRST_RETRY: Duration = Duration::from_millis(500);
/// The longest wait. The service's phases take at most 30 s by default, so a retry still falls within one.
const LONGEST_RETRY: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) target: ConsumerRole,
    held: Holding,
    /// The id of the topic that what is held, or being made, is of; `None` = not known, or there is nothing.
    topic_id: Option<TopicId>,
    /// The partition was taken away: its state must be dropped, whatever the target has become since.
    lost: bool,
    /// The highest epoch that was started, in whichever run.
    epoch: Epoch,
    /// True if the last grant that was started promises one owner at a time.
    strict: bool,
    /// True if it owns what it was told to drain and could not: it processes, but admits no requests.
    closed: bool,
    /// The handoff for which its handler was told to begin no record that may take long.
    rests: Option<HandoffId>,
    running: Option<RunningCall>,
    failures: u32,
    /// The text of the last of them.
    failure: String,
    /// The epoch of the grant under which a call failed last.
    failed_under: Option<Epoch>,
    retry_at: Option<Moment>,
    /// The handoff whose preparation failed, with the failure's text.
    declined: Option<(HandoffId, String)>,
    /// The acknowledgement that the service has answered definitely.
    acked: Option<(AckKind, HandoffId)>,
}

/// A change in the handoff for which an owner rests.
#[derive(Debug, Default)]
pub(super) struct RestTurn {
    /// True if it rests no more for the one before.
    pub(super) ends: bool,
    /// True if it rests for another one from now on.
    pub(super) begins: bool,
}

impl Entry {
    pub(super) const fn is_idle(&self) -> bool {
        self.running.is_none() && matches!(self.held, Holding::Nothing)
    }

    /// True if what is held, or runs, has to be dropped whatever the target is.
    pub(super) const fn is_lost(&self) -> bool {
        self.lost
    }

    pub(super) const fn is_owned(&self) -> bool {
        matches!(self.held, Holding::Owned)
    }

    pub(super) const fn topic_id(&self) -> Option<TopicId> {
        self.topic_id
    }

    /// True if what is held is of a topic that was deleted, and the target of the one that was created under its name.
    fn is_of_former_topic(&self) -> bool {
        let known = self.topic_id.zip(self.target.topic_id());
        known.is_some_and(|(held, wanted)| held != wanted)
    }

    /// The number of calls that have failed in a row.
    pub(super) const fn failures(&self) -> u32 {
        self.failures
    }

    /// True if a call has failed under the grant that is there now.
    pub(super) fn has_failed_under_grant(&self) -> bool {
        self.failed_under.is_some() && self.failed_under == self.granted_epoch()
    }

    const fn granted_epoch(&self) -> Option<Epoch> {
        match &self.target {
            ConsumerRole::Owner(role) => Some(role.epoch),
            _ => None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_idle() && self.target == ConsumerRole::None
    }

    pub(super) fn is_warming(&self) -> bool {
        self.running.as_ref().is_some_and(|r| matches!(r.call, Call::Warm { .. }))
    }

    /// True if it is being prepared, and gets no further.
    pub(super) fn is_stalled(&self) -> bool {
        self.is_warming() && self.running.as_ref().is_some_and(|running| running.pace.is_stalled())
    }

    /// Takes in how much of its preparation is done. True = from now on it gets no further.
    pub(super) fn look(&mut self, now: Moment, done: u64) -> bool {
        let was_stalled = self.is_stalled();
        if let Some(running) = &mut self.running {
            running.pace.look(now, done);
        }
        !was_stalled && self.is_stalled()
    }

    /// Sets the target; `unbroken` = it came as a change on a stream that missed nothing.
    pub(super) fn aim(&mut self, mut target: ConsumerRole, unbroken: bool) {
        if let ConsumerRole::Owner(grant) = &mut target {
            grant.follow(&self.target, unbroken);
        }
        if self.target != target {
            self.retry_at = None;
            self.failures = 0;
        }
        if !unbroken {
            self.acked = None;
        }
        self.lost |= target == ConsumerRole::None && self.acts();
        self.target = target;
        self.learn_topic();
    }

    /// An id that was not known is learnt in silence; a known one stays as long as anything is held.
    fn learn_topic(&mut self) {
        let known = self.topic_id.or(self.target.topic_id());
        self.topic_id = known.filter(|_| !self.is_idle());
    }

    /// The session is over: whatever is held belongs to nobody.
    pub(super) fn lose(&mut self) {
        self.aim(ConsumerRole::None, false);
        self.lost = !self.is_idle();
    }

    /// The state of the owner is of no use any more: it is lost, and prepared again if the target stays.
    pub(super) fn spoil(&mut self) {
        self.lost |= self.acts();
    }

    /// True if it acts as an owner, or is about to.
    fn acts(&self) -> bool {
        self.is_starting() || self.is_owned()
    }

    fn is_starting(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.call.starts())
    }

    /// The claim of the stricter modes has run out. Returns whether the running call has to be cancelled.
    pub(super) fn lapse(&mut self) -> bool {
        let stops = self.strict && self.acts();
        self.lost |= stops;
        stops && self.cancel_acting()
    }

    /// Cancels the running call where that may act; true if there was one.
    fn cancel_acting(&mut self) -> bool {
        let may_act = |running: &RunningCall| matches!(running.call, Call::Assigned { .. } | Call::Drain);
        self.running.as_ref().is_some_and(may_act) && self.cancel()
    }

    /// No grant up to `epoch` counts any more: what acts under one is lost. Returns whether the running call has to be
    /// cancelled.
    pub(super) fn fence(&mut self, epoch: Epoch) -> bool {
        if self.granted_epoch().is_some_and(|granted| granted <= epoch) {
            self.target = ConsumerRole::None;
        }
        let stops = self.acts() && self.acting_epoch() <= epoch;
        self.lost |= stops;
        // Whatever failed is not waited for: meanwhile it would go on.
        self.retry_at = self.retry_at.filter(|_| !stops);
        stops && self.cancel_acting()
    }

    /// The epoch under which it acts, if it does.
    fn acting_epoch(&self) -> Epoch {
        match self.running.as_ref().map(|running| &running.call) {
            Some(Call::Assigned { epoch, .. }) => self.epoch.max(*epoch),
            _ => self.epoch,
        }
    }

    /// True if any epoch of `run` was started here.
    fn has_started(&self, run: Epoch) -> bool {
        self.epoch >= run
    }

    /// Gives the partition up without telling the service.
    pub(super) fn leave(&mut self) {
        let owner = matches!(
            self.target,
            ConsumerRole::Owner(_) | ConsumerRole::Draining(_) | ConsumerRole::Releasing(_)
        );
        let leave = ReleasingRole { handoff: None, new_owner: None };
        self.target = if owner { ConsumerRole::Releasing(leave) } else { ConsumerRole::None };
    }

    /// A wait that is over is forgotten, so that nothing is woken for it again.
    pub(super) fn next(&mut self, now: Moment) -> NextCall {
        self.retry_at.take_if(|at| *at <= now);
        if let Some(running) = &self.running {
            return self.about(running);
        }
        if self.retry_at.is_some() {
            return NextCall::Nothing;
        }
        match &self.target {
            // This goes before "an owner goes on": its position is one in another log.
            _ if self.lost || self.is_of_former_topic() => self.towards_nothing(),
            ConsumerRole::None => self.towards_nothing(),
            ConsumerRole::Warming(warming) => {
                self.towards_warm(&warming.handoff, warming.current_owner.as_ref())
            }
            ConsumerRole::CatchingUp(reserved) => self.towards_caught_up(reserved),
            ConsumerRole::Owner(grant) => self.towards_owner(grant),
            ConsumerRole::Draining(draining) => self.towards_drained(draining),
            ConsumerRole::Releasing(_) => self.towards_released(),
        }
    }

    fn about(&self, running: &RunningCall) -> NextCall {
        let is_told = running.cancelled || running.recalled;
        match &running.call {
            _ if is_told => NextCall::Nothing,
            // A request that never ends must not keep an owner from going on, or from losing what it owned.
            Call::Drain if matches!(self.target, ConsumerRole::Owner(_) | ConsumerRole::None) => {
                NextCall::Recall
            }
            call if !self.wants(call) => NextCall::Cancel,
            _ => NextCall::Nothing,
        }
    }

    /// True if a running call still leads where the target is. Calls that give something up always do.
    fn wants(&self, call: &Call) -> bool {
        match (call, &self.target) {
            (Call::Drain | Call::Release | Call::Lost, _) => true,
            _ if self.is_of_former_topic() => false,
            (Call::Warm { provenance, .. }, ConsumerRole::Warming(w)) => {
                *provenance == Provenance::Handoff(w.handoff.clone())
            }
            (Call::Warm { provenance, .. }, ConsumerRole::CatchingUp(reserved)) => {
                *provenance == Provenance::Handoff(reserved.handoff.clone())
            }
            (Call::Warm { provenance, .. }, ConsumerRole::Owner(grant)) => grant.accepts(provenance),
            (Call::CatchUp { handoff, .. }, ConsumerRole::CatchingUp(reserved)) => {
                *handoff == reserved.handoff
            }
            (Call::CatchUp { handoff, .. }, ConsumerRole::Owner(grant)) => {
                grant.prepared_by.as_ref() == Some(handoff)
            }
            (Call::Warm { .. } | Call::CatchUp { .. }, _) => false,
            // A start in the same run is drained once it runs: cut short, it could not say where it stopped.
            (Call::Assigned { epoch, .. }, ConsumerRole::Draining(draining)) => *epoch >= draining.run,
            (Call::Assigned { .. }, target) => matches!(target, ConsumerRole::Owner(_)),
        }
    }

    const fn towards_nothing(&self) -> NextCall {
        match &self.held {
            Holding::Nothing => NextCall::Nothing,
            Holding::Owned => NextCall::Call(Call::Lost),
            Holding::Warm(_) | Holding::CaughtUp(_) | Holding::Spoiled | Holding::Drained(_) => {
                NextCall::Call(Call::Release)
            }
        }
    }

    fn towards_warm(&self, handoff: &HandoffId, current_owner: Option<&String>) -> NextCall {
        let provenance = Provenance::Handoff(handoff.clone());
        match &self.held {
            Holding::Nothing if self.has_declined(handoff) => NextCall::Nothing,
            Holding::Nothing => {
                NextCall::Call(Call::Warm { provenance, current_owner: current_owner.cloned(), start: None })
            }
            Holding::Warm(made_for) if *made_for == provenance => NextCall::Nothing,
            _ => self.towards_nothing(),
        }
    }

    fn towards_caught_up(&self, reserved: &CatchingUpRole) -> NextCall {
        let CatchingUpRole { handoff, epoch, until, .. } = reserved;
        match &self.held {
            Holding::Warm(Provenance::Handoff(made_for)) if made_for == handoff => {
                let (handoff, epoch, until) = (handoff.clone(), *epoch, *until);
                NextCall::Call(Call::CatchUp { handoff, epoch, until })
            }
            Holding::CaughtUp(done_for) if done_for == handoff => NextCall::Nothing,
            _ => self.towards_warm(handoff, None),
        }
    }

    fn towards_owner(&self, grant: &OwnerRole) -> NextCall {
        let &OwnerRole { epoch, run, strict, .. } = grant;
        let is_same_run = self.has_started(run);
        let start = grant.start.filter(|_| !is_same_run);
        let assigned = |resumed| NextCall::Call(Call::Assigned { epoch, start, resumed, strict });
        match &self.held {
            Holding::Nothing => {
                NextCall::Call(Call::Warm { provenance: grant.provenance(), current_owner: None, start })
            }
            Holding::Warm(made_for) if grant.accepts(made_for) => assigned(false),
            Holding::CaughtUp(id) if grant.prepared_by.as_ref() == Some(id) => assigned(false),
            Holding::Drained(stop) if stop.epoch >= run => assigned(true),
            // In `overlap` an owner works on in any case.
            Holding::Owned if strict && !is_same_run => NextCall::Call(Call::Lost),
            Holding::Owned if self.epoch < epoch || self.closed => NextCall::RaiseEpoch { epoch, strict },
            Holding::Owned => NextCall::Nothing,
            _ => self.towards_nothing(),
        }
    }

    /// One that has started no epoch of the run does not begin to: it answers at once, and keeps what it prepared.
    fn towards_drained(&self, draining: &DrainingRole) -> NextCall {
        match &self.held {
            Holding::Owned if self.has_started(draining.run) => NextCall::Call(Call::Drain),
            Holding::Drained(stop) if stop.epoch >= draining.run => NextCall::Nothing,
            Holding::Warm(_) => NextCall::Nothing,
            _ => self.towards_nothing(),
        }
    }

    fn towards_released(&self) -> NextCall {
        match &self.held {
            Holding::Owned => NextCall::Call(Call::Drain),
            _ => self.towards_nothing(),
        }
    }

    fn has_declined(&self, handoff: &HandoffId) -> bool {
        self.declined.as_ref().is_some_and(|(id, _)| id == handoff)
    }

    pub(super) fn go_on(&mut self, epoch: Epoch, strict: bool) {
        self.epoch = self.epoch.max(epoch);
        self.strict = strict;
        self.closed = false;
    }

    pub(super) fn started(&mut self, now: Moment, call: Call) {
        if let Call::Assigned { strict, .. } = call {
            self.strict = strict;
        }
        let pace = WarmUpPace::since(now);
        self.running = Some(RunningCall { call, cancelled: false, recalled: false, pace });
        self.learn_topic();
    }

    pub(super) fn recall(&mut self) {
        if let Some(running) = &mut self.running {
            running.recalled = true;
        }
    }

    /// True if there was something to cancel.
    pub(super) fn cancel(&mut self) -> bool {
        let Some(running) = &mut self.running else { return false };
        !std::mem::replace(&mut running.cancelled, true)
    }

    /// Takes in how the running call ended.
    pub(super) fn ended(&mut self, now: Moment, result: &CallResult) {
        let Some(RunningCall { call, cancelled, recalled, .. }) = self.running.take() else { return };
        match result {
            Ok(next_offset) => {
                // Cancelling has ended the claim it started under: it owns the partition, but can't act.
                self.lost |= cancelled && matches!(call, Call::Assigned { .. });
                self.succeeded(call, *next_offset);
            }
            Err(failure) => self.failed(now, call, cancelled || recalled, failure),
        }
        self.lost &= !self.is_idle();
        self.learn_topic();
    }

    fn succeeded(&mut self, call: Call, next_offset: Option<Offset>) {
        // Dropping the rest of a failed preparation is no success: the next one still waits longer.
        if call != Call::Release {
            self.failures = 0;
        }
        self.retry_at = None;
        self.held = match call {
            Call::Warm { provenance, .. } => Holding::Warm(provenance),
            Call::CatchUp { handoff, .. } => Holding::CaughtUp(handoff),
            Call::Assigned { epoch, .. } => {
                self.epoch = self.epoch.max(epoch);
                self.closed = false;
                Holding::Owned
            }
            Call::Drain => Holding::Drained(Stop { epoch: self.epoch, next_offset }),
            Call::Release | Call::Lost => Holding::Nothing,
        };
    }

    fn failed(&mut self, now: Moment, call: Call, was_told: bool, failure: &CallFailure) {
        match call {
            Call::Assigned { epoch, .. } if failure.spoiled => {
                // Nobody knows how far it came, so nothing is said of where it stopped.
                self.epoch = self.epoch.max(epoch);
                self.held = Holding::Spoiled;
            }
            Call::Warm { provenance: Provenance::Handoff(id), .. } | Call::CatchUp { handoff: id, .. } => {
                self.held = Holding::Spoiled;
                self.declined = (!was_told).then(|| (id, failure.message.clone())).or(self.declined.take());
            }
            Call::Warm { provenance: Provenance::Run(_), .. } => self.held = Holding::Spoiled,
            Call::Drain => self.closed = true,
            Call::Assigned { .. } | Call::Release | Call::Lost => {}
        }
        if !was_told {
            let wait = FIRST_RETRY.saturating_mul(1 << self.failures.min(8)).min(LONGEST_RETRY);
            self.failures = self.failures.saturating_add(1);
            self.failure.clone_from(&failure.message);
            self.failed_under = self.granted_epoch().or(self.failed_under);
            self.retry_at = Some(now + wait);
        }
    }

    /// The end of the wait before the next call, or the time of the next look at a preparation.
    pub(super) fn next_wake(&self) -> Option<Moment> {
        match &self.running {
            Some(running) => self.is_warming().then(|| running.pace.next_look()),
            None => self.retry_at,
        }
    }

    /// The acknowledgement that is due and has no answer yet.
    pub(super) fn due_ack(&self) -> Option<RoleAck> {
        let (kind, handoff, next_offset) = self.reached()?;
        let answered = self.acked.as_ref().is_some_and(|(k, id)| *k == kind && id == handoff);
        let message = match (&kind, &self.declined) {
            (AckKind::WarmFailed, Some((_, message))) => message.clone(),
            _ => String::new(),
        };
        (!answered).then(|| RoleAck { kind, handoff: handoff.clone(), message, next_offset })
    }

    /// The kind of the acknowledgement that is due, its handoff, and with [`AckKind::Drained`] where this one stopped.
    fn reached(&self) -> Option<(AckKind, &HandoffId, Option<Offset>)> {
        let (kind, id) = match (&self.target, &self.held) {
            _ if self.is_of_former_topic() => return None,
            (
                ConsumerRole::Warming(WarmingRole { handoff, .. })
                | ConsumerRole::CatchingUp(CatchingUpRole { handoff, .. }),
                _,
            ) if self.has_declined(handoff) => (AckKind::WarmFailed, handoff),
            (ConsumerRole::Warming(w), Holding::Warm(Provenance::Handoff(id))) if w.handoff == *id => {
                (AckKind::Ready, id)
            }
            (ConsumerRole::CatchingUp(reserved), Holding::CaughtUp(id)) if reserved.handoff == *id => {
                (AckKind::CaughtUp, id)
            }
            (ConsumerRole::Owner(OwnerRole { taking: Some(id), .. }), Holding::Owned) => (AckKind::Taken, id),
            (ConsumerRole::Owner(OwnerRole { rest: Some(id), .. }), _) if !self.is_starting() => {
                (AckKind::Rested, id)
            }
            (ConsumerRole::Draining(draining), _) => {
                return Some((AckKind::Drained, &draining.handoff, self.stopped_at(draining)?));
            }
            (ConsumerRole::Releasing(leave), Holding::Nothing) if self.running.is_none() => {
                (AckKind::Released, leave.handoff.as_ref()?)
            }
            _ => return None,
        };
        Some((kind, id, None))
    }

    /// The offset at which it stopped, if it knows one; `None` = it has not stopped yet.
    #[expect(clippy::option_option, reason = "having stopped, and knowing where, are two things")]
    fn stopped_at(&self, draining: &DrainingRole) -> Option<Option<Offset>> {
        match &self.held {
            _ if self.acts() => None,
            Holding::Drained(stop) if stop.epoch >= draining.run => Some(stop.next_offset),
            // It has, and then it was lost.
            _ if self.has_started(draining.run) => Some(None),
            _ => Some(draining.start),
        }
    }

    /// The grant that it has not begun; `None` = it owns nothing, or processes it.
    pub(super) fn unbegun(&self) -> Option<UnbegunRole<'_>> {
        let ConsumerRole::Owner(grant) = &self.target else { return None };
        let processes = self.is_owned() && self.running.is_none() && !self.lost;
        let failure = match self.is_stalled() {
            true => NO_PROGRESS,
            false if self.failures > 0 => &*self.failure,
            false => "",
        };
        (!processes).then(|| UnbegunRole { epoch: grant.epoch, why: self.why_unbegun(), failure })
    }

    fn why_unbegun(&self) -> UnbegunCause {
        match (&self.running, &self.held) {
            // It may hang for a reason of its own.
            _ if self.is_stalled() => UnbegunCause::Preparing,
            // Each try of a call that fails looks as the first one does.
            _ if self.failures > 0 => UnbegunCause::Failing,
            (Some(running), _) => match running.call {
                Call::Warm { .. } | Call::CatchUp { .. } => UnbegunCause::Preparing,
                Call::Assigned { .. } => UnbegunCause::Starting,
                Call::Drain | Call::Release | Call::Lost => UnbegunCause::Clearing,
            },
            (None, Holding::Nothing) => UnbegunCause::Place,
            (None, Holding::Warm(_) | Holding::CaughtUp(_) | Holding::Drained(_)) => UnbegunCause::Claim,
            (None, Holding::Spoiled | Holding::Owned) => UnbegunCause::Clearing,
        }
    }

    /// The handoff that waits for the running call of the handler: it starts, or stops, and may have a record in the
    /// works.
    pub(super) fn busy(&self) -> Option<&HandoffId> {
        let running = self.running.as_ref()?;
        match &self.target {
            ConsumerRole::Owner(grant) if running.call.starts() => grant.taking.as_ref(),
            ConsumerRole::Draining(draining) if self.acts() => Some(&draining.handoff),
            ConsumerRole::Releasing(leave) => leave.handoff.as_ref(),
            _ => None,
        }
    }

    /// The handoff that waits for the end of the record in the works, if there is one.
    pub(super) fn resting(&self) -> Option<&HandoffId> {
        match &self.target {
            ConsumerRole::Owner(grant) if self.acts() => grant.rest.as_ref(),
            _ => None,
        }
    }

    /// The change in the handoff for which no record that may take long is begun. One that is about to stop does not begin
    /// them again before it has.
    ///
    /// For another handoff it rests anew: since it rested for the one before, it may have begun a record.
    pub(super) fn turn_rest(&mut self) -> RestTurn {
        let wanted = match &self.target {
            ConsumerRole::Owner(grant) => grant.rest.clone(),
            ConsumerRole::Draining(_) | ConsumerRole::Releasing(_) => self.rests.clone(),
            _ => None,
        };
        if wanted == self.rests {
            return RestTurn::default();
        }
        let begins = wanted.is_some();
        RestTurn { ends: std::mem::replace(&mut self.rests, wanted).is_some(), begins }
    }

    pub(super) fn acked(&mut self, kind: AckKind, handoff: &HandoffId) {
        if let (ConsumerRole::Owner(grant), AckKind::Taken) = (&mut self.target, kind) {
            // Or it would be said again after the next acknowledgement of this role.
            grant.taking.take_if(|taking| taking == handoff);
        }
        self.acked = Some((kind, handoff.clone()));
    }
}
