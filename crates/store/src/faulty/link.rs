//! The link to a store, and its condition.

use std::sync::{Mutex, MutexGuard};

use super::source::{Counts, FaultSource};
use crate::error::Error;
use crate::signal::Signal;

/// The kinds of outage of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outage {
    /// Calls are refused at once, and watches end.
    Refusing,
    /// Requests vanish: calls run into their deadline, and watches fall silent.
    Silent,
    /// Requests arrive and are carried out, answers vanish, and watches fall silent.
    Deaf,
}

/// The condition of the link, to which running watches react.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) outage: Option<Outage>,
    pub(super) held: bool,
    /// Watches from before the last of these deliver nothing more.
    pub(super) silenced: u64,
    pub(super) cuts: u64,
}

/// The link that calls and watches share.
#[derive(Debug)]
pub(super) struct FaultyLink {
    pub(super) condition: Signal<Condition>,
    pub(super) faults: Mutex<FaultSource>,
    pub(super) counts: Mutex<Counts>,
}

impl FaultyLink {
    pub(super) fn faults(&self) -> MutexGuard<'_, FaultSource> {
        self.faults.lock().expect("drawing faults doesn't panic")
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts.lock().expect("counting doesn't panic"));
    }
}

pub(super) fn refused(operation: &'static str) -> Error {
    Error::Unavailable { operation, source: Some("the link is down".into()) }
}

pub(super) fn unknown(operation: &'static str) -> Error {
    Error::Unknown { operation, source: Some("the link lost the request or its answer".into()) }
}
