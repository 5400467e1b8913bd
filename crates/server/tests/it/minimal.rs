//! The smallest client, over a real connection: a name, a stream and two acks.

use std::time::Duration;

use futures::StreamExt as _;
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::kafka_assigner_client::KafkaAssignerClient;
use kafka_assigner_proto::v1::kafka_assigner_server::KafkaAssignerServer;
use kafka_assigner_proto::v1::{
    AckOutcome, AckResult, AssignmentCommand, Caller, PartitionAck, PartitionReadyRequest,
    PartitionReleasedRequest, RegisterRequest,
};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::Streaming;
use tonic::transport::{Channel, Server};

use crate::cluster::Cluster;

type Client = KafkaAssignerClient<Channel>;

/// Serves an instance until the guard is dropped.
async fn connect(cluster: &Cluster) -> (Client, DropGuard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("it works");
    let address = listener.local_addr().expect("it is bound");
    let stop = CancellationToken::new();
    let service = KafkaAssignerServer::new(cluster.nodes[0].api.clone());
    let stopped = stop.clone().cancelled_owned();
    let serving = Server::builder()
        .add_service(service)
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), stopped);
    tokio::spawn(serving);
    let client = KafkaAssignerClient::connect(format!("http://{address}")).await.expect("it works");
    (client, stop.drop_guard())
}

async fn register(client: &mut Client, name: &str) -> Streaming<AssignmentCommand> {
    let request = RegisterRequest { consumer_name: name.to_owned(), ..RegisterRequest::default() };
    client.register(request).await.expect("it works").into_inner()
}

async fn next(commands: &mut Streaming<AssignmentCommand>) -> Command {
    let next = timeout(Duration::from_secs(10), commands.next()).await.expect("it comes");
    next.expect("it goes on").expect("without an error").command.expect("of some kind")
}

/// Reads until `wanted` finds what it looks for.
async fn find<T>(commands: &mut Streaming<AssignmentCommand>, wanted: impl Fn(&Command) -> Option<T>) -> T {
    loop {
        if let Some(found) = wanted(&next(commands).await) {
            return found;
        }
    }
}

fn caller(name: &str) -> Option<Caller> {
    Some(Caller { consumer_name: name.to_owned(), ..Caller::default() })
}

fn of(partition: i32) -> Vec<PartitionAck> {
    vec![PartitionAck { topic: "t".to_owned(), partition, ..PartitionAck::default() }]
}

fn applied(results: &[AckResult]) -> bool {
    results.iter().all(|result| result.outcome() == AckOutcome::Applied)
}

#[tokio::test]
async fn three_calls_are_enough_for_a_handoff() {
    let cluster = Cluster::tuned(1, 0, |options| {
        options.group_defaults.debounce_ms = 10;
        options.group_defaults.session_timeout_ms = 2_000;
    })
    .await;
    cluster.topic_of("default", "t", 2).await;
    let (mut client, _served) = connect(&cluster).await;
    let mut old = register(&mut client, "a").await;
    let mut owned = 0;
    while owned < 2 {
        owned = find(&mut old, |command| match command {
            Command::Assignment(assignment) => Some(owned + assignment.assigned.len()),
            _ => None,
        })
        .await;
    }
    let mut new = register(&mut client, "b").await;
    let warm = find(&mut new, |command| match command {
        Command::Warm(warm) => Some(warm.partitions[0].clone()),
        _ => None,
    })
    .await;
    let ready = PartitionReadyRequest { caller: caller("b"), partitions: of(warm.partition) };
    assert!(applied(&client.partition_ready(ready).await.unwrap().into_inner().results));
    let assigned = find(&mut new, |command| match command {
        Command::Assignment(assignment) => assignment.assigned.first().map(|a| a.partition),
        _ => None,
    })
    .await;
    assert_eq!(assigned, warm.partition);
    let release = find(&mut old, |command| match command {
        Command::Release(release) => Some(release.partitions[0].clone()),
        _ => None,
    })
    .await;
    assert_eq!((release.partition, release.new_owner.as_str()), (warm.partition, "b"));
    let released = PartitionReleasedRequest { caller: caller("a"), partitions: of(release.partition) };
    assert!(applied(&client.partition_released(released).await.unwrap().into_inner().results));
    // A client that is gone without a word is noticed by its stream, and its lease then runs out.
    drop(new);
    let back = find(&mut old, |command| match command {
        Command::Assignment(assignment) => assignment.assigned.first().map(|a| a.partition),
        _ => None,
    })
    .await;
    assert_eq!(back, warm.partition);
    cluster.stop().await;
}
