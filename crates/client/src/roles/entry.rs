//! One partition: what it should be, what it is, and the next call that brings the two together.

use std::time::Duration;

use super::target::{Grant, Provenance, Target};
use super::{Ack, AckKind, Call, CallFailure, CallResult};
use crate::moment::Moment;

/// The wait after the first failed call of a handler; it doubles with each further one.
const FIRST_RETRY: Duration = Duration::from_millis(500);
/// The longest wait. The service's phases take at most 30 s by default, so a retry still falls within one.
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// What the handler holds of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Held {
    /// Nothing.
    #[default]
    Nothing,
    /// A finished preparation.
    Warm(Provenance),
    /// The rest of a preparation that failed or was cancelled, or that a failed start made useless.
    Spoiled,
    /// It processes.
    Owned,
    /// It has stopped, and keeps its state. The epoch is the last it held.
    Drained(u64),
}

/// A call that the handler has not answered yet.
#[derive(Debug)]
struct Running {
    call: Call,
    cancelled: bool,
}

#[derive(Debug, Default)]
pub(super) struct Entry {
    pub(super) target: Target,
    held: Held,
    /// What is held was taken away: it must be dropped, whatever the target has become since.
    lost: bool,
    /// The highest epoch that was held; meaningful while owned.
    epoch: u64,
    running: Option<Running>,
    failures: u32,
    retry_at: Option<Moment>,
    /// The handoff whose preparation failed, with the failure's text.
    declined: Option<(String, String)>,
    /// What the service has answered definitely.
    acked: Option<(AckKind, String)>,
}

/// What to do next for a partition.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Nothing,
    Call(Call),
    Cancel,
    RaiseEpoch(u64),
}

impl Entry {
    pub(super) const fn is_idle(&self) -> bool {
        self.running.is_none() && matches!(self.held, Held::Nothing)
    }

    pub(super) const fn is_owned(&self) -> bool {
        matches!(self.held, Held::Owned)
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_idle() && self.target == Target::None
    }

    pub(super) fn is_warming(&self) -> bool {
        self.running.as_ref().is_some_and(|r| matches!(r.call, Call::Warm { .. }))
    }

    /// Sets the target; `unbroken` = it came as a change on a stream that missed nothing.
    pub(super) fn aim(&mut self, mut target: Target, unbroken: bool) {
        if let Target::Owner(grant) = &mut target {
            grant.follow(&self.target, unbroken);
        }
        if self.target != target {
            self.retry_at = None;
            self.failures = 0;
        }
        if !unbroken {
            self.acked = None;
        }
        self.lost |= target == Target::None && self.acts();
        self.target = target;
    }

    /// The session is over: whatever is held belongs to nobody.
    pub(super) fn lose(&mut self) {
        self.aim(Target::None, false);
        self.lost = !self.is_idle();
    }

    /// What is owned is of no use any more: it is lost, and prepared again if the target stays.
    pub(super) fn spoil(&mut self) {
        self.lost |= self.acts();
    }

    /// Whether it acts as an owner, or is about to.
    fn acts(&self) -> bool {
        let starting = self.running.as_ref().is_some_and(|r| matches!(r.call, Call::Assigned { .. }));
        starting || self.is_owned()
    }

    /// Gives the partition up without telling the service.
    pub(super) fn leave(&mut self) {
        let owner = matches!(self.target, Target::Owner(_) | Target::Releasing(_));
        let leave = super::target::Leave { handoff_id: None, new_owner: None };
        self.target = if owner { Target::Releasing(leave) } else { Target::None };
    }

    /// A wait that is over is forgotten, so that nothing is woken for it again.
    pub(super) fn next(&mut self, now: Moment) -> Next {
        self.retry_at.take_if(|at| *at <= now);
        if let Some(running) = &self.running {
            let unwanted = !running.cancelled && !self.wants(&running.call);
            return if unwanted { Next::Cancel } else { Next::Nothing };
        }
        if self.retry_at.is_some() {
            return Next::Nothing;
        }
        match &self.target {
            _ if self.lost => self.towards_nothing(),
            Target::None => self.towards_nothing(),
            Target::Warming(warming) => {
                self.towards_warm(&warming.handoff_id, warming.current_owner.as_ref())
            }
            Target::Owner(grant) => self.towards_owner(grant),
            Target::Releasing(_) => self.towards_released(),
        }
    }

    /// Whether a running call still leads where the target is. Calls that give something up always do.
    fn wants(&self, call: &Call) -> bool {
        match (call, &self.target) {
            (Call::Warm { provenance, .. }, Target::Warming(w)) => {
                *provenance == Provenance::Handoff(w.handoff_id.clone())
            }
            (Call::Warm { provenance, .. }, Target::Owner(grant)) => grant.accepts(provenance),
            (Call::Warm { .. }, _) => false,
            (Call::Assigned { .. }, target) => matches!(target, Target::Owner(_)),
            (Call::Drain | Call::Release | Call::Lost, _) => true,
        }
    }

    const fn towards_nothing(&self) -> Next {
        match &self.held {
            Held::Nothing => Next::Nothing,
            Held::Owned => Next::Call(Call::Lost),
            Held::Warm(_) | Held::Spoiled | Held::Drained(_) => Next::Call(Call::Release),
        }
    }

