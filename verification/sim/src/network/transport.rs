//! The calls of one process to instances.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use kafka_assigner_proto::v1::kafka_assigner_server::KafkaAssigner;
use kafka_assigner_proto::v1::{self, PartitionAck};
use kafka_assigner_server::grpc::Consumers;
use kafka_assigner_session::{Acks, CommandStream, Transport};
use kafka_assigner_types::id::{Incarnation, Member, TopicPartition};
use kafka_assigner_types::name::MemberName;
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
            if fate.loses_request || self.network.is_way_cut(&self.member, endpoint) {
                return lost(fate).await;
            }
            let server = self.network.server(endpoint)?;
            let answer = answer(&server, serve(&server)).await;
            sleep(fate.back).await;
            if fate.loses_answer || self.network.is_way_cut(&self.member, endpoint) {
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

    /// Notes the acks of one call, and lets the ids go where that hole is on.
    fn speak(&self, caller: &v1::Caller, acks: &mut Acks) {
        match acks {
            Acks::Ready(items) => self.speak_of(caller, Word::Ready, items),
            Acks::Rested(items) => self.speak_of(caller, Word::Rested, items),
            Acks::CaughtUp(items) => self.speak_of(caller, Word::CaughtUp, items),
            Acks::Taken(items) => self.speak_of(caller, Word::Taken, items),
            Acks::Released(items) => self.speak_of(caller, Word::Released, items),
            Acks::Drained(items) => {
                for drained in items {
                    // By the real clock, which no seed repeats, and stored for people.
                    drained.handled = None;
                    self.say(
                        caller,
                        Word::Drained,
                        &drained.handoff_id,
                        at(&drained.topic, drained.partition),
                    );
                }
            }
            Acks::WarmFailed(items) => {
                for failure in items {
                    self.say(
                        caller,
                        Word::WarmFailed,
                        &failure.handoff_id,
                        at(&failure.topic, failure.partition),
                    );
                    self.forget_id(&mut failure.handoff_id);
                }
            }
        }
    }

    fn speak_of(&self, caller: &v1::Caller, word: Word, acks: &mut [PartitionAck]) {
        for ack in acks {
            self.say(caller, word, &ack.handoff_id, at(&ack.topic, ack.partition));
            self.forget_id(&mut ack.handoff_id);
        }
    }

    fn forget_id(&self, handoff: &mut String) {
        if self.network.hole == Some(Hole::AcksWithoutId) {
            handoff.clear();
        }
    }

    fn say(&self, caller: &v1::Caller, word: Word, handoff: &str, of: TopicPartition) {
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
pub(crate) const SILENCE: Duration = Duration::from_secs(10);

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
    async fn register(&self, endpoint: &str, request: v1::RegisterRequest) -> Result<CommandStream, Status> {
        let who = member(&request.consumer_name, &request.incarnation);
        let seen = request.seen.clone().unwrap_or_default();
        let fate = self.network.throw(&self.member);
        let serve = move |server: &Server| {
            let face = Arc::clone(&server.consumers);
            async move { face.register(Request::new(request)).await }
        };
        let (commands, server) = self.call(endpoint, fate, serve).await?;
        Ok(Relay::start(&self.network, (endpoint, &server), who, seen, commands))
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
        let (response, _) = self.call(endpoint, fate, serve).await?;
        self.network.hole.map_or(Ok(response.clone()), |hole| hole.answer(response))
    }

    async fn acknowledge(
        &self,
        endpoint: &str,
        caller: v1::Caller,
        mut acks: Acks,
    ) -> Result<Vec<v1::AckResult>, Status> {
        self.speak(&caller, &mut acks);
        let serve = move |server: &Server| {
            let face = Arc::clone(&server.consumers);
            acknowledge(face, caller.clone(), acks.clone())
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

/// Makes the call of the wire that carries `acks`.
async fn acknowledge(
    face: Arc<Consumers>,
    caller: v1::Caller,
    acks: Acks,
) -> Result<Response<Vec<v1::AckResult>>, Status> {
    let caller = Some(caller);
    let results = match acks {
        Acks::Ready(partitions) => {
            let request = Request::new(v1::PartitionReadyRequest { caller, partitions });
            face.partition_ready(request).await?.into_inner().results
        }
        Acks::WarmFailed(partitions) => {
            let request = Request::new(v1::WarmFailedRequest { caller, partitions });
            face.warm_failed(request).await?.into_inner().results
        }
        Acks::Rested(partitions) => {
            let request = Request::new(v1::PartitionRestedRequest { caller, partitions });
            face.partition_rested(request).await?.into_inner().results
        }
        Acks::Drained(partitions) => {
            let request = Request::new(v1::PartitionDrainedRequest { caller, partitions });
            face.partition_drained(request).await?.into_inner().results
        }
        Acks::CaughtUp(partitions) => {
            let request = Request::new(v1::PartitionCaughtUpRequest { caller, partitions });
            face.partition_caught_up(request).await?.into_inner().results
        }
        Acks::Taken(partitions) => {
            let request = Request::new(v1::PartitionTakenRequest { caller, partitions });
            face.partition_taken(request).await?.into_inner().results
        }
        Acks::Released(partitions) => {
            let request = Request::new(v1::PartitionReleasedRequest { caller, partitions });
            face.partition_released(request).await?.into_inner().results
        }
    };
    Ok(Response::new(results))
}
