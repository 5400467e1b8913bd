//! The campaign for the leadership of a group, and one term after the other.

use std::sync::Arc;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{LeaderRecord, encode};
use kafka_assigner_core::write::Fence;
use kafka_assigner_store::election::{self, Election, Term};

use super::execute::Executor;
use super::follow::TopicFollower;
use super::lead::lead;
use super::parts::Coordinator;
use crate::metrics;

/// Campaigns and leads until the coordinator is stopped.
pub(crate) async fn run(coordinator: Coordinator) {
    let Coordinator { group, peers, stop, .. } = &coordinator;
    while !stop.is_cancelled() {
        let election = election(&coordinator);
        let head_start = peers.head_start(group.name());
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            term = election.campaign(head_start) => serve(&coordinator, term).await,
            // An instance came or went: campaign again with the new head start.
            () = peers.another_head_start(group.name(), head_start) => {}
        }
        // The key that a dropped campaign has left behind is cleared away here.
        election.close().await;
    }
}

fn election(coordinator: &Coordinator) -> Election {
    let Coordinator { store, group, options, entropy, lease, reread_every, .. } = coordinator;
    let leader = LeaderRecord::new(options.id.clone(), options.address.clone(), options.wall.now());
    let key = group.layout().encode(&Key::Leader);
    let mut election = election::Options::new(key, encode(&leader));
    election.reread_every = reread_every.clone();
    election.backoff.seed = entropy.number();
    Election::new(Arc::clone(store), election, lease.clone())
}

async fn serve(coordinator: &Coordinator, term: Term) {
    let Coordinator { store, group, clock, metrics, stop, .. } = coordinator;
    tracing::info!(group = %group.name(), term = %term.create_revision(), "leadership won");
    let shown = ShownLeadership::begin(coordinator);
    let executor =
        Executor::new(Arc::clone(store), Fence::new(term.guard()).while_holds(group.identity().guard()));
    let ended = term.ended();
    tokio::select! {
        biased;
        // Nothing may be written any more; what is under way is fenced.
        () = ended.cancelled() => {}
        // A clean stop: somebody else is to lead at once.
        () = stop.cancelled() => {}
        () = lead(coordinator, &executor) => {}
        () = TopicFollower::new(coordinator, &executor).run() => {}
        // Looks on; it ends with the view.
        () = metrics::observe(metrics, group, *clock) => {}
    }
    drop(shown);
    term.resign().await;
    tracing::info!(group = %group.name(), "leadership over");
}

/// The leadership as metrics and phases show it; it ends when this is dropped, also by a panic.
#[derive(Debug)]
struct ShownLeadership<'a>(&'a Coordinator);

impl<'a> ShownLeadership<'a> {
    fn begin(coordinator: &'a Coordinator) -> Self {
        coordinator.metrics.leading(coordinator.group.name(), true);
        Self(coordinator)
    }
}

impl Drop for ShownLeadership<'_> {
    fn drop(&mut self) {
        let Coordinator { group, metrics, .. } = self.0;
        group.phases().clear();
        metrics.leading(group.name(), false);
    }
}
