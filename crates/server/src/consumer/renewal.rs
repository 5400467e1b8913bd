//! Keeps a minimal client's session alive while its stream lives.

use std::sync::Arc;

use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_store::{Error, Store};
use kafka_assigner_types::claim;
use tokio::time::{Instant, sleep_until};

use super::session::ConsumerSession;

/// The renewals of one session; those of a client that renews itself never come.
pub(super) struct Renewals {
    store: Arc<dyn Store>,
    session: ConsumerSession,
}

impl Renewals {
    pub(super) fn new(store: Arc<dyn Store>, session: ConsumerSession) -> Self {
        Self { store, session }
    }

    /// Renews until the session is over, and returns why. Such a client has no clock of its own, so it is fenced here
    /// when two thirds of its time to live have passed since the sending of the last confirmed renewal.
    ///
    /// A session that the view calls over is not renewed any more, whether or not the client reads its stream.
    pub(super) async fn run(self) -> FenceReason {
        if !self.session.renews {
            return std::future::pending().await;
        }
        let lease = self.session.lease;
        let interval = claim::renewal_interval(lease.ttl);
        // After a failure: five more fit in before the claim is over.
        let retry = interval / 5;
        let mut confirmed = self.session.confirmed;
        let mut due = confirmed + interval;
        loop {
            let renewing = async {
                sleep_until(due).await;
                match self.session.over() {
                    Some(reason) => Err(reason),
                    None => Ok((Instant::now(), self.store.keep_alive(lease.id).await)),
                }
            };
            let renewed = tokio::select! {
                biased;
                // No renewal that is confirmed now counts any more.
                () = sleep_until(confirmed + claim::span(lease.ttl)) => return FenceReason::RenewalLate,
                renewed = renewing => renewed,
            };
            match renewed {
                Err(reason) => return reason,
                Ok((sent, Ok(_))) => (confirmed, due) = (sent, sent + interval),
                Ok((_, Err(Error::LeaseNotFound(_)))) => return FenceReason::Gone,
                Ok((_, Err(error))) => {
                    tracing::debug!(consumer = %self.session.member, %error, "session not renewed yet");
                    due = Instant::now() + retry;
                }
            }
        }
    }
}
