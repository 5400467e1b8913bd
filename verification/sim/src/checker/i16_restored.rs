//! I16: after the store was put back nothing stands still for long: each partition is worked on, or has been under a grant
//! that came since, within a session's time to live and ten seconds, or two of the former where owners of the lost history
//! have to be waited for.
//!
//! Each partition is judged for itself. Where something else is wrong meanwhile that concerns one who owns it, or everybody,
//! it has as long after that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::Assignment;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::id::{Epoch, TopicPartition};

use super::excuses::Excuses;
use super::{Findings, Invariant, Step};
use crate::history::{Entry, Scope, What};
use crate::shape::Shape;

/// The time that is added to the times to live: the store's return is noticed, clients come back, a leader plans, owners begin.
const REACTION: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Restored {
    bound: Duration,
    /// The time at which the store came back last.
    since: Duration,
    excuses: Excuses,
    waiting: BTreeMap<TopicPartition, Waiting>,
    working: BTreeSet<(TopicPartition, u32)>,
    judged: u64,
}

/// A partition that nobody has worked on under a grant since the store came back.
#[derive(Debug)]
struct Waiting {
    /// The owners that it has had since.
    involved: BTreeSet<Arc<str>>,
    granted: BTreeSet<Epoch>,
    by: Duration,
}

impl Waiting {
    fn new(by: Duration, assignment: Option<&Assignment>) -> Self {
        let mut waiting = Self { involved: BTreeSet::new(), granted: BTreeSet::new(), by };
        assignment.into_iter().for_each(|assignment| waiting.involve(assignment));
        waiting
    }

    fn involve(&mut self, assignment: &Assignment) {
        self.involved.extend(assignment.owner.iter().map(|owner| Arc::from(owner.name.as_str())));
    }
}

impl Restored {
    /// Besides the times to live, a group waits for names that may come back, for revocations, and for instances that an
    /// operator starts.
    pub(super) fn new(shape: &Shape) -> Self {
        let rejoin_grace = Duration::from_millis(shape.config.rejoin_grace_ms);
        let waited_out = if shape.config.wait_out_revocations { shape.ttl() } else { Duration::ZERO };
        let lives = shape.ttl() * if shape.is_strict_at_times() { 2 } else { 1 };
        Self {
            bound: lives + REACTION + rejoin_grace + waited_out + shape.starting(),
            since: Duration::ZERO,
            excuses: Excuses::default(),
            waiting: BTreeMap::new(),
            working: BTreeSet::new(),
            judged: 0,
        }
    }

    /// Judges what is due.
    fn look(&mut self, now: Duration, findings: &mut Findings) {
        let due: Vec<TopicPartition> =
            self.waiting.iter().filter(|(_, waiting)| waiting.by <= now).map(|(at, _)| at.clone()).collect();
        for at in due {
            let Some(waiting) = self.waiting.get_mut(&at) else { continue };
            waiting.by = self.excuses.put_off(&waiting.involved, (self.since, waiting.by), self.bound);
            if waiting.by <= now {
                self.judge(now, &at, findings);
            }
        }
    }

    fn judge(&mut self, now: Duration, at: &TopicPartition, findings: &mut Findings) {
        self.waiting.remove(at);
        if self.working.range((at.clone(), 0)..=(at.clone(), u32::MAX)).next().is_none() {
            let since = now - self.since;
            findings
                .report(now, format!("nobody has worked on {at} for {since:?} after the store was put back"));
        }
    }

    /// A grant of which somebody began to work ends the wait.
    fn began(&mut self, now: Duration, at: &TopicPartition, epoch: Epoch) {
        let is_due = |waiting: &Waiting| waiting.granted.contains(&epoch);
        if self.waiting.get(at).is_some_and(is_due) {
            self.waiting.remove(at);
            self.judged += u64::from(now <= self.since + self.bound);
        }
    }
}

impl Invariant for Restored {
    fn step(&mut self, step: &Step<'_>, _findings: &mut Findings) {
        for at in step.assignments() {
            let (Some(waiting), Some(next)) = (self.waiting.get_mut(at), step.after.assignment(at)) else {
                continue;
            };
            waiting.involve(next);
            let before = step.before.assignment(at).map(Assignment::held_epoch);
            let is_new = before != Some(next.held_epoch());
            waiting.granted.extend(is_new.then(|| next.held_epoch()));
        }
        // A partition that does not exist needs nobody.
        if step.changes.iter().any(|(key, _)| matches!(key, Key::Topic(_) | Key::GroupConfig)) {
            self.waiting.retain(|at, _| step.after.exists(at));
        }
    }

    fn went_back(&mut self, at: Duration, state: &Arc<GroupState>, _findings: &mut Findings) {
        let by = at + self.bound;
        let partitions = state.assignments().keys().filter(|of| state.exists(of));
        self.waiting = partitions.map(|of| (of.clone(), Waiting::new(by, state.assignment(of)))).collect();
        self.since = at;
    }

    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        self.look(entry.at, findings);
        match &entry.what {
            // That the store goes back is an excuse for others.
            What::Excused { scope: Scope::Everyone, .. } if self.since == entry.at => {}
            What::Excused { .. } => self.excuses.entry(entry),
            What::Began { process, at, epoch, .. } => {
                self.working.insert((at.clone(), *process));
                self.began(entry.at, at, *epoch);
            }
            What::Ended { process, at, .. } => drop(self.working.remove(&(at.clone(), *process))),
            _ => {}
        }
    }

    fn counted(&self) -> Option<(&'static str, u64)> {
        Some(("partitions_judged_after_a_restore", self.judged))
    }
}
