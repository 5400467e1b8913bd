use std::future::Future;

use tokio::time::{Instant, timeout};

use super::*;

/// Whatever has to come, comes within this time on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The time after which data that has not come is held: on loopback everything comes within a millisecond.
const SILENCE: Duration = Duration::from_millis(200);

/// Both ends of a connection over a link.
struct Pair {
    link: Link,
    listener: TcpListener,
    client: TcpStream,
    server: TcpStream,
}

async fn soon<T>(what: impl Future<Output = io::Result<T>>) -> T {
    timeout(PATIENCE, what).await.expect("it comes").unwrap()
}

async fn pair() -> Pair {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let link = Link::to(listener.local_addr().unwrap()).await.unwrap();
    let client = soon(TcpStream::connect(link.address())).await;
    let (server, _) = soon(listener.accept()).await;
    Pair { link, listener, client, server }
}

async fn receive(stream: &mut TcpStream) -> u8 {
    soon(stream.read_u8()).await
}

async fn hears_nothing(stream: &mut TcpStream) -> bool {
    timeout(SILENCE, stream.read_u8()).await.is_err()
}

#[tokio::test]
async fn an_undisturbed_link_carries_both_ways_and_the_end_too() {
    let mut pair = pair().await;
    pair.client.write_all(b"?").await.unwrap();
    assert_eq!(receive(&mut pair.server).await, b'?');
    pair.server.write_all(b"!").await.unwrap();
    assert_eq!(receive(&mut pair.client).await, b'!');
    pair.client.shutdown().await.unwrap();
    assert_eq!(soon(pair.server.read(&mut [0])).await, 0);
    assert_eq!(pair.link.hits(), 0);
}

#[tokio::test]
async fn a_cut_holds_both_ways_until_it_is_healed() {
    let mut pair = pair().await;
    pair.link.disturb(Disturbance::Cut);
    pair.client.write_all(b"?").await.unwrap();
    pair.server.write_all(b"!").await.unwrap();
    assert!(hears_nothing(&mut pair.server).await && hears_nothing(&mut pair.client).await);
    assert!(pair.link.hits() > 0);
    pair.link.heal();
    assert_eq!(receive(&mut pair.server).await, b'?');
    assert_eq!(receive(&mut pair.client).await, b'!');
}

#[tokio::test]
async fn while_a_link_is_cut_no_connection_reaches_the_server() {
    let pair = pair().await;
    pair.link.disturb(Disturbance::Cut);
    let mut client = soon(TcpStream::connect(pair.link.address())).await;
    client.write_all(b"?").await.unwrap();
    assert!(timeout(SILENCE, pair.listener.accept()).await.is_err());
    pair.link.heal();
    let (mut server, _) = soon(pair.listener.accept()).await;
    assert_eq!(receive(&mut server).await, b'?');
}

#[tokio::test]
async fn while_requests_are_held_answers_get_through() {
    let mut pair = pair().await;
    pair.link.disturb(Disturbance::RequestsHeld);
    pair.client.write_all(b"?").await.unwrap();
    pair.server.write_all(b"!").await.unwrap();
    assert_eq!(receive(&mut pair.client).await, b'!');
    assert!(hears_nothing(&mut pair.server).await);
    pair.link.heal();
    assert_eq!(receive(&mut pair.server).await, b'?');
}

#[tokio::test]
async fn lost_answers_never_come_and_their_connection_ends_when_the_link_is_healed() {
    let mut pair = pair().await;
    pair.link.disturb(Disturbance::AnswersLost);
    pair.client.write_all(b"?").await.unwrap();
    assert_eq!(receive(&mut pair.server).await, b'?');
    pair.server.write_all(b"!").await.unwrap();
    assert!(hears_nothing(&mut pair.client).await);
    pair.link.heal();
    let end = timeout(PATIENCE, pair.client.read(&mut [0])).await.expect("it comes");
    assert!(end.is_err() || end.is_ok_and(|length| length == 0), "nothing of the answer comes");
}

#[tokio::test]
async fn a_connection_that_lost_nothing_outlives_lost_answers() {
    let mut pair = pair().await;
    pair.link.disturb(Disturbance::AnswersLost);
    pair.client.write_all(b"?").await.unwrap();
    assert_eq!(receive(&mut pair.server).await, b'?');
    pair.link.heal();
    pair.server.write_all(b"!").await.unwrap();
    assert_eq!(receive(&mut pair.client).await, b'!');
}

#[tokio::test]
async fn a_slow_link_delays_every_piece() {
    let mut pair = pair().await;
    pair.link.disturb(Disturbance::Slow(SILENCE));
    let sent = Instant::now();
    pair.client.write_all(b"?").await.unwrap();
    assert_eq!(receive(&mut pair.server).await, b'?');
    pair.server.write_all(b"!").await.unwrap();
    assert_eq!(receive(&mut pair.client).await, b'!');
    assert!(sent.elapsed() >= 2 * SILENCE);
}

#[tokio::test]
async fn a_dropped_link_closes_its_connections() {
    let Pair { link, mut server, mut client, .. } = pair().await;
    drop(link);
    for stream in [&mut client, &mut server] {
        let end = timeout(PATIENCE, stream.read(&mut [0])).await.expect("it comes");
        assert!(end.is_err() || end.is_ok_and(|length| length == 0));
    }
}
