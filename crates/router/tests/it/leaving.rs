//! The end of a router: it was asked to stop, or it can't do its part.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use kafka_assigner_router::{
    Cutover, CutoverError, Forward, RouteTarget, Router, RouterError, RouterStopped, RoutingTable, SendError,
    TopicPartition,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fake::{Asked, Fake, at, open, stash};
use crate::owners::{Owners, answer, options, start};

/// Queues that fail to drain so many times, and get stuck on command.
#[derive(Debug, Default)]
struct Queues {
    failures_left: AtomicU32,
    is_stuck: AtomicBool,
}

#[async_trait]
impl Cutover for Queues {
    fn stop(&self, _: &TopicPartition) {}

    async fn drain(&self, _: &TopicPartition) -> Result<(), CutoverError> {
        let left = self.failures_left.load(Ordering::SeqCst);
        self.failures_left.store(left.saturating_sub(1), Ordering::SeqCst);
        if left == 0 { Ok(()) } else { Err("not yet".into()) }
    }

    fn switch(&self, _: &TopicPartition, _: &RouteTarget) {}

    fn remove(&self, _: &TopicPartition) {}

    fn is_stuck(&self, _: Duration) -> bool {
        self.is_stuck.load(Ordering::SeqCst)
    }
}

fn router(service: &Fake, queues: &Arc<Queues>) -> Router<Queues, Fake> {
    Router::over(options(), RoutingTable::new(), queues.clone(), service.clone()).expect("valid")
}

#[tokio::test(start_paused = true)]
async fn a_stop_answers_what_is_held_and_then_detaches() {
    let (service, owners) = (Fake::new(vec![open(0, "o", 1)]), Owners::new());
    let router = start(&service, &owners).await;
    owners.hold_answers();
    let held = router.ask(0, "held");
    owners.wait_for(1).await;
    router.shutdown.cancel();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!service.asked().contains(&Asked::Detach), "a request is on its way");
    assert_eq!(answer(router.ask(0, "late")).await, Err("the router has stopped".into()));
    owners.answer(1);
    assert_eq!(router.run.await.expect("no panic").expect("in good order"), RouterStopped::Detached);
    assert_eq!(answer(held).await, Ok("o".into()));
    assert!(!router.table.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_stop_has_a_bound_and_fails_what_waits() {
    let (service, owners) = (Fake::new(vec![stash(0, "h")]), Owners::new());
    let router = start(&service, &owners).await;
    let waits = router.ask(0, "waits");
    router.shutdown.cancel();
    assert_eq!(router.run.await.expect("no panic").expect("in good order"), RouterStopped::Detached);
    assert_eq!(answer(waits).await, Err("the router has stopped".into()));
}

#[tokio::test(start_paused = true)]
async fn h24_a_router_that_stands_still_takes_itself_out() {
    let (service, queues) = (Fake::new(vec![stash(0, "h")]), Arc::new(Queues::default()));
    let router = router(&service, &queues);
    let (table, mut status) = (router.table(), router.status());
    let run = tokio::spawn(router.run(CancellationToken::new()));
    status.wait_for(|status| status.is_open).await.expect("it runs");
    queues.is_stuck.store(true, Ordering::SeqCst);
    let end = run.await.expect("no panic");
    assert!(matches!(end, Err(RouterError::Stuck)), "{end:?}");
    assert_eq!(service.asked().last(), Some(&Asked::Detach));
    assert!(!table.is_open());
}

/// A forwarder that runs a little less often than the router checks it.
#[derive(Debug)]
struct Turning(Mutex<Instant>);

#[async_trait]
impl Cutover for Turning {
    fn stop(&self, _: &TopicPartition) {}

    async fn drain(&self, _: &TopicPartition) -> Result<(), CutoverError> {
        Ok(())
    }

    fn switch(&self, _: &TopicPartition, _: &RouteTarget) {}

    fn remove(&self, _: &TopicPartition) {}

    async fn work(&self) {
        loop {
            *self.0.lock().expect("nobody panics with it") = Instant::now();
            tokio::time::sleep(Duration::from_millis(900)).await;
        }
    }

    fn is_stuck(&self, bound: Duration) -> bool {
        self.0.lock().expect("nobody panics with it").elapsed() > bound
    }
}

#[tokio::test(start_paused = true)]
async fn h24_a_process_that_was_suspended_is_not_taken_for_a_router_that_stands_still() {
    let (service, traffic) =
        (Fake::new(vec![open(0, "o", 1)]), Arc::new(Turning(Mutex::new(Instant::now()))));
    let router =
        Router::over(options(), RoutingTable::new(), traffic.clone(), service.clone()).expect("valid");
    let mut status = router.status();
    let run = tokio::spawn(router.run(CancellationToken::new()));
    status.wait_for(|status| status.is_open).await.expect("it runs");
    // Nothing of the process makes a step for so long; then everything is due at once, the router's look first.
    tokio::time::advance(Duration::from_secs(60)).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(!run.is_finished(), "{:?}", run.await);
}

#[tokio::test(start_paused = true)]
async fn h29_drains_that_fail_within_the_budget_cost_only_time() {
    let (service, queues) = (Fake::new(vec![stash(0, "h")]), Arc::new(Queues::default()));
    queues.failures_left.store(9, Ordering::SeqCst);
    let _run = tokio::spawn(router(&service, &queues).run(CancellationToken::new()));
    service.wait_for_ack(0, "h").await;
    // A success starts the count anew.
    queues.failures_left.store(9, Ordering::SeqCst);
    service.set(stash(0, "next"));
    service.wait_for_ack(0, "next").await;
    assert!(!service.asked().contains(&Asked::Detach));
}

#[tokio::test(start_paused = true)]
async fn h30_drains_that_fail_past_the_budget_take_the_router_out() {
    let (service, queues) = (Fake::new(vec![stash(0, "h")]), Arc::new(Queues::default()));
    queues.failures_left.store(10, Ordering::SeqCst);
    let end = router(&service, &queues).run(CancellationToken::new()).await;
    assert!(matches!(end, Err(RouterError::Drains { failures: 10, .. })), "{end:?}");
    assert_eq!(service.asked().last(), Some(&Asked::Detach));
    assert_eq!(service.acks(), []);
}

/// A transport that blocks its thread, which it must not.
struct Blocking(Mutex<mpsc::Receiver<()>>);

#[async_trait]
impl Forward for Blocking {
    type Response = ();

    async fn send(&self, _: &RouteTarget, _: &TopicPartition, _: Bytes) -> Result<(), SendError> {
        let released = self.0.lock().expect("nobody panics with it");
        // Ends when the test does.
        let _ = released.recv_timeout(Duration::from_secs(30));
        Ok(())
    }
}

// F30: a task that renews the session is no proof that the router forwards anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_transport_that_blocks_is_noticed() {
    let (_release, released) = mpsc::channel();
    let service = Fake::new(vec![open(0, "o", 1)]);
    let options = kafka_assigner_router::RouterOptions { stuck_after: Duration::from_secs(2), ..options() };
    let forward = Blocking(Mutex::new(released));
    let router = Router::forwarding_over(options, forward, service.clone()).expect("valid");
    let (requests, mut status) = (router.cutover(), router.status());
    let run = tokio::spawn(router.run(CancellationToken::new()));
    status.wait_for(|status| status.is_open).await.expect("it runs");
    let _blocked = requests.request(&at(0), Bytes::new());
    let end = run.await.expect("no panic");
    assert!(matches!(end, Err(RouterError::Stuck)), "{end:?}");
    assert_eq!(service.asked().last(), Some(&Asked::Detach));
}
