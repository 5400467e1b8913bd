//! I16: after the store was put back nothing stands still for long: each partition is worked on, or has been under a grant
//! that came since, within a session's time to live and ten seconds, or two of the former where owners of the lost history
//! have to be waited for.
//!
//! Nothing is said where something else is wrong meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::record::Assignment;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::id::{Epoch, TopicPartition};

use super::{Findings, Invariant, Step};
use crate::history::{Entry, Scope, What};
use crate::shape::Shape;

/// What is added to the times to live: the store's return is noticed, clients come back, a leader plans, owners begin.
const REACTION: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Restored {
    ttl: Duration,
    /// What else a group waits for: names that may come back, revocations, instances that an operator starts.
    besides: Duration,
    /// The latest end of what else is wrong.
    excused: Duration,
    watched: Option<Watched>,
    working: BTreeSet<(TopicPartition, u32)>,
    state: Option<Arc<GroupState>>,
}

/// The time after the store came back.
#[derive(Debug)]
struct Watched {
    since: Duration,
    /// Grants since then.
    granted: BTreeSet<(TopicPartition, Epoch)>,
    /// What has been worked on under one of them.
    works: BTreeSet<TopicPartition>,
}

impl Restored {
    pub(super) fn new(shape: &Shape) -> Self {
        let rejoin_grace = Duration::from_millis(shape.config.rejoin_grace_ms);
        let waited_out = if shape.config.wait_out_revocations { shape.ttl() } else { Duration::ZERO };
        let (ttl, besides) = (shape.ttl(), rejoin_grace + waited_out + shape.starting());
        Self { ttl, besides, excused: Duration::ZERO, watched: None, working: BTreeSet::new(), state: None }
    }

    fn bound(&self, state: &GroupState) -> Duration {
        let is_strict = state.configured(|config| config.mode).is_strict();
        self.ttl * if is_strict { 2 } else { 1 } + REACTION + self.besides
    }

    /// Judges once the time is over.
    fn look(&mut self, now: Duration, findings: &mut Findings) {
        let (Some(watched), Some(state)) = (&self.watched, &self.state) else { return };
        let bound = self.bound(state);
        if now < watched.since + bound {
            return;
        }
        let is_worked_on = |at: &TopicPartition| self.working.iter().any(|(of, _)| of == at);
        let stands = |at: &&TopicPartition| !watched.works.contains(*at) && !is_worked_on(at);
        let is_judged = self.excused <= watched.since;
        for at in partitions(state).iter().filter(stands).filter(|_| is_judged) {
            let what = format!("nobody works on {at} {bound:?} after the store was put back");
            findings.report("I16", now, what);
        }
        self.watched = None;
    }
}

fn partitions(state: &GroupState) -> Vec<TopicPartition> {
    state.assignments().keys().filter(|at| state.exists(at)).cloned().collect()
}

impl Invariant for Restored {
    fn step(&mut self, step: &Step<'_>, _findings: &mut Findings) {
        self.state = Some(Arc::clone(step.after));
        let Some(watched) = &mut self.watched else { return };
        for at in step.assignments() {
            let epoch = step.after.assignment(at).map(Assignment::held_epoch);
            let is_new = step.before.assignment(at).map(Assignment::held_epoch) != epoch;
            watched.granted.extend(epoch.filter(|_| is_new).map(|epoch| (at.clone(), epoch)));
        }
    }

    fn went_back(&mut self, at: Duration, state: &Arc<GroupState>, _findings: &mut Findings) {
        self.state = Some(Arc::clone(state));
        self.watched = Some(Watched { since: at, granted: BTreeSet::new(), works: BTreeSet::new() });
    }

    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        self.look(entry.at, findings);
        match (&entry.what, &mut self.watched) {
            // That the store goes back is an excuse for others.
            (What::Excused { scope: Scope::Everyone, .. }, Some(watched)) if watched.since == entry.at => {}
            (What::Excused { until, .. }, _) => self.excused = self.excused.max(*until).max(entry.at),
            (What::Began { process, at, epoch, .. }, watched) => {
                self.working.insert((at.clone(), *process));
                let watched = watched.as_mut().filter(|it| it.granted.contains(&(at.clone(), *epoch)));
                if let Some(watched) = watched {
                    watched.works.insert(at.clone());
                }
            }
            (What::Ended { process, at, .. }, _) => drop(self.working.remove(&(at.clone(), *process))),
            _ => {}
        }
    }
}
