//! The parts of an instance that a coordinator works with.

use std::sync::Arc;

use kafka_assigner_store::election::LeaderLease;
use kafka_assigner_store::{CheckPace, Store};
use tokio_util::sync::CancellationToken;

use crate::clock::Monotonic;
use crate::entropy::Entropy;
use crate::group::ServedGroup;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::peers::Peers;
use crate::pulse::Pulses;
use crate::topics::TopicBoard;

/// The parts of the instance that a coordinator works with.
#[derive(Debug, Clone)]
pub(crate) struct Coordinator {
    /// The store, with the watch that the instance's views share.
    pub(crate) store: Arc<dyn Store>,
    /// The lease of the instance's leader keys.
    pub(crate) lease: LeaderLease,
    /// The interval in which the leader key is read without an event.
    pub(crate) reread_every: CheckPace,
    pub(crate) group: ServedGroup,
    pub(crate) options: Arc<Options>,
    pub(crate) clock: Monotonic,
    pub(crate) entropy: Arc<Entropy>,
    pub(crate) topics: Option<TopicBoard>,
    pub(crate) peers: Peers,
    pub(crate) metrics: Metrics,
    pub(crate) pulses: Pulses,
    pub(crate) stop: CancellationToken,
}
