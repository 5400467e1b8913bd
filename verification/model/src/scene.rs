//! The store at one revision, with everything that is derived from it worked out once.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::Duration;

use kafka_assigner_core::action::Action;
use kafka_assigner_core::advance::{advance, advance_by};
use kafka_assigner_core::claim::{Leases, Remaining, doubtful};
use kafka_assigner_core::key::{DEFAULT_PREFIX, Key, Layout};
use kafka_assigner_core::leader::{Leader, LeaderContext, Memory, Pass, StepInputs};
use kafka_assigner_core::reason::CancelReason;
use kafka_assigner_core::record::{Handoff, HandoffRecord, Phase, encode};
use kafka_assigner_core::rules::{OVERLAP, Rule, of_mode};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_core::test_group::MapStore;
use kafka_assigner_strategies::Registry;
use kafka_assigner_types::id::{HandoffId, TopicPartition};
use kafka_assigner_types::kv::{Change, LeaseId, Op, Revision, Txn};
use kafka_assigner_types::moment::{Moment, WallMillis};

/// Since when a lease is gone, or a grant is as it is, that is not waited out when a leader decides.
const JUST_NOW: Moment = Moment(Duration::from_secs(2_000_000));

/// Since when a grant is as it is, when a leader decides, for longer than a claim lasts and less than an outage grace does.
const WITHIN_A_GRACE: Moment = Moment(Duration::from_secs(500));

/// Since when handoffs are in their phases: the leader decides before any deadline of theirs.
const BEGUN: Moment = Moment(Duration::from_secs(600));

/// When a leader decides: after every backoff of somebody who failed, the failures being bounded anyway, and after
/// every wait that began at zero.
const DECIDING: Moment = Moment(Duration::from_secs(601));

/// When every deadline is over.
const OVERDUE: Moment = Moment(Duration::from_secs(1_000_000));

/// For how long a leader has seen the grants as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quiet {
    /// Not long enough for anything.
    No,
    /// Longer than a claim lasts.
    Claims,
    /// Longer than an outage grace lasts.
    Graces,
}

/// The store as it was at one revision.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The records.
    pub shelf: MapStore,
    /// What they mean.
    pub state: GroupState,
    /// What a leader remembers that sees them for the first time.
    pub memory: Memory,
    /// What the store said of the leases in doubt; in `overlap` nobody asks.
    pub leases: Leases,
    /// The store's answers about the leases of suspects, whose sessions are here: nothing is granted on them.
    pub rests: Leases,
    /// The leases that are gone for longer than a claim lasts.
    pub waited_out: BTreeSet<LeaseId>,
    /// For how long a leader has seen the grants as they are.
    pub quiet: Quiet,
    /// How many freezes in a row the leader remembers that a router kept from ending.
    pub missed: u8,
    /// How many handoffs and switches of the mode have begun so far: new ids are dealt from here, as a real leader's are
    /// random.
    pub begun: u64,
    decided: [OnceLock<Pass>; 2],
}

impl PartialEq for Scene {
    fn eq(&self, other: &Self) -> bool {
        self.shelf == other.shelf
            && self.leases == other.leases
            && self.rests == other.rests
            && self.waited_out == other.waited_out
            && self.quiet == other.quiet
            && self.missed == other.missed
    }
}

impl Default for Scene {
    fn default() -> Self {
        let layout = Layout::new(DEFAULT_PREFIX, "g".parse().expect("a valid name"));
        Self {
            shelf: MapStore::default(),
            state: GroupState::new(layout),
            memory: Memory::default(),
            leases: Leases::default(),
            rests: Leases::default(),
            waited_out: BTreeSet::new(),
            quiet: Quiet::No,
            missed: 0,
            begun: 0,
            decided: Default::default(),
        }
    }
}

impl Scene {
    /// The scene after a transaction; `None` where a guard does not hold, or where nothing changes.
    #[must_use]
    pub fn after(&self, txn: &Txn) -> Option<Self> {
        let mut shelf = self.shelf.clone();
        let changes = shelf.txn(txn)?;
        (!changes.is_empty()).then(|| self.with(shelf, &changes))
    }

    /// The scene after operations without a guard.
    #[must_use]
    pub fn written(&self, ops: Vec<Op>) -> Self {
        self.after(&Txn::guarded(Vec::new(), ops))
            .expect("without a guard it applies, and it writes something")
    }

