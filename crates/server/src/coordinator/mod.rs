//! Campaigns for the leadership of a group, and leads it while it has it.
//!
//! ```text
//!  campaign ──won──► ┌ lead: changes ─► core::leader ─► execute ┐ ──term over──► campaign …
//!                    └ topics: ask Kafka ─► follow              ┘
//! ```
//!
//! What is decided, and when, is `core::leader`'s matter; here it is told what happens and obeyed. It works on a copy
//! of the group, so nobody who reads the view waits for it. Every write carries the term's fence, so a leader that was deposed writes nothing.

mod execute;
mod follow;
mod lead;

use std::sync::Arc;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{LeaderRecord, encode};
use kafka_assigner_core::write::Fence;
use kafka_assigner_store::Store;
use kafka_assigner_store::election::{self, Election, Term};
use tokio_util::sync::CancellationToken;

use crate::clock::Monotonic;
use crate::entropy::Entropy;
use crate::group::ServedGroup;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::peers::Peers;
use crate::pulse::Pulses;
use crate::topics::TopicSource;
use execute::Executor;

/// The parts of the instance that a coordinator works with.
#[derive(Debug, Clone)]
pub(crate) struct Coordinator {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) group: ServedGroup,
    pub(crate) options: Arc<Options>,
    pub(crate) clock: Monotonic,
    pub(crate) entropy: Arc<Entropy>,
    pub(crate) topics: Option<Arc<dyn TopicSource>>,
    pub(crate) peers: Peers,
    pub(crate) metrics: Metrics,
    pub(crate) pulses: Pulses,
    pub(crate) stop: CancellationToken,
}

impl Coordinator {
    /// Campaigns and leads until it is stopped.
    pub(crate) async fn run(self) {
        while !self.stop.is_cancelled() {
            let election = self.election();
            let head_start = self.peers.head_start(self.group.name());
            tokio::select! {
                biased;
                () = self.stop.cancelled() => {}
                term = election.campaign(head_start) => self.serve(term).await,
                // An instance came or went: campaign anew, as it now behoves.
                () = self.peers.another_head_start(self.group.name(), head_start) => {}
            }
            // What a dropped campaign has left behind is cleared away here.
            election.close().await;
        }
    }

    fn election(&self) -> Election {
        let leader =
            LeaderRecord::new(self.options.id.clone(), self.options.address.clone(), self.options.wall.now());
        let key = self.group.layout().encode(&Key::Leader);
        let mut options = election::Options::new(key, encode(&leader));
        options.ttl = self.options.leader_ttl;
        options.backoff.seed = self.entropy.number();
        Election::new(Arc::clone(&self.store), options)
    }

    async fn serve(&self, term: Term) {
        tracing::info!(group = %self.group.name(), term = %term.create_revision(), "leadership won");
        self.metrics.leading(self.group.name(), true);
        let fence = Fence::new(term.guard());
        let executor = Executor::new(Arc::clone(&self.store), fence);
        let ended = term.ended();
        tokio::select! {
            biased;
            // Nothing may be written any more; what is under way is fenced.
            () = ended.cancelled() => {}
            // A clean stop: somebody else is to lead at once.
            () = self.stop.cancelled() => {}
            () = self.lead(&executor) => {}
            () = self.follow_topics(&executor) => {}
            // Looks on; it ends with the view.
            () = self.metrics.observe(&self.group, self.clock) => {}
        }
        self.group.phases().clear();
        term.resign().await;
        self.metrics.leading(self.group.name(), false);
        tracing::info!(group = %self.group.name(), "leadership over");
    }
}
