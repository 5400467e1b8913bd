//! Requests one behind the other, and what becomes of them when a connection ends.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::connection::Connector;
use crate::messages::{
    ApiVersion, ApiVersionsRequest, ApiVersionsResponse, GroupHeartbeatRequest, GroupHeartbeatResponse,
};
use crate::options::Options;
use crate::wire::{answer_frame, read_request};

const PATIENCE: Duration = Duration::from_secs(5);

/// The other end of a link: the frames of requests, and the bytes of answers.
struct Peer(TcpStream);

impl Peer {
    async fn frame(&mut self) -> Bytes {
        let mut frame = vec![0; self.0.read_u32().await.unwrap() as usize];
        self.0.read_exact(&mut frame).await.unwrap();
        frame.into()
    }

    /// Waits for a heartbeat, and returns its number with its generation.
    async fn heartbeat(&mut self) -> (i32, i32) {
        let (header, request) = read_request::<GroupHeartbeatRequest>(&self.frame().await).unwrap();
        (header.correlation, request.generation_id)
    }

    async fn answer(&mut self, correlation: i32, throttle_time_ms: i32) {
        let answer = GroupHeartbeatResponse { throttle_time_ms, error_code: 0 };
        self.0
            .write_all(&answer_frame::<GroupHeartbeatRequest>(&answer, 4, correlation).unwrap())
            .await
            .unwrap();
    }
}

async fn linked() -> (BrokerLink, Peer) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let broker = BrokerAddress { host: "127.0.0.1".to_owned(), port };
    let options = Options { patience: PATIENCE, ..Options::new(Vec::new()) };
    let accept = async {
        let mut peer = Peer(listener.accept().await.unwrap().0);
        let (header, _) = read_request::<ApiVersionsRequest>(&peer.frame().await).unwrap();
        let api = |api_key| ApiVersion { api_key, min_version: 0, max_version: 13 };
        let answer = ApiVersionsResponse { api_keys: vec![api(3), api(12)], ..Default::default() };
        let frame = answer_frame::<ApiVersionsRequest>(&answer, header.version, header.correlation).unwrap();
        peer.0.write_all(&frame).await.unwrap();
        peer
    };
    let connector = Connector::new(&options).unwrap();
    let (connection, peer) = tokio::join!(connector.open(&broker), accept);
    (connection.unwrap().into_link(), peer)
}

async fn beat(link: &BrokerLink, generation_id: i32, patience: Duration) -> Result<i32, Error> {
    let make = |_| GroupHeartbeatRequest { generation_id, ..Default::default() };
    Ok(link.ask(make, patience).await?.0.throttle_time_ms)
}

#[tokio::test]
async fn each_answer_goes_to_the_one_who_asked() {
    let (link, mut peer) = linked().await;
    let broker = async {
        let mut asked = Vec::new();
        for _ in 0..10 {
            asked.push(peer.heartbeat().await);
        }
        // All ten are under way before the first one is answered.
        for (correlation, generation) in asked {
            peer.answer(correlation, generation * 2).await;
        }
    };
    let calls = futures_of(&link, 10);
    let (answers, ()) = tokio::join!(calls, broker);
    assert_eq!(answers, (0..10).map(|generation| generation * 2).collect::<Vec<_>>());
}

/// So many calls at once, and their answers in order.
async fn futures_of(link: &BrokerLink, calls: i32) -> Vec<i32> {
    let mut tasks = Vec::new();
    for generation in 0..calls {
        let link = link.clone();
        tasks.push(tokio::spawn(async move { beat(&link, generation, PATIENCE).await.unwrap() }));
    }
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    answers
}

#[tokio::test]
async fn a_call_that_is_dropped_costs_the_others_nothing() {
    let (link, mut peer) = linked().await;
    let dropped = beat(&link, 1, PATIENCE);
    let asked = tokio::select! {
        biased;
        _ = dropped => unreachable!("it is not answered"),
        asked = peer.heartbeat() => asked,
    };
    let broker = async {
        let next = peer.heartbeat().await;
        peer.answer(asked.0, 11).await;
        peer.answer(next.0, 22).await;
    };
    let (answer, ()) = tokio::join!(beat(&link, 2, PATIENCE), broker);
    assert_eq!(answer.unwrap(), 22);
}

#[tokio::test]
async fn an_answer_that_is_late_ends_the_connection() {
    let (link, mut peer) = linked().await;
    let late = beat(&link, 1, Duration::from_millis(50)).await.unwrap_err();
    assert!(matches!(late, Error::NoAnswer { .. }), "{late}");
    peer.heartbeat().await;
    link.outgoing.closed().await;
    assert!(!link.is_usable());
    let after = beat(&link, 2, PATIENCE).await.unwrap_err();
    assert!(matches!(after, Error::Closed { .. }), "{after}");
}

#[tokio::test]
async fn all_who_wait_are_told_when_the_connection_ends() {
    let (link, mut peer) = linked().await;
    let broker = async {
        peer.heartbeat().await;
        peer.heartbeat().await;
        drop(peer);
    };
    let (first, second, ()) = tokio::join!(beat(&link, 1, PATIENCE), beat(&link, 2, PATIENCE), broker);
    assert!(matches!(first, Err(Error::Closed { .. } | Error::Broken { .. })), "{first:?}");
    assert!(matches!(second, Err(Error::Closed { .. })), "{second:?}");
}

#[tokio::test]
async fn an_idle_connection_that_is_closed_is_noticed() {
    let (link, peer) = linked().await;
    assert!(link.is_usable());
    drop(peer);
    tokio::time::timeout(PATIENCE, link.outgoing.closed()).await.expect("it is noticed without a request");
    assert!(!link.is_usable());
}

#[tokio::test]
async fn a_broker_that_speaks_without_having_been_asked_is_left() {
    let (link, mut peer) = linked().await;
    peer.answer(77, 0).await;
    tokio::time::timeout(PATIENCE, link.outgoing.closed()).await.expect("it is noticed");
}
