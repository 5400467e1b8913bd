//! The calls of one process to instances.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_client::{CommandStream, Transport};
use kafka_assigner_core::id::{Incarnation, Member, TopicPartition};
use kafka_assigner_core::kv::Revision;
use kafka_assigner_core::name::MemberName;
use kafka_assigner_proto::v1::kafka_assigner_server::KafkaAssigner;
use kafka_assigner_proto::v1::{self, PartitionAck};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;
use tonic::{Request, Response, Status};

use super::relay::Relay;
use super::{Fate, Network, Server};
use crate::history::{What, Word};
use crate::hole::Hole;
use crate::ice::Ice;
use crate::wire::at;

/// A process's way into the network.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    pub(crate) network: Arc<Network>,
    pub(crate) process: u32,
    pub(crate) member: Arc<str>,
    pub(crate) ice: Ice,
}

impl Wire {
    /// One call: there, served in a task of the instance's own, and back. Returns who served it as well.
    pub(super) async fn call<R, F>(
        &self,
        endpoint: &str,
        fate: Fate,
        serve: impl FnOnce(&Server) -> F + Send,
    ) -> Result<(R, Server), Status>
    where
        R: Send + 'static,
        F: Future<Output = Result<Response<R>, Status>> + Send + 'static,
    {
        let calling = async {
            sleep(fate.there).await;
            if fate.loses_request {
                return lost(fate).await;
            }
            let server = self.network.server(endpoint)?;
            let answer = answer(&server, serve(&server)).await;
            sleep(fate.back).await;
            if fate.loses_answer {
                return lost(fate).await;
            }
            Ok((answer?.into_inner(), server))
        };
        self.ice.run(calling).await
    }

    /// An ack, which may arrive once more after it was answered.
    pub(super) async fn deliver<R, F>(
        &self,
        endpoint: &str,
        serve: impl Fn(&Server) -> F + Clone + Send + 'static,
    ) -> Result<R, Status>
    where
        R: Send + 'static,
        F: Future<Output = Result<Response<R>, Status>> + Send + 'static,
    {
        let fate = self.network.throw(&self.member);
        if let Some(after) = fate.again_after {
            let (network, endpoint, serve) = (Arc::clone(&self.network), endpoint.to_owned(), serve.clone());
            tokio::spawn(async move {
                sleep(after).await;
                if let Ok(server) = network.server(&endpoint) {
                    let _nobody_waits = answer(&server, serve(&server)).await;
                }
            });
        }
        Ok(self.call(endpoint, fate, serve).await?.0)
    }

    /// Notes what is said, and lets the ids go where that hole is on.
    fn speak(&self, caller: Option<&v1::Caller>, word: Word, acks: &mut [PartitionAck]) {
        for ack in acks {
            self.say(caller, word, &ack.handoff_id, at(&ack.topic, ack.partition));
            if self.network.hole == Some(Hole::AcksWithoutId) {
                ack.handoff_id.clear();
            }
        }
    }

    fn say(&self, caller: Option<&v1::Caller>, word: Word, handoff: &str, of: TopicPartition) {
        let Some(caller) = caller else { return };
        let by = member(&caller.consumer_name, &caller.incarnation);
        let (process, handoff) = (self.process, handoff.to_owned());
        self.network.history.note(What::Said { process, by, word, handoff, of });
    }
}

async fn answer<R: Send + 'static>(
    server: &Server,
    serving: impl Future<Output = Result<Response<R>, Status>> + Send + 'static,
) -> Result<Response<R>, Status> {
    let serving = AbortOnDropHandle::new(tokio::spawn(serving));
    tokio::select! {
        biased;
        // A dead instance answers nothing.
        () = server.down.cancelled() => Err(Status::unavailable("the connection broke")),
        answer = serving => answer.expect("no instance panics"),
    }
}

/// A connection on which nothing comes back is given up: as by the transport of production, where a ping each 5 s has to be
/// answered within 5 s.
const SILENCE: Duration = Duration::from_secs(10);

async fn lost<R>(fate: Fate) -> Result<R, Status> {
    if !fate.breaks {
        sleep(SILENCE).await;
    }
    Err(Status::unavailable("the connection broke"))
}

pub(super) fn member(name: &str, incarnation: &str) -> Member {
    Member {
        name: MemberName::new(name).expect("the world gives good names"),
        incarnation: Incarnation::new(incarnation).expect("clients make good incarnations"),
    }
}

