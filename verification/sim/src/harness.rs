//! A router's traffic in a process that can be frozen, bent where a hole is on.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_client::TopicPartition;
use kafka_assigner_router::{Cutover, CutoverError, Forwarder, RouteTarget};

use crate::hole::Hole;
use crate::ice::Ice;
use crate::network::Carrier;

/// The router's own forwarder, of which a frozen process makes no step.
#[derive(Debug)]
pub(crate) struct Harness {
    pub(crate) requests: Arc<Forwarder<Carrier>>,
    pub(crate) ice: Ice,
    pub(crate) hole: Option<Hole>,
}

#[async_trait]
impl Cutover for Harness {
    fn stop(&self, at: &TopicPartition) {
        if self.hole != Some(Hole::RouterNeverStops) {
            self.requests.stop(at);
        }
    }

    async fn drain(&self, at: &TopicPartition) -> Result<(), CutoverError> {
        if self.hole == Some(Hole::RouterAcksUndrained) {
            return Ok(());
        }
        self.ice.run(self.requests.drain(at)).await
    }

    fn switch(&self, at: &TopicPartition, target: &RouteTarget) {
        self.requests.switch(at, target);
    }

    fn remove(&self, at: &TopicPartition) {
        self.requests.remove(at);
    }

    async fn work(&self) {
        self.ice.run(self.requests.work()).await;
    }

    fn is_stuck(&self, bound: Duration) -> bool {
        self.requests.is_stuck(bound)
    }

    async fn finish(&self) {
        self.ice.run(self.requests.finish()).await;
    }
}