    fn towards_warm(&self, handoff_id: &str, current_owner: Option<&String>) -> Next {
        let provenance = Provenance::Handoff(handoff_id.to_owned());
        match &self.held {
            Held::Nothing if self.has_declined(handoff_id) => Next::Nothing,
            Held::Nothing => Next::Call(Call::Warm { provenance, current_owner: current_owner.cloned() }),
            Held::Warm(made_for) if *made_for == provenance => Next::Nothing,
            Held::Warm(_) | Held::Spoiled | Held::Drained(_) | Held::Owned => self.towards_nothing(),
        }
    }

    fn towards_owner(&self, grant: &Grant) -> Next {
        let assigned = |resumed| {
            Next::Call(Call::Assigned { epoch: grant.epoch, start_offset: grant.start_offset, resumed })
        };
        match &self.held {
            Held::Nothing => Next::Call(Call::Warm { provenance: grant.provenance(), current_owner: None }),
            Held::Warm(made_for) if grant.accepts(made_for) => assigned(false),
            Held::Drained(epoch) if *epoch >= grant.run => assigned(true),
            Held::Owned if self.epoch < grant.epoch => Next::RaiseEpoch(grant.epoch),
            Held::Owned => Next::Nothing,
            Held::Warm(_) | Held::Spoiled | Held::Drained(_) => Next::Call(Call::Release),
        }
    }

    const fn towards_released(&self) -> Next {
        match &self.held {
            Held::Owned => Next::Call(Call::Drain),
            Held::Nothing | Held::Warm(_) | Held::Spoiled | Held::Drained(_) => self.towards_nothing(),
        }
    }

    fn has_declined(&self, handoff_id: &str) -> bool {
        self.declined.as_ref().is_some_and(|(id, _)| id == handoff_id)
    }

    pub(super) fn raise_epoch(&mut self, epoch: u64) {
        self.epoch = self.epoch.max(epoch);
    }

    pub(super) fn started(&mut self, call: Call) {
        self.running = Some(Running { call, cancelled: false });
    }

    /// Whether there was something to cancel.
    pub(super) fn cancel(&mut self) -> bool {
        let Some(running) = &mut self.running else { return false };
        !std::mem::replace(&mut running.cancelled, true)
    }

    /// Takes in how the running call ended.
    pub(super) fn ended(&mut self, now: Moment, result: &CallResult) {
        let Some(Running { call, cancelled }) = self.running.take() else { return };
        match result {
            Ok(()) => {
                // Cancelling has ended the claim it started under: it owns the partition, but can't act.
                self.lost |= cancelled && matches!(call, Call::Assigned { .. });
                self.succeeded(call);
            }
            Err(failure) => self.failed(now, call, cancelled, failure),
        }
        self.lost &= !self.is_idle();
    }

    fn succeeded(&mut self, call: Call) {
        // Dropping the rest of a failed preparation is no success: the next one still waits longer.
        if call != Call::Release {
            self.failures = 0;
        }
        self.retry_at = None;
        self.held = match call {
            Call::Warm { provenance, .. } => Held::Warm(provenance),
            Call::Assigned { epoch, .. } => {
                self.epoch = epoch;
                Held::Owned
            }
            Call::Drain => Held::Drained(self.epoch),
            Call::Release | Call::Lost => Held::Nothing,
        };
    }

    fn failed(&mut self, now: Moment, call: Call, cancelled: bool, failure: &CallFailure) {
        if failure.spoiled && matches!(call, Call::Assigned { .. }) {
            self.held = Held::Spoiled;
        }
        if let Call::Warm { provenance, .. } = call {
            self.held = Held::Spoiled;
            if let (false, Provenance::Handoff(id)) = (cancelled, provenance) {
                self.declined = Some((id, failure.message.clone()));
            }
        }
        if !cancelled {
            let wait = FIRST_RETRY.saturating_mul(1 << self.failures.min(8)).min(LONGEST_RETRY);
            self.failures = self.failures.saturating_add(1);
            self.retry_at = Some(now + wait);
        }
    }

    pub(super) const fn retry_at(&self) -> Option<Moment> {
        if self.running.is_some() { None } else { self.retry_at }
    }

    /// What the service should be told and has not answered yet.
    pub(super) fn due_ack(&self) -> Option<Ack> {
        let (kind, handoff_id) = self.reached()?;
        let answered = self.acked.as_ref().is_some_and(|(k, id)| *k == kind && id == handoff_id);
        let message = match (&kind, &self.declined) {
            (AckKind::WarmFailed, Some((_, message))) => message.clone(),
            _ => String::new(),
        };
        (!answered).then(|| Ack { kind, handoff_id: handoff_id.to_owned(), message })
    }

    fn reached(&self) -> Option<(AckKind, &str)> {
        match (&self.target, &self.held) {
            (Target::Warming(w), _) if self.has_declined(&w.handoff_id) => {
                Some((AckKind::WarmFailed, &w.handoff_id))
            }
            (Target::Warming(w), Held::Warm(Provenance::Handoff(id))) if w.handoff_id == *id => {
                Some((AckKind::Ready, id))
            }
            (Target::Owner(grant), Held::Owned) => Some((AckKind::Taken, grant.taken_for.as_ref()?)),
            (Target::Releasing(leave), Held::Nothing) if self.running.is_none() => {
                Some((AckKind::Released, leave.handoff_id.as_ref()?))
            }
            _ => None,
        }
    }

    pub(super) fn acked(&mut self, kind: AckKind, handoff_id: &str) {
        self.acked = Some((kind, handoff_id.to_owned()));
    }
}
