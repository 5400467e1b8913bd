//! The last word of a session that was taken away: it has stopped.
//!
//! Until it is said, others wait for the session's claim, up to its time to live. It is proof, so it is said only once
//! everything that the session held was dropped and no request is left that it admitted. Nothing depends on it: unsaid,
//! or not heard in time, the session runs out.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_proto::v1::{DeregisterMode, DeregisterRequest};
use tokio::time::{sleep, timeout};
use tonic::Status;
use tracing::info;

use super::Driver;
use super::service::Reply;
use crate::handler::PartitionHandler;
use crate::session::is_refusal;
use crate::session_io::bounded;
use crate::transport::Transport;

/// The service is told for this long, and no longer: a process that was superseded ends then.
const BOUND: Duration = Duration::from_secs(3);
/// Lets each of three instances be asked.
const ATTEMPT_BOUND: Duration = Duration::from_secs(1);
const RETRY: Duration = Duration::from_millis(100);

/// The notice that is owed to the service for a session that is over.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StoppedNotice {
    /// Nothing.
    Settled,
    /// Something of this incarnation may still act.
    Owed { incarnation: String },
    /// It is being said.
    UnderWay { incarnation: String },
}

impl<T: Transport, H: PartitionHandler> Driver<T, H> {
    /// Says it as soon as it is true.
    pub(super) fn advance_farewell(&mut self) {
        if self.roles.has_lost() || self.has_requests() {
            return;
        }
        if let StoppedNotice::Owed { incarnation } = &mut self.farewell {
            let incarnation = std::mem::take(incarnation);
            self.farewell = StoppedNotice::UnderWay { incarnation: incarnation.clone() };
            self.say_stopped(incarnation);
        }
    }

    fn say_stopped(&mut self, incarnation: String) {
        info!(group = &*self.group, incarnation, "nothing of the session that was lost acts any more");
        let (caller, mode) = (self.caller(incarnation.clone()), DeregisterMode::Now.into());
        let request = DeregisterRequest { caller: Some(caller), mode };
        let current = self.session.endpoint().to_owned();
        let others = self.consumer.options.endpoints.iter().filter(|other| **other != current).cloned();
        let instances: Vec<String> = std::iter::once(current.clone()).chain(others).collect();
        let saying = say(self.consumer.transport.clone(), instances, request);
        self.replies.spawn(async move {
            // Without a definite answer nobody knows more than before.
            let _ = timeout(BOUND, saying).await;
            Reply::StoppedNotice { incarnation }
        });
    }

    pub(super) fn farewell_said(&mut self, incarnation: String) {
        // Another session may have been lost meanwhile.
        if self.farewell == (StoppedNotice::UnderWay { incarnation }) {
            self.farewell = StoppedNotice::Settled;
        }
    }
}

/// Asks one instance after the other until there is a definite answer.
async fn say<T: Transport>(transport: Arc<T>, instances: Vec<String>, request: DeregisterRequest) {
    for instance in instances.iter().cycle() {
        let told = bounded(ATTEMPT_BOUND, transport.deregister(instance, request.clone())).await;
        // Not found: nobody waits for it. Whatever else is final would be said again.
        if told.map_or_else(|status: Status| is_refusal(status.code()), |_| true) {
            return;
        }
        sleep(RETRY).await;
    }
}