    fn with(&self, shelf: MapStore, changes: &[Change]) -> Self {
        let mut state = self.state.clone();
        // Revision zero: see the crate's documentation.
        state.apply(changes, Revision(0));
        let deals_id = |change: &&Change| self.is_beginning(change) || self.is_switching(change, &state);
        let begun = changes.iter().filter(deals_id).count();
        Self {
            memory: recall(&state, Quiet::No),
            leases: Leases::default(),
            rests: Leases::default(),
            waited_out: BTreeSet::new(),
            quiet: Quiet::No,
            missed: 0,
            shelf,
            state,
            begun: self.begun + begun as u64,
            decided: Default::default(),
        }
    }

    fn is_beginning(&self, change: &Change) -> bool {
        matches!(self.state.layout().decode(change.key()), Some(Key::Handoff(_)))
            && matches!(change, Change::Put(record) if record.create_revision == record.mod_revision)
    }

    /// True if the change lets an owner go on in another mode, which it confirms under an id of its own.
    fn is_switching(&self, change: &Change, after: &GroupState) -> bool {
        let Some(Key::Assignment(at)) = self.state.layout().decode(change.key()) else { return false };
        let id = |state: &GroupState| state.assignment(&at).and_then(|grant| grant.switching.clone());
        id(after).is_some() && id(after) != id(&self.state)
    }

    /// The scene as somebody takes it who does not see some of its records.
    #[must_use]
    pub fn without(&self, is_hidden: impl Fn(&Key) -> bool) -> Self {
        let mut snapshot = self.shelf.snapshot();
        let layout = self.state.layout();
        snapshot.records.retain(|record| layout.decode(&record.key).is_none_or(|key| !is_hidden(&key)));
        snapshot.revision = Revision(0);
        let mut state = GroupState::new(layout.clone());
        state.reset(&snapshot);
        let bare = Self { state, ..self.clone() };
        bare.answered(self.leases.clone(), self.waited_out.clone(), self.quiet)
    }

    /// The scene with what the store said of the leases in doubt; of those that are gone, `waited_out` are so for
    /// longer than a claim lasts. The grants have been as they are for as long as `quiet` says.
    #[must_use]
    pub fn answered(&self, leases: Leases, waited_out: BTreeSet<LeaseId>, quiet: Quiet) -> Self {
        let mut memory = recall(&self.state, quiet);
        for lease in leases.gone().collect::<Vec<_>>() {
            let since = if waited_out.contains(&lease) { Moment::default() } else { JUST_NOW };
            memory.see_leases(&[(lease, Remaining::Gone)].into_iter().collect(), since);
        }
        Self { memory, leases, waited_out, quiet, missed: 0, decided: Default::default(), ..self.clone() }
    }

    /// The scene with what the store said of the leases of suspects.
    #[must_use]
    pub fn rested(&self, rests: Leases) -> Self {
        Self { rests, decided: Default::default(), ..self.clone() }
    }

    /// The scene as a leader sees it who has seen a freeze stand, and be called off, so many times.
    #[must_use]
    pub fn remembering(&self, (froze, cancelled): (&Self, &Self), times: u8) -> Self {
        let mut memory = self.memory.clone();
        for time in 0..u64::from(times) {
            let at = |part| Moment(Duration::from_secs(10 * time + part));
            for (scene, part) in [(froze, 1), (cancelled, 2)] {
                for of in froze.state.handoffs().keys() {
                    let _ended = memory.see_phase(&scene.state, of, at(part));
                }
            }
        }
        // What stands here stands since it began.
        for of in froze.state.handoffs().keys().chain(self.state.handoffs().keys()) {
            let _former = memory.see_phase(&self.state, of, BEGUN);
        }
        Self { memory, missed: times, decided: Default::default(), ..self.clone() }
    }

    /// The partitions whose handoff freezes.
    pub fn freezes(&self) -> impl Iterator<Item = &TopicPartition> {
        let is_freezing = |at: &&TopicPartition| {
            self.state.handoff(at).is_some_and(|handoff| handoff.phase == Phase::Freezing)
        };
        self.state.handoffs().keys().filter(is_freezing)
    }

    /// The leases of suspects that a leader asks about.
    #[must_use]
    pub fn suspects_to_ask(&self) -> BTreeSet<LeaseId> {
        self.memory.suspects_to_ask(&self.state, DECIDING).into_keys().collect()
    }

    /// The steps that would follow at the handoffs without the rows `names`.
    #[must_use]
    pub fn without_rows(&self, names: &[&str]) -> Vec<Action> {
        let step = |at: &TopicPartition| {
            let rules: Vec<Rule> = of_mode(self.state.handoff(at)?.mode).to_vec();
            let rules: Vec<Rule> = rules.into_iter().filter(|row| !names.contains(&row.name)).collect();
            advance_by(&rules, &self.state, at, self.context(DECIDING))
        };
        self.state.handoffs().keys().filter_map(step).collect()
    }

