//! Decides, from what happened, whether everything that must hold did. One file for each invariant, and
//! for each side of I5.

mod excuses;
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

use crate::coverage::Counters;
use crate::history::{Entry, What};
use crate::shape::Shape;

/// Something that must not happen, and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The invariant that it breaks.
    pub invariant: &'static str,
    /// The time of it, in the world's time.
    pub at: Duration,
    /// Something that happened.
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

/// Everything that is found to break one invariant, each with its time.
#[derive(Debug, Default)]
struct Findings(Vec<(Duration, String)>);

impl Findings {
    fn report(&mut self, at: Duration, what: impl Into<String>) {
        self.0.push((at, what.into()));
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

    /// The number of things that it could judge, under a name, where a world may give it none.
    fn counted(&self) -> Option<(&'static str, u64)> {
        None
    }

    /// Looks back, once everything is over.
    fn finish(&mut self, _end: Duration, _state: &Arc<GroupState>, _findings: &mut Findings) {}
}

/// A check of an invariant, under the invariant's name. Several checks may share one.
struct Check {
    name: &'static str,
    invariant: Box<dyn Invariant>,
    findings: Findings,
}

impl Check {
    fn new(name: &'static str, invariant: impl Invariant + 'static) -> Self {
        Self { name, invariant: Box::new(invariant), findings: Findings::default() }
    }

    fn look(&mut self, look: impl FnOnce(&mut dyn Invariant, &mut Findings)) {
        look(&mut *self.invariant, &mut self.findings);
    }

    fn violations(self) -> impl Iterator<Item = Violation> {
        let Self { name: invariant, findings, .. } = self;
        findings.0.into_iter().map(move |(at, what)| Violation { invariant, at, what })
    }
}

/// Everything that must hold in such a world.
fn checks(entries: &[Entry], shape: &Shape) -> Vec<Check> {
    let patience = shape.patience();
    vec![
        Check::new("I1", i01_single_holder::SingleHolder::default()),
        Check::new("I2", i02_epochs::Epochs::default()),
        Check::new("I3", i03_no_lost_work::NoLostWork::default()),
        Check::new("I4", i04_no_gap::NoGap::new(patience)),
        Check::new("I5", i05_no_lost_write::NoLostWrite::default()),
        Check::new("I5", i05_quiet::Quiet::default()),
        Check::new("I5", i05_order::Order::new(shape.stash.window)),
        Check::new("I5", i05_no_failure::NoFailure::new(patience, shape.stash)),
        Check::new("I6", i06_liveness::Liveness::default()),
        Check::new("I7", i07_one_writer::OneWriter),
        Check::new("I8", i08_ack_identity::AckIdentity::default()),
        Check::new("I9", i09_truth::Truth::new(entries)),
        Check::new("I9", i09_routes::TrueRoutes::new(entries)),
        Check::new("I10", i10_minimal::Minimal::default()),
        Check::new("I11", i11_fail_closed::FailClosed),
        Check::new("I12", i12_lint::Lint),
        Check::new("I13", i13_living::Living::default()),
        Check::new("I14", i14_same_topic::SameTopic::default()),
        Check::new("I15", i15_rest::Rest::default()),
        Check::new("I16", i16_restored::Restored::new(shape)),
    ]
}

/// The names of all invariants that are checked, in their order.
///
/// ```
/// let names = kafka_assigner_sim::invariants();
/// assert_eq!((names.first(), names.contains(&"I16")), (Some(&"I1"), true));
/// ```
#[must_use]
pub fn invariants() -> Vec<&'static str> {
    let mut names: Vec<&str> = checks(&[], &Shape::draw(0)).iter().map(|check| check.name).collect();
    names.dedup();
    names
}

/// The violations of a history of such a world, by their times, and what was judged in it.
pub(crate) fn check(entries: &[Entry], layout: &Layout, shape: &Shape) -> (Vec<Violation>, Counters) {
    let mut checks = checks(entries, shape);
    let mut replay = Replay::new(entries, layout);
    for entry in entries {
        replay.entry(entry, &mut checks);
    }
    let end = entries.last().map_or(Duration::ZERO, |entry| entry.at);
    for check in &mut checks {
        check.look(|invariant, findings| invariant.finish(end, &replay.state, findings));
    }
    let counted = checks.iter().filter_map(|check| check.invariant.counted());
    let counted = counted.map(|(name, count)| (name.to_owned(), count)).collect();
    let mut violations: Vec<Violation> = checks.into_iter().flat_map(Check::violations).collect();
    violations.sort_by_key(|violation| violation.at);
    (violations, counted)
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

    fn entry(&mut self, entry: &Entry, checks: &mut [Check]) {
        let mut each = |look: &dyn Fn(&mut dyn Invariant, &mut Findings)| {
            checks.iter_mut().for_each(|check| check.look(look));
        };
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
            each(&|invariant, findings| invariant.step(&step, findings));
        }
        if let What::WentBack(to) = &entry.what {
            self.go_back(to);
            let state = &self.state;
            each(&|invariant, findings| invariant.went_back(entry.at, state, findings));
        }
        each(&|invariant, findings| invariant.entry(entry, findings));
    }

    fn go_back(&mut self, to: &Snapshot) {
        let mut state = GroupState::new(self.layout.clone());
        let _all = state.reset(to);
        self.history += 1;
        self.state = Arc::new(state);
    }
}
