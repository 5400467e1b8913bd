//! I5: what is acknowledged was executed, once, by the owner, on a state that has everything that was executed before.
//!
//! A request is in its partition's log at most once, however often it was tried; a try of which a router said that nothing
//! was executed never is. Whoever executes owns the partition, under the very epoch that the request was meant for, and
//! its state has the whole log. Only where the mode of the grants promises one owner at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::record::Phase;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::id::{Epoch, TopicPartition};

use super::revoked::Revoked;
use super::{Findings, Invariant, Step};
use crate::call::Call;
use crate::desk::Admitted;
use crate::history::{Answer, Entry, What};

#[derive(Debug, Default)]
pub(super) struct NoLostWrite {
    state: Option<Arc<GroupState>>,
    /// The partitions that have not been granted since the store went back: a record names its owner of long ago.
    outdated: BTreeSet<TopicPartition>,
    /// Grants that promise one owner at a time.
    strict: BTreeMap<(TopicPartition, Epoch), bool>,
    revoked: Revoked,
    logs: BTreeMap<TopicPartition, Vec<Line>>,
    /// The requests that are in some log.
    requests: BTreeSet<u64>,
    /// The calls that are.
    calls: BTreeSet<u64>,
    unsent: BTreeSet<u64>,
}

/// One line of a log.
#[derive(Debug, Clone)]
struct Line {
    process: u32,
    consumer: Arc<str>,
    epoch: Epoch,
}

impl NoLostWrite {
    fn executed(&mut self, call: Call, findings: &mut Vec<String>) {
        let Call { request, number } = call;
        if !self.requests.insert(request) {
            findings.push(format!("request {request} was executed again, by call {number}"));
        }
        if self.unsent.contains(&number) {
            findings.push(format!("call {number} was executed after its router said that nothing was"));
        }
        self.calls.insert(number);
    }

    fn answered(&mut self, call: u64, answer: Answer) -> Option<String> {
        let is_executed = self.calls.contains(&call);
        match answer {
            Answer::Done if !is_executed => {
                Some(format!("call {call} is acknowledged and was never executed"))
            }
            Answer::Unsent(why) => {
                self.unsent.insert(call);
                is_executed.then(|| format!("call {call} was executed, and its router says {why:?}"))
            }
            _ => None,
        }
    }

    /// A line is appended that knows the first `knows` lines.
    fn appended(&mut self, entry: &Entry, at: &TopicPartition, line: Line, knows: u64) -> Option<String> {
        let of = |line: &Line| (at.clone(), line.epoch);
        let is_promised = |line: &Line| {
            self.strict.get(&of(line)).copied().unwrap_or_default()
                && !self.revoked.forgives(&line.consumer, entry.at)
        };
        let log = self.logs.entry(at.clone()).or_default();
        let known = usize::try_from(knows).unwrap_or(usize::MAX).min(log.len());
        let missed = log[known..].iter().find(|other| other.process != line.process && is_promised(other));
        let what = missed.filter(|_| is_promised(&line)).map(|other| {
            let (by, who) = (&line.consumer, &other.consumer);
            format!("{by} acts for {at} under {} and lacks what {who} did under {}", line.epoch, other.epoch)
        });
        log.push(line);
        what
    }

    /// Whoever acts is named by the assignment, and has not been drained.
    fn disowned(&self, entry: &Entry, at: &TopicPartition, line: &Line) -> Option<String> {
        let state = self.state.as_ref().filter(|_| !self.outdated.contains(at))?;
        let assignment = state.assignment(at).filter(|a| a.mode.is_strict() && a.switching.is_none())?;
        let owner = assignment.owner.as_ref()?;
        let is_drained = state.handoff_of(at).is_some_and(|handoff| handoff.phase == Phase::CatchingUp);
        let owns = *owner.name.as_str() == *line.consumer && line.epoch <= assignment.held_epoch();
        let is_forgiven = self.revoked.forgives(&line.consumer, entry.at);
        (!is_forgiven && (is_drained || !owns)).then(|| {
            let (by, epoch) = (&line.consumer, line.epoch);
            format!("{by} acts for {at} under {epoch}, which is {}'s, drained: {is_drained}", owner.name)
        })
    }
}

impl Invariant for NoLostWrite {
    fn step(&mut self, step: &Step<'_>, _findings: &mut Findings) {
        self.revoked.step(step);
        for at in step.assignments() {
            self.outdated.remove(at);
            if let Some(assignment) = step.after.assignment(at) {
                let is_strict = assignment.mode.is_strict() && assignment.switching.is_none();
                self.strict.insert((at.clone(), assignment.held_epoch()), is_strict);
            }
        }
        self.state = Some(Arc::clone(step.after));
    }

    fn went_back(&mut self, _at: Duration, state: &Arc<GroupState>, _findings: &mut Findings) {
        self.outdated = state.assignments().keys().cloned().collect();
        self.state = Some(Arc::clone(state));
    }

    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        self.revoked.entry(entry);
        let mut found = Vec::new();
        match &entry.what {
            What::Executed { call, process, consumer, at, admitted, epoch, knows, .. } => {
                let line = Line { process: *process, consumer: Arc::clone(consumer), epoch: *epoch };
                self.executed(*call, &mut found);
                found.extend(self.disowned(entry, at, &line));
                found.extend(self.appended(entry, at, line, *knows));
                if admitted.asked != admitted.under {
                    let Admitted { asked, under } = admitted;
                    found
                        .push(format!("call {} was meant for {asked} and admitted for {under}", call.number));
                }
            }
            What::Answered { call, answer } => found.extend(self.answered(*call, *answer)),
            _ => {}
        }
        found.into_iter().for_each(|what| findings.report(entry.at, what));
    }
}