#[async_trait]
impl Transport for Wire {
    async fn register(
        &self,
        endpoint: &str,
        mut request: v1::RegisterRequest,
    ) -> Result<CommandStream, Status> {
        let who = member(&request.consumer_name, &request.incarnation);
        let seen = Revision(request.seen.as_ref().map_or(0, |seen| seen.revision));
        if self.network.hole == Some(Hole::StaleSnapshot) {
            request.seen = None;
        }
        let fate = self.network.throw(&self.member);
        let serve = move |server: &Server| {
            let face = Arc::clone(&server.consumers);
            async move { face.register(Request::new(request)).await }
        };
        let (commands, server) = self.call(endpoint, fate, serve).await?;
        Ok(Relay::start(&self.network, &server, who, seen, commands))
    }

    async fn heartbeat(
        &self,
        endpoint: &str,
        request: v1::HeartbeatRequest,
    ) -> Result<v1::HeartbeatResponse, Status> {
        let fate = self.network.throw(&self.member);
        let serve = move |server: &Server| {
            let face = Arc::clone(&server.consumers);
            async move { face.heartbeat(Request::new(request)).await }
        };
        Ok(self.call(endpoint, fate, serve).await?.0)
    }

    async fn partition_ready(
        &self,
        endpoint: &str,
        mut request: v1::PartitionReadyRequest,
    ) -> Result<v1::PartitionReadyResponse, Status> {
        self.speak(request.caller.as_ref(), Word::Ready, &mut request.partitions);
        let serve = move |server: &Server| {
            let (face, request) = (Arc::clone(&server.consumers), request.clone());
            async move { face.partition_ready(Request::new(request)).await }
        };
        self.deliver(endpoint, serve).await
    }

    async fn partition_drained(
        &self,
        endpoint: &str,
        mut request: v1::PartitionDrainedRequest,
    ) -> Result<v1::PartitionDrainedResponse, Status> {
        for drained in &mut request.partitions {
            // By the real clock, which no seed repeats, and stored for people.
            drained.handled = None;
            let of = at(&drained.topic, drained.partition);
            self.say(request.caller.as_ref(), Word::Drained, &drained.handoff_id, of);
        }
        let serve = move |server: &Server| {
            let (face, request) = (Arc::clone(&server.consumers), request.clone());
            async move { face.partition_drained(Request::new(request)).await }
        };
        self.deliver(endpoint, serve).await
    }

    async fn partition_caught_up(
        &self,
        endpoint: &str,
        mut request: v1::PartitionCaughtUpRequest,
    ) -> Result<v1::PartitionCaughtUpResponse, Status> {
        self.speak(request.caller.as_ref(), Word::CaughtUp, &mut request.partitions);
        let serve = move |server: &Server| {
            let (face, request) = (Arc::clone(&server.consumers), request.clone());
            async move { face.partition_caught_up(Request::new(request)).await }
        };
        self.deliver(endpoint, serve).await
    }

    async fn partition_taken(
        &self,
        endpoint: &str,
        mut request: v1::PartitionTakenRequest,
    ) -> Result<v1::PartitionTakenResponse, Status> {
        self.speak(request.caller.as_ref(), Word::Taken, &mut request.partitions);
        let serve = move |server: &Server| {
            let (face, request) = (Arc::clone(&server.consumers), request.clone());
            async move { face.partition_taken(Request::new(request)).await }
        };
        self.deliver(endpoint, serve).await
    }

    async fn partition_released(
        &self,
        endpoint: &str,
        mut request: v1::PartitionReleasedRequest,
    ) -> Result<v1::PartitionReleasedResponse, Status> {
        self.speak(request.caller.as_ref(), Word::Released, &mut request.partitions);
        let serve = move |server: &Server| {
            let (face, request) = (Arc::clone(&server.consumers), request.clone());
            async move { face.partition_released(Request::new(request)).await }
        };
        self.deliver(endpoint, serve).await
    }

    async fn warm_failed(
        &self,
        endpoint: &str,
        mut request: v1::WarmFailedRequest,
    ) -> Result<v1::WarmFailedResponse, Status> {
        for failure in &mut request.partitions {
            let of = at(&failure.topic, failure.partition);
            self.say(request.caller.as_ref(), Word::WarmFailed, &failure.handoff_id, of);
            if self.network.hole == Some(Hole::AcksWithoutId) {
                failure.handoff_id.clear();
            }
        }
        let serve = move |server: &Server| {
            let (face, request) = (Arc::clone(&server.consumers), request.clone());
            async move { face.warm_failed(Request::new(request)).await }
        };
        self.deliver(endpoint, serve).await
    }

    async fn deregister(
        &self,
        endpoint: &str,
        request: v1::DeregisterRequest,
    ) -> Result<v1::DeregisterResponse, Status> {
        let fate = self.network.throw(&self.member);
        let serve = move |server: &Server| {
            let face = Arc::clone(&server.consumers);
            async move { face.deregister(Request::new(request)).await }
        };
        Ok(self.call(endpoint, fate, serve).await?.0)
    }
}
