//! Keeps a minimal client's session alive while its stream lives.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::claim;
use kafka_assigner_core::kv::Lease;
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_store::{Error, Store};
use tokio::time::{Instant, sleep, sleep_until};

use super::stream::Session;

/// The renewals of one session; those of a client that renews itself never come.
pub(super) struct Renewals {
    store: Arc<dyn Store>,
    lease: Option<Lease>,
}

impl Renewals {
    pub(super) fn new(store: Arc<dyn Store>, session: &Session) -> Self {
        Self { store, lease: session.renews.then_some(session.lease) }
    }

    /// Renews until the session is over, and returns why. Such a client has no clock of its own, so it is fenced here
    /// when two thirds of its time to live have passed since the sending of the last confirmed renewal.
    pub(super) async fn run(&mut self) -> FenceReason {
        let Some(lease) = self.lease else { return std::future::pending().await };
        let interval = claim::renewal_interval(lease.ttl);
        let mut confirmed = Instant::now();
        loop {
            sleep(interval.min(Duration::from_secs(60))).await;
            let sent = Instant::now();
            tokio::select! {
                biased;
                outcome = self.store.keep_alive(lease.id) => match outcome {
                    Ok(_) => confirmed = sent,
                    Err(Error::LeaseNotFound(_)) => return FenceReason::Gone,
                    Err(error) => tracing::debug!(%error, "session not renewed"),
                },
                () = sleep_until(confirmed + claim::span(lease.ttl)) => {}
            }
            if Instant::now() >= confirmed + claim::span(lease.ttl) {
                return FenceReason::RenewalLate;
            }
        }
    }
}
