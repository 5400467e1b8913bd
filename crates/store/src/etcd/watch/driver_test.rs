//! The driver with a stream of which the test is the other end.

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::advance;

use super::super::registry::EtcdWatch;
use super::*;
use crate::error::Error;
use crate::etcd::options::EtcdOptions;
use crate::etcd::wire::ResponseHeader;
use crate::etcd::wire::watch_request::RequestUnion;
use crate::traits::WatchBatch;

type Items = mpsc::Receiver<Result<WatchBatch, Error>>;

/// A driver, and a member that it never calls: connections are made with the first call.
async fn driver() -> (Driver, MemberChannel) {
    let connection = EtcdConnection::new(&EtcdOptions::new(["http://127.0.0.1:1"])).expect("valid options");
    let link = connection.link().await.expect("nobody has to log in");
    let (_, commands) = mpsc::channel(1);
    (Driver::new(Arc::new(connection), commands), link)
}

fn stream(link: &MemberChannel) -> (WatchConnection<'_>, UnboundedReceiver<WatchRequest>) {
    let (requests, sent) = mpsc::unbounded_channel();
    (WatchConnection { link, requests, pulse: StreamActivity::new() }, sent)
}

fn open() -> (WatchCommand, Items) {
    let (items, delivered) = mpsc::channel(10);
    let (ready, _) = oneshot::channel();
    (WatchCommand::Open(EtcdWatch::new("/a/".into(), Revision(5), items, ready)), delivered)
}

fn answer(created: bool, watch_id: i64) -> WatchResponse {
    let header = Some(ResponseHeader { revision: 5, ..ResponseHeader::default() });
    WatchResponse { header, created, watch_id, ..WatchResponse::default() }
}

/// The requests for progress that were sent since the last look.
fn asked(sent: &mut UnboundedReceiver<WatchRequest>) -> usize {
    let requests = std::iter::from_fn(|| sent.try_recv().ok());
    requests.filter(|sent| matches!(sent.request_union, Some(RequestUnion::ProgressRequest(_)))).count()
}

#[tokio::test(start_paused = true)]
async fn a_wish_for_progress_beside_an_unanswered_request_is_asked_with_the_answer() {
    let (mut driver, link) = driver().await;
    let (mut session, mut sent) = stream(&link);
    let (opening, _items) = open();
    driver.obey(opening, &mut session);
    driver.receive(answer(true, 1), &mut session).expect("it is confirmed");
    driver.obey(WatchCommand::AskForProgress, &mut session);
    driver.obey(WatchCommand::AskForProgress, &mut session);
    assert_eq!(asked(&mut sent), 1, "one at a time");
    driver.receive(answer(false, -1), &mut session).expect("it tells progress");
    assert_eq!(asked(&mut sent), 1, "the answer may be of before the request");
    driver.receive(answer(false, -1), &mut session).expect("it tells progress");
    assert_eq!(asked(&mut sent), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_does_not_confirm_a_watch_in_the_time_of_an_attempt_is_lost() {
    let (mut driver, link) = driver().await;
    let (mut session, _sent) = stream(&link);
    let (opening, _items) = open();
    driver.obey(opening, &mut session);
    let patience = driver.connection.attempt_timeout;
    advance(patience / 2).await;
    driver.tend(&mut session).await.expect("it may still answer");
    advance(patience / 2).await;
    assert!(matches!(driver.tend(&mut session).await, Err(AttemptError::Lost(None))));
}
