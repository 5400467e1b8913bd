//! Asks the store what is left of the leases that a decision depends on.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use kafka_assigner_core::claim::{Leases, Remaining};
use kafka_assigner_store::Store;
use kafka_assigner_types::kv::LeaseId;
use tokio::time::sleep;

/// Questions under way at a time. Each is about a session that is over, so there are more than a few only where many
/// ended at once; then this many find their answers about as fast as a store gives them.
const AT_A_TIME: usize = 16;

/// The longest time for all answers together: long against a store's answer, short against every claim. A lease that
/// has no answer until then is asked for again for the next decision.
const PATIENCE: Duration = Duration::from_secs(1);

/// The store's answers about `doubtful` now. An answer that does not come in time is left out, which nobody takes for an end.
/// The questions begin at a place that `turn` names, so that where there are more than can be answered each has its turn.
///
/// Cancel safe: nothing is changed.
pub(crate) async fn ask(store: &dyn Store, doubtful: &BTreeMap<LeaseId, Duration>, turn: u64) -> Leases {
    if doubtful.is_empty() {
        return Leases::default();
    }
    let answers: Vec<Option<(LeaseId, Remaining)>> = stream::iter(in_turn(doubtful, turn))
        .map(|lease| async move { Some((lease, remaining(store, lease).await?)) })
        .buffer_unordered(AT_A_TIME)
        .take_until(sleep(PATIENCE))
        .collect()
        .await;
    answers.into_iter().flatten().collect()
}

/// All leases, from some place on and around.
fn in_turn(doubtful: &BTreeMap<LeaseId, Duration>, turn: u64) -> impl Iterator<Item = LeaseId> {
    let count = doubtful.len();
    let first = (turn % count.max(1) as u64) as usize;
    doubtful.keys().copied().cycle().skip(first).take(count)
}

async fn remaining(store: &dyn Store, lease: LeaseId) -> Option<Remaining> {
    match store.time_to_live(lease).await {
        Ok(left) => Some(left.map_or(Remaining::Gone, Remaining::Left)),
        Err(error) => {
            tracing::debug!(%lease, %error, "the store does not say what is left of a lease");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lease_is_asked_about_once_and_first_at_some_turn() {
        let leases: Vec<LeaseId> = (1..=5).map(LeaseId).collect();
        let doubtful: BTreeMap<_, _> = leases.iter().map(|lease| (*lease, Duration::ZERO)).collect();
        for turn in 0..5 {
            let mut order: Vec<_> = in_turn(&doubtful, turn).collect();
            assert_eq!(order[0], leases[turn as usize]);
            order.sort_unstable();
            assert_eq!(order, leases);
        }
        assert_eq!(in_turn(&BTreeMap::new(), 7).count(), 0);
    }
}
