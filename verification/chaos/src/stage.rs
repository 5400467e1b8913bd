//! The parts that all tracks share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kafka_assigner_rig::clock::Moment;
use kafka_assigner_rig::observer::Observing;
use kafka_assigner_rig::report::Narrator;
use kafka_assigner_store::EtcdStore;

use crate::arguments::Settings;
use crate::consumers::Crew;
use crate::fault::Fault;
use crate::network::Network;

/// What all tracks share.
#[derive(Debug)]
pub(crate) struct Stage {
    /// What the run was given.
    pub(crate) settings: Settings,
    /// The voice that tells whoever looks on.
    pub(crate) narrator: Narrator,
    /// All links.
    pub(crate) network: Arc<Network>,
    /// The consumers.
    pub(crate) crew: Crew,
    /// The group, seen over connections that are never disturbed.
    pub(crate) observer: Observing,
    /// The store, over the same connections.
    pub(crate) store: EtcdStore,
    /// What happened so far.
    pub(crate) events: Events,
}

/// What happened so far.
#[derive(Debug, Default)]
pub(crate) struct Events(Mutex<Happened>);

/// What happened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Happened {
    /// How often each fault took place.
    pub(crate) faults: BTreeMap<Fault, usize>,
    /// Sessions whose leases were revoked.
    pub(crate) revoked: Vec<Revoked>,
    /// What went wrong with processes that nobody harmed.
    pub(crate) accidents: Vec<String>,
}

/// Somebody outside ended a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Revoked {
    /// The process whose session it was.
    pub(crate) process: String,
    /// When it was asked for.
    pub(crate) at: Moment,
}

impl Events {
    /// What happened, to be added to; nothing is added while this is held.
    pub(crate) fn add(&self) -> MutexGuard<'_, Happened> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stage {
    /// Tells whoever looks on.
    pub(crate) fn tell(&self, text: &str) {
        self.narrator.tell(text);
    }

    /// A fault took place.
    pub(crate) fn count(&self, fault: Fault) {
        *self.events.add().faults.entry(fault).or_default() += 1;
    }

    /// Something went wrong that should not have.
    pub(crate) fn accident(&self, what: String) {
        self.tell(&what);
        self.events.add().accidents.push(what);
    }
}
