//! Routers, and the request that one of them has.

use std::collections::BTreeMap;

use kafka_assigner_core::route::Route;
use kafka_assigner_types::id::{Epoch, HandoffId, Member, TopicPartition};
use kafka_assigner_types::kv::{LeaseId, Revision};

/// One router's process with one session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Router {
    /// Its name and incarnation.
    pub member: Member,
    /// Its lease.
    pub lease: LeaseId,
    /// True if the process runs.
    pub alive: bool,
    /// True if it never says a word.
    pub is_mute: bool,
    /// True if it stands still: nothing it is told arrives, and it says no word.
    pub is_stuck: bool,
    /// The instance that holds its stream.
    pub instance: usize,
    /// The highest revision that it has seen.
    pub seen: Revision,
    /// Where requests go; without an entry nowhere.
    pub table: BTreeMap<TopicPartition, Route>,
}

/// A request that waits for its acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    /// Of which partition.
    pub at: TopicPartition,
    /// The router that has it, by its number.
    pub router: usize,
    /// To whom it is under way, and under which epoch; `None`: the router holds it back.
    pub sent: Option<(Member, Epoch)>,
}

impl Router {
    /// The handoff for which it holds requests back.
    #[must_use]
    pub fn stashes(&self, at: &TopicPartition) -> Option<HandoffId> {
        match self.table.get(at)? {
            Route::Stash { handoff } => Some(handoff.clone()),
            Route::Open { .. } | Route::Unowned => None,
        }
    }
}
