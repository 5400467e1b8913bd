//! Decides, from what happened, whether everything that must hold did. One file for each invariant, and
//! for each side of I5.

mod i01_single_holder;
mod i02_epochs;
mod i03_no_lost_work;
mod i04_no_gap;
mod i05_no_failure;
mod i05_no_lost_write;
mod i05_order;
mod i05_quiet;
mod i06_liveness;
mod i07_one_writer;
mod i08_ack_identity;
mod i09_routes;
mod i09_truth;
mod i10_minimal;
mod i11_fail_closed;
mod i12_lint;
mod i13_living;
mod i14_same_topic;
mod i15_rest;
mod i16_restored;
mod revoked;
mod served;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::key::{Key, Layout};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::kv::{Change, Revision, Snapshot};

use crate::history::{Entry, What};
use crate::shape::Shape;

/// Something that must not happen, and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which invariant it breaks.
    pub invariant: &'static str,
    /// When, in the world's time.
    pub at: Duration,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:.3} s: {}", self.invariant, self.at.as_secs_f64(), self.what)
    }
}

/// One revision of the store.
#[derive(Debug)]
struct Step<'a> {
    at: Duration,
    revision: Revision,
    before: &'a Arc<GroupState>,
    after: &'a Arc<GroupState>,
    changes: &'a [(Key, &'a Change)],
    /// The instance that wrote it; `None`: a lease that ended, or somebody's hand.
    writer: Option<&'a str>,
}

impl Step<'_> {
    /// The partitions whose assignment changed.
    fn assignments(&self) -> impl Iterator<Item = &TopicPartition> {
        self.changes.iter().filter_map(|(key, _)| if let Key::Assignment(at) = key { Some(at) } else { None })
    }

    /// The partitions where a handoff's record changed.
    fn handoffs(&self) -> impl Iterator<Item = &TopicPartition> {
        self.changes.iter().filter_map(|(key, _)| if let Key::Handoff(at) = key { Some(at) } else { None })
    }

    /// True if the whole group was deleted, or created.
    fn is_of_the_group(&self) -> bool {
        self.before.config_entry().is_some() != self.after.config_entry().is_some()
    }

    /// True if the writer held the leadership in the moment of its write.
    fn leader_wrote(&self) -> bool {
        let leader = self.before.leader().and_then(|entry| entry.last_good());
        self.writer.is_some() && leader.map(|leader| leader.instance.as_str()) == self.writer
    }
}

/// Where violations are put down.
#[derive(Debug, Default)]
struct Findings(Vec<Violation>);

impl Findings {
    fn report(&mut self, invariant: &'static str, at: Duration, what: impl Into<String>) {
        self.0.push(Violation { invariant, at, what: what.into() });
    }
}

/// Something that must hold.
trait Invariant {
    /// Looks at one revision of the store.
    fn step(&mut self, _step: &Step<'_>, _findings: &mut Findings) {}

    /// Takes in that the store was put back, and how the group is now.
    fn went_back(&mut self, _at: Duration, _state: &Arc<GroupState>, _findings: &mut Findings) {}

    /// Looks at one thing that happened.
    fn entry(&mut self, _entry: &Entry, _findings: &mut Findings) {}

    /// Looks back, once everything is over.
    fn finish(&mut self, _end: Duration, _state: &Arc<GroupState>, _findings: &mut Findings) {}
}

/// The violations of a history of such a world, by their times.
pub(crate) fn check(entries: &[Entry], layout: &Layout, shape: &Shape) -> Vec<Violation> {
    let patience = shape.patience();
    let mut invariants: Vec<Box<dyn Invariant>> = vec![
        Box::new(i01_single_holder::SingleHolder::default()),
        Box::new(i02_epochs::Epochs::default()),
        Box::new(i03_no_lost_work::NoLostWork::default()),
        Box::new(i04_no_gap::NoGap::new(patience)),
        Box::new(i05_no_lost_write::NoLostWrite::default()),
        Box::new(i05_quiet::Quiet::default()),
        Box::new(i05_order::Order::new(shape.stash.window)),
        Box::new(i05_no_failure::NoFailure::new(patience, shape.stash)),
        Box::new(i06_liveness::Liveness::default()),
        Box::new(i07_one_writer::OneWriter),
        Box::new(i08_ack_identity::AckIdentity::default()),
        Box::new(i09_truth::Truth::new(entries)),
        Box::new(i09_routes::TrueRoutes::new(entries)),
        Box::new(i10_minimal::Minimal::default()),
        Box::new(i11_fail_closed::FailClosed),
        Box::new(i12_lint::Lint),
        Box::new(i13_living::Living::default()),
        Box::new(i14_same_topic::SameTopic::default()),
        Box::new(i15_rest::Rest::default()),
        Box::new(i16_restored::Restored::new(shape)),
    ];
    let mut findings = Findings::default();
    let mut replay = Replay::new(entries, layout);
    for entry in entries {
        replay.entry(entry, &mut invariants, &mut findings);
    }
    let end = entries.last().map_or(Duration::ZERO, |entry| entry.at);
    for invariant in &mut invariants {
        invariant.finish(end, &replay.state, &mut findings);
    }
    findings.0.sort_by_key(|violation| violation.at);
    findings.0
}

/// Builds the group's states anew from the changes.
struct Replay<'a> {
    layout: &'a Layout,
    /// By the number of times that the store was put back before, and the revision.
    writers: BTreeMap<(u32, Revision), &'a str>,
    history: u32,
    state: Arc<GroupState>,
}

impl<'a> Replay<'a> {
    fn new(entries: &'a [Entry], layout: &'a Layout) -> Self {
        let (mut writers, mut history) = (BTreeMap::new(), 0);
        for entry in entries {
            match &entry.what {
                What::WentBack(_) => history += 1,
                What::Wrote { instance, revision } => {
                    writers.insert((history, *revision), &**instance);
                }
                _ => {}
            }
        }
        Self { layout, writers, history: 0, state: Arc::new(GroupState::new(layout.clone())) }
    }

    fn entry(&mut self, entry: &Entry, invariants: &mut [Box<dyn Invariant>], findings: &mut Findings) {
        if let What::Changed { revision, changes } = &entry.what {
            let before = Arc::clone(&self.state);
            let mut after = GroupState::clone(&before);
            let _touched = after.apply(changes, *revision);
            self.state = Arc::new(after);
            let changes: Vec<(Key, &Change)> =
                changes.iter().filter_map(|c| Some((self.layout.decode(c.key())?, c))).collect();
            let step = Step {
                at: entry.at,
                revision: *revision,
                before: &before,
                after: &self.state,
                changes: &changes,
                writer: self.writers.get(&(self.history, *revision)).copied(),
            };
            invariants.iter_mut().for_each(|invariant| invariant.step(&step, findings));
        }
        if let What::WentBack(to) = &entry.what {
            self.go_back(to);
            let state = &self.state;
            invariants.iter_mut().for_each(|invariant| invariant.went_back(entry.at, state, findings));
        }
        invariants.iter_mut().for_each(|invariant| invariant.entry(entry, findings));
    }

    fn go_back(&mut self, to: &Snapshot) {
        let mut state = GroupState::new(self.layout.clone());
        let _all = state.reset(to);
        self.history += 1;
        self.state = Arc::new(state);
    }
}
