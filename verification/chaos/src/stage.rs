//! The parts that all tracks share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kafka_assigner_rig::clock::Moment;
use kafka_assigner_rig::observer::Observing;
use kafka_assigner_rig::report::Narrator;
use kafka_assigner_store::EtcdStore;

use crate::arguments::Settings;
use crate::consumers::Crew;
use crate::fault::Fault;
use crate::instances::INSTANCES;
use crate::network::Network;
use crate::witness::Witness;

/// The state that all tracks share.
#[derive(Debug)]
pub(crate) struct Stage {
    /// The settings of the run.
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
    /// The sessions, seen over the same connections.
    pub(crate) witness: Witness,
    /// The instances to which something is done just now, by place.
    pub(crate) troubled: Troubled,
    /// The events so far.
    pub(crate) events: Events,
}

/// The places of the instances to which something is done just now: at each by one track at a time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Troubled(Arc<Mutex<BTreeSet<usize>>>);

/// A place at which nobody else does anything until this is dropped.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// The place.
    pub(crate) place: usize,
    all: Troubled,
}

impl Troubled {
    fn places(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of those at which nothing is done; `None` where there is none.
    pub(crate) fn any(&self, choice: usize) -> Option<Trouble> {
        let free: Vec<usize> = (0..INSTANCES).filter(|place| !self.places().contains(place)).collect();
        self.at(*free.get(choice.checked_rem(free.len())?)?)
    }

    /// That very place; `None` where something is done there.
    pub(crate) fn at(&self, place: usize) -> Option<Trouble> {
        self.places().insert(place).then(|| Trouble { place, all: self.clone() })
    }
}

impl Drop for Trouble {
    fn drop(&mut self) {
        self.all.places().remove(&self.place);
    }
}

/// The events so far.
#[derive(Debug, Default)]
pub(crate) struct Events(Mutex<Happened>);

/// The faults, revocations, absences and accidents that happened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Happened {
    /// The number of times that each fault took place.
    pub(crate) faults: BTreeMap<Fault, usize>,
    /// Sessions whose leases were revoked.
    pub(crate) revoked: Vec<Revoked>,
    /// The times in which processes were frozen or could not be reached, and those in which instances did not reach etcd.
    pub(crate) away: Vec<Away>,
    /// The failures of processes that nobody harmed.
    pub(crate) accidents: Vec<String>,
}

/// Somebody outside ended a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Revoked {
    /// The process whose session it was.
    pub(crate) process: String,
    /// The time at which it was asked for.
    pub(crate) at: Moment,
}

/// A process that did nothing for a while, or was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Away {
    /// The process; of an instance the place, whichever process has it.
    pub(crate) process: String,
    /// Since when.
    pub(crate) from: Moment,
    /// Until when.
    pub(crate) to: Moment,
}

impl Events {
    /// The events, to be added to; nothing is added while this is held.
    pub(crate) fn add(&self) -> MutexGuard<'_, Happened> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stage {
    /// Tells whoever looks on.
    pub(crate) fn tell(&self, text: &str) {
        self.narrator.tell(text);
    }

    /// A process was frozen, or cut off, from that moment until now.
    pub(crate) fn was_away(&self, process: &str, from: Moment) {
        let away = Away { process: process.to_owned(), from, to: Moment::now() };
        self.events.add().away.push(away);
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
