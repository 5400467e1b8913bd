//! The transport over a real connection: everything must arrive as it does within the process.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_client::{Consumer, ConsumerOptions, GrpcTransport, OnStop, Stopped, Transport};
use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::kafka_assigner_server::{KafkaAssigner, KafkaAssignerServer};
use kafka_assigner_session::{Acks, CommandStream};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::{Request, Response, Status};

use crate::fake::{Asked, Fake};
use crate::recorder::Recorder;

const PATIENCE: Duration = Duration::from_secs(30);

/// Answers over gRPC what the scripted service answers.
pub(crate) struct Served(pub(crate) Fake);

impl Served {
    async fn acknowledge(
        &self,
        caller: Option<v1::Caller>,
        acks: Acks,
    ) -> Result<Vec<v1::AckResult>, Status> {
        Transport::acknowledge(&self.0, "served", caller.unwrap_or_default(), acks).await
    }
}

#[tonic::async_trait]
impl KafkaAssigner for Served {
    type RegisterStream = CommandStream;

    async fn register(
        &self,
        request: Request<v1::RegisterRequest>,
    ) -> Result<Response<CommandStream>, Status> {
        Transport::register(&self.0, "served", request.into_inner()).await.map(Response::new)
    }

    async fn heartbeat(
        &self,
        request: Request<v1::HeartbeatRequest>,
    ) -> Result<Response<v1::HeartbeatResponse>, Status> {
        Transport::heartbeat(&self.0, "served", request.into_inner()).await.map(Response::new)
    }

    async fn partition_ready(
        &self,
        request: Request<v1::PartitionReadyRequest>,
    ) -> Result<Response<v1::PartitionReadyResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, Acks::Ready(request.partitions)).await?;
        Ok(Response::new(v1::PartitionReadyResponse { results }))
    }

    async fn partition_taken(
        &self,
        request: Request<v1::PartitionTakenRequest>,
    ) -> Result<Response<v1::PartitionTakenResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, Acks::Taken(request.partitions)).await?;
        Ok(Response::new(v1::PartitionTakenResponse { results }))
    }

    async fn partition_rested(
        &self,
        request: Request<v1::PartitionRestedRequest>,
    ) -> Result<Response<v1::PartitionRestedResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, Acks::Rested(request.partitions)).await?;
        Ok(Response::new(v1::PartitionRestedResponse { results }))
    }

    async fn partition_drained(
        &self,
        request: Request<v1::PartitionDrainedRequest>,
    ) -> Result<Response<v1::PartitionDrainedResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, Acks::Drained(request.partitions)).await?;
        Ok(Response::new(v1::PartitionDrainedResponse { results }))
    }

    async fn partition_caught_up(
        &self,
        request: Request<v1::PartitionCaughtUpRequest>,
    ) -> Result<Response<v1::PartitionCaughtUpResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, Acks::CaughtUp(request.partitions)).await?;
        Ok(Response::new(v1::PartitionCaughtUpResponse { results }))
    }

    async fn partition_released(
        &self,
        request: Request<v1::PartitionReleasedRequest>,
    ) -> Result<Response<v1::PartitionReleasedResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, Acks::Released(request.partitions)).await?;
        Ok(Response::new(v1::PartitionReleasedResponse { results }))
    }

    async fn warm_failed(
        &self,
        request: Request<v1::WarmFailedRequest>,
    ) -> Result<Response<v1::WarmFailedResponse>, Status> {
        let request = request.into_inner();
        let results = self.acknowledge(request.caller, Acks::WarmFailed(request.partitions)).await?;
        Ok(Response::new(v1::WarmFailedResponse { results }))
    }

    async fn deregister(
        &self,
        request: Request<v1::DeregisterRequest>,
    ) -> Result<Response<v1::DeregisterResponse>, Status> {
        Transport::deregister(&self.0, "served", request.into_inner()).await.map(Response::new)
    }
}

/// A server that ends with the guard; returns its address.
async fn serve(fake: Fake) -> (String, DropGuard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    let stop = CancellationToken::new();
    let server = tonic::transport::Server::builder()
        .add_service(KafkaAssignerServer::new(Served(fake)))
        .serve_with_incoming(TcpListenerStream::new(listener));
    tokio::spawn(stop.clone().run_until_cancelled_owned(server));
    (address, stop.drop_guard())
}

/// An address where nobody listens.
async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    format!("http://{}", listener.local_addr().expect("bound"))
}

#[tokio::test]
async fn a_consumer_passes_over_a_dead_endpoint_and_takes_a_partition_over_by_grpc() {
    let fake = Fake::new();
    let (address, _server) = serve(fake.clone()).await;
    let options = ConsumerOptions {
        seed: Some(0),
        on_stop: OnStop::Restart,
        ..ConsumerOptions::new("a", [nobody().await, address])
    };
    let consumer = Consumer::new(options).expect("valid options");
    let (mut handle, shutdown) = (consumer.handle(), CancellationToken::new());
    let end = tokio::spawn(consumer.run(Recorder::default(), shutdown.clone()));
    let opened = handle.wait_for(|status| status.session.is_some());
    timeout(PATIENCE, opened).await.expect("in time").expect("it runs");
    let warm =
        v1::WarmPartition { topic: "t".into(), handoff_id: "h".into(), ..v1::WarmPartition::default() };
    fake.push(Command::Warm(v1::Warm { partitions: vec![warm] }));
    let ready = fake.wait_for(|asked| *asked == Asked::Ready("h".into()));
    timeout(PATIENCE, ready).await.expect("in time");
    shutdown.cancel();
    assert_eq!(timeout(PATIENCE, end).await.expect("in time").expect("no panic"), Ok(Stopped::Left));
}

#[tokio::test]
async fn an_instance_is_reached_over_its_route() {
    let (address, _server) = serve(Fake::new()).await;
    let known_as = "http://instance.invalid:7420";
    let transport = GrpcTransport::new().with_routes(BTreeMap::from([(known_as.to_owned(), address)]));
    let asked = transport.heartbeat(known_as, v1::HeartbeatRequest::default());
    timeout(PATIENCE, asked).await.expect("in time").expect("an answer");
}

#[test]
fn https_without_tls_is_refused_at_once() {
    let options = ConsumerOptions::new("a", ["https://127.0.0.1:1"]);
    let refused = Consumer::new(options).expect_err("no TLS").to_string();
    assert!(refused.contains("https://127.0.0.1:1") && refused.contains("TLS"), "{refused}");
}

#[tokio::test]
async fn the_reason_why_no_instance_is_reached_is_shown_with_its_causes() {
    let consumer = Consumer::new(ConsumerOptions::new("a", [nobody().await])).expect("valid options");
    let mut handle = consumer.handle();
    let _run = tokio::spawn(consumer.run(Recorder::default(), CancellationToken::new()));
    let failed = handle.wait_for(|status| status.last_error.is_some());
    let error = timeout(PATIENCE, failed).await.expect("in time").expect("it runs").last_error;
    let error = error.expect("just seen").to_lowercase();
    assert!(error.contains("refused"), "{error}");
}