    /// What a leader decides on it that looks at everything: the steps of the handoffs, and the plan.
    pub fn decided(&self, instance: usize) -> impl Iterator<Item = &Action> {
        self.pass(instance).actions()
    }

    /// What the plan asks for.
    pub fn planned(&self, instance: usize) -> impl Iterator<Item = &Action> {
        self.pass(instance).plan.iter().flatten().flat_map(|plan| &plan.actions)
    }

    fn pass(&self, instance: usize) -> &Pass {
        self.decided[instance].get_or_init(|| {
            let inputs = StepInputs {
                moment: DECIDING,
                wall: WallMillis(0),
                nonce: self.begun * 2 + instance as u64,
                strategies: Registry::builtin(),
            };
            let mut memory = self.memory.clone();
            let suspects = self.suspects_to_ask();
            let rest = |lease: &LeaseId| Some((*lease, self.rests.remaining(*lease)?));
            let rests: Vec<(LeaseId, Remaining)> = suspects.iter().filter_map(rest).collect();
            memory.note_asked_early(rests.iter().map(|(lease, _)| *lease));
            let doubtful = doubtful(&self.state, self.state.assignments().keys());
            let known = doubtful.keys().filter_map(|lease| Some((*lease, self.leases.remaining(*lease)?)));
            let said: Leases = known.chain(rests).collect();
            Leader::with(memory, DECIDING).step(&self.state, Some(&said), inputs)
        })
    }

    /// What follows at `at` before its deadline.
    #[must_use]
    pub fn step(&self, at: &TopicPartition) -> Option<Action> {
        self.step_at(at, DECIDING)
    }

    /// What follows at `at` once its deadline is over.
    #[must_use]
    pub fn overdue(&self, at: &TopicPartition) -> Option<Action> {
        self.step_at(at, OVERDUE)
    }

    /// What would follow for all handoffs if they were in three phases only.
    #[must_use]
    pub fn in_three_phases(&self) -> Vec<Action> {
        let step = |at| advance_by(OVERLAP, &self.state, at, self.context(DECIDING));
        self.state.handoffs().keys().filter_map(step).collect()
    }

    /// The same by a leader that has called an earlier move of it off, since its owner did not stop in time.
    #[must_use]
    pub fn overdue_again(&self, at: &TopicPartition) -> Option<Action> {
        let handoff = self.state.handoff(at)?;
        let why = CancelReason::Deadline { phase: Phase::Draining, after_ms: 0, missing: Vec::new() };
        let (id, cancelled) = (HandoffId::new("earlier"), Some(why));
        let earlier = Handoff { id, cancelled, ..handoff.in_phase(Phase::Cancelled) };
        let key = self.state.layout().encode(&Key::Handoff(at.clone()));
        let called_off = self.written(vec![Op::put(key, encode(&HandoffRecord::Lead(Box::new(earlier))))]);
        let mut memory = self.memory.clone();
        for state in [&called_off.state, &self.state] {
            let _ended = memory.see_phase(state, at, BEGUN);
        }
        advance(&self.state, at, LeaderContext { memory: &memory, ..self.context(OVERDUE) })
    }

    /// The partitions whose handoff waits until its old owner, which was fenced, has stopped.
    pub fn fenced(&self) -> impl Iterator<Item = &TopicPartition> {
        let waits = |at: &&TopicPartition| {
            self.state.handoff(at).is_some_and(|h| h.is_fenced && h.phase == Phase::Draining)
        };
        self.state.handoffs().keys().filter(waits)
    }

    fn step_at(&self, at: &TopicPartition, moment: Moment) -> Option<Action> {
        advance(&self.state, at, self.context(moment))
    }

    const fn context(&self, moment: Moment) -> LeaderContext<'_> {
        LeaderContext {
            memory: &self.memory,
            leases: &self.leases,
            moment,
            wall: WallMillis(0),
            strategies: Registry::builtin(),
        }
    }

    /// The revision of the store.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.shelf.revision()
    }
}

fn recall(state: &GroupState, quiet: Quiet) -> Memory {
    let mut memory = Memory::default();
    let since = match quiet {
        Quiet::No => Some(JUST_NOW),
        Quiet::Claims => Some(WITHIN_A_GRACE),
        Quiet::Graces => None,
    };
    if let Some(since) = since {
        state.assignments().keys().for_each(|at| memory.see_grant(state, at, since));
    }
    for at in state.handoffs().keys() {
        memory.see_phase(state, at, BEGUN);
    }
    memory.recall(state, Moment::default());
    memory
}
