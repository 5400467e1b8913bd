//! The store at one revision, with everything that is derived from it worked out once.

use std::sync::OnceLock;
use std::time::Duration;

use kafka_assigner_core::action::Action;
use kafka_assigner_core::advance::{Now, advance};
use kafka_assigner_core::claim::Leases;
use kafka_assigner_core::id::{HandoffIds, TopicPartition};
use kafka_assigner_core::key::{DEFAULT_PREFIX, Key, Layout};
use kafka_assigner_core::kv::{Change, Op, Revision, Txn};
use kafka_assigner_core::lab::Shelf;
use kafka_assigner_core::memory::Memory;
use kafka_assigner_core::moment::{Moment, WallMillis};
use kafka_assigner_core::plan::{WhatIf, plan};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_strategies::Registry;

/// When plans are made: after every backoff of somebody who failed, the failures being bounded anyway.
const PLANNING: Moment = Moment(Duration::from_secs(601));

/// When every deadline is over.
const OVERDUE: Moment = Moment(Duration::from_secs(1_000_000));

/// The store as it was at one revision.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The records.
    pub shelf: Shelf,
    /// What they mean.
    pub state: GroupState,
    /// What a leader remembers that sees them for the first time.
    pub memory: Memory,
    /// What the store said of leases; in `overlap` nobody asks.
    pub leases: Leases,
    /// How many handoffs have begun so far: new ids are dealt from here.
    pub begun: u64,
    decided: [OnceLock<Vec<Action>>; 2],
}

impl PartialEq for Scene {
    fn eq(&self, other: &Self) -> bool {
        self.shelf == other.shelf
    }
}

impl Default for Scene {
    fn default() -> Self {
        let layout = Layout::new(DEFAULT_PREFIX, "g".parse().expect("a valid name"));
        Self {
            shelf: Shelf::default(),
            state: GroupState::new(layout),
            memory: Memory::default(),
            leases: Leases::default(),
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

    fn with(&self, shelf: Shelf, changes: &[Change]) -> Self {
        let mut state = self.state.clone();
        // Revision zero: see the crate's documentation.
        state.apply(changes, Revision(0));
        let begun = changes.iter().filter(|change| self.is_beginning(change)).count();
        Self {
            memory: recall(&state),
            leases: Leases::default(),
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

    /// The scene as somebody takes it who does not see some of its records.
    #[must_use]
    pub fn without(&self, is_hidden: impl Fn(&Key) -> bool) -> Self {
        let mut snapshot = self.shelf.snapshot();
        let layout = self.state.layout();
        snapshot.records.retain(|record| layout.decode(&record.key).is_none_or(|key| !is_hidden(&key)));
        snapshot.revision = Revision(0);
        let mut state = GroupState::new(layout.clone());
        state.reset(&snapshot);
        let memory = recall(&state);
        let leases = self.leases.clone();
        Self {
            shelf: self.shelf.clone(),
            state,
            memory,
            leases,
            begun: self.begun,
            decided: Default::default(),
        }
    }

    /// What a leader decides on it: the steps of the handoffs, and the plan.
    #[must_use]
    pub fn decided(&self, instance: usize) -> &[Action] {
        self.decided[instance].get_or_init(|| {
            let mut actions: Vec<Action> =
                self.state.handoffs().keys().filter_map(|at| self.step_at(at, Moment::default())).collect();
            actions.extend(self.planned(instance));
            actions
        })
    }

    /// What the plan asks for.
    #[must_use]
    pub fn planned(&self, instance: usize) -> Vec<Action> {
        let mut ids = HandoffIds::new(self.begun * 2 + instance as u64);
        plan(&self.state, self.now(PLANNING), &mut ids, &WhatIf::default())
            .map_or_else(|_| Vec::new(), |plan| plan.actions)
    }

    /// What follows at `at` once its deadline is over.
    #[must_use]
    pub fn overdue(&self, at: &TopicPartition) -> Option<Action> {
        self.step_at(at, OVERDUE)
    }

    fn step_at(&self, at: &TopicPartition, moment: Moment) -> Option<Action> {
        advance(&self.state, at, self.now(moment))
    }

    const fn now(&self, moment: Moment) -> Now<'_> {
        Now {
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

fn recall(state: &GroupState) -> Memory {
    let mut memory = Memory::default();
    memory.recall(state, Moment::default());
    memory
}
