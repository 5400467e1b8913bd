//! Requests that wait for their turn, while the route, the claim or the loop goes away.

use std::sync::mpsc;
use std::sync::{Mutex, OnceLock, Weak};
use std::time::Instant;

use futures::future::BoxFuture;
use kafka_assigner_types::id::Epoch;
use kafka_assigner_types::moment::Moment;
use tokio::task::JoinHandle;

use super::forwarder_test::{partition, table_of, target};
use super::sending::{Place, Sending, TurnEnd, send};
use super::*;
use crate::forward::SendError;
use crate::lanes::LaneCommand;
use crate::route::PartitionOwner;

type Reply = BoxFuture<'static, Result<Bytes, SendError>>;
type Act = dyn Fn(&Arc<Forwarder<Arc<Scripted>>>, &Bytes) -> Reply + Send + Sync;

/// A transport that does what the test says at the first poll of each request, and notes the order of first polls.
struct Scripted {
    act: Box<Act>,
    began: Mutex<Vec<(String, String)>>,
    forwarder: OnceLock<Weak<Forwarder<Arc<Scripted>>>>,
}

#[async_trait]
impl Forward for Arc<Scripted> {
    type Response = Bytes;

    async fn send(&self, to: &RouteTarget, _: &TopicPartition, request: Bytes) -> Result<Bytes, SendError> {
        let name = String::from_utf8(request.to_vec()).expect("tests send text");
        self.began.lock().expect("no panic").push((to.owner.name.to_string(), name));
        let forwarder = self.forwarder.get().and_then(Weak::upgrade).expect("it is used by the test");
        let reply = (self.act)(&forwarder, &request);
        drop(forwarder);
        reply.await
    }
}

/// A forwarder with one partition, whose owner has admitted a request, so that several are sent at once.
struct Rig {
    forward: Arc<Scripted>,
    forwarder: Arc<Forwarder<Arc<Scripted>>>,
    work: JoinHandle<()>,
}

impl Rig {
    async fn new(
        limits: StashLimits,
        act: impl Fn(&Arc<Forwarder<Arc<Scripted>>>, &Bytes) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let forward =
            Arc::new(Scripted { act: Box::new(act), began: Mutex::default(), forwarder: OnceLock::new() });
        let table = table_of(&[partition(0)]);
        let forwarder =
            Arc::new(Forwarder::new(Arc::clone(&forward), table, limits, Duration::from_secs(60)));
        forward.forwarder.set(Arc::downgrade(&forwarder)).expect("set once");
        forwarder.switch(&partition(0), &target());
        let work = tokio::spawn({
            let forwarder = Arc::clone(&forwarder);
            async move { forwarder.work().await }
        });
        let rig = Self { forward, forwarder, work };
        rig.ask("first").await.expect("it is sent");
        rig
    }

    fn ask(&self, request: &str) -> Answer<Arc<Scripted>> {
        self.forwarder.request(&partition(0), Bytes::from(request.to_owned()))
    }

    /// The requests that were polled after the first one, with their owners.
    fn began(&self) -> Vec<(String, String)> {
        self.forward.began.lock().expect("no panic")[1..].to_vec()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.work.abort();
    }
}

fn echo(request: &Bytes) -> Reply {
    let request = request.clone();
    Box::pin(async move { Ok(request) })
}

fn named(owner: &str, requests: &[&str]) -> Vec<(String, String)> {
    requests.iter().map(|request| (owner.to_owned(), (*request).to_owned())).collect()
}

fn other() -> RouteTarget {
    let owner = PartitionOwner { name: "other".into(), incarnation: "i".into(), endpoint: "".into() };
    RouteTarget { owner, epoch: Epoch(2) }
}

#[tokio::test(start_paused = true)]
async fn a_stop_keeps_back_what_waits_for_its_turn() {
    let rig = Rig::new(StashLimits::default(), |forwarder, request| {
        if request == "stops" {
            forwarder.stop(&partition(0));
        }
        echo(request)
    })
    .await;
    let answers = ["stops", "a", "b"].map(|request| rig.ask(request));
    let answered = async {
        while rig.forwarder.counts() != (2, 0) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(1), answered).await.expect("two are held back");
    assert_eq!(rig.began(), named("o", &["stops"]));
    rig.forwarder.drain(&partition(0)).await.expect("nothing is in flight");
    rig.forwarder.switch(&partition(0), &other());
    for answer in answers {
        answer.await.expect("it is sent");
    }
    assert_eq!(rig.began()[1..], named("other", &["a", "b"]));
}

#[tokio::test(start_paused = true)]
async fn a_request_goes_to_the_owner_at_its_turn() {
    let rig = Rig::new(StashLimits::default(), |forwarder, request| {
        if request == "moves" {
            forwarder.switch(&partition(0), &other());
        }
        echo(request)
    })
    .await;
    let answers = ["moves", "a", "b"].map(|request| rig.ask(request));
    for answer in answers {
        answer.await.expect("it is sent");
    }
    assert_eq!(rig.began()[1..], named("other", &["a", "b"]));
}

// A claim that lapses again and again holds requests back while others are answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_claim_that_comes_and_goes_keeps_the_order() {
    let rig = Rig::new(StashLimits::default(), |_, request| {
        let request = request.clone();
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(request)
        })
    })
    .await;
    let flips = tokio::task::spawn_blocking({
        let table = rig.forwarder.0.table.clone();
        move || {
            let until = Instant::now() + Duration::from_secs(2);
            while Instant::now() < until {
                table.claim(None);
                std::thread::yield_now();
                table.claim(Some(Moment(Duration::from_secs(3_600))));
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    });
    let mut accepted = Vec::new();
    let mut answers = Vec::new();
    let mut number = 0_u64;
    while !flips.is_finished() {
        let answer = rig.ask(&number.to_string());
        if answer.waiting.is_ok() {
            accepted.push(number.to_string());
            answers.push(answer);
        }
        number += 1;
        if answers.len() >= 200 {
            rig.forwarder.0.wake.notify_one();
            for answer in answers.drain(..) {
                answer.await.expect("it is sent");
            }
        }
    }
    flips.await.expect("no panic");
    rig.forwarder.0.wake.notify_one();
    for answer in answers {
        answer.await.expect("it is sent");
    }
    let began: Vec<_> = rig.began().into_iter().map(|(_, request)| request).collect();
    let first_wrong = began.iter().zip(&accepted).position(|(began, accepted)| began != accepted);
    assert_eq!((first_wrong, began.len()), (None, accepted.len()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_wait_for_a_turn_has_a_bound() {
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let limits = StashLimits { age: Duration::from_millis(300), ..StashLimits::default() };
    let rig = Rig::new(limits, move |_, request| {
        if request == "blocks" {
            // For so long at most that a test that is red ends.
            let _ = released.lock().expect("no panic").recv_timeout(Duration::from_secs(10));
        }
        echo(request)
    })
    .await;
    let blocks = rig.ask("blocks");
    let behind = rig.ask("behind");
    let error = tokio::time::timeout(Duration::from_secs(5), behind).await.expect("in its bound");
    let error = error.expect_err("it had no turn");
    assert!(error.is_safe_to_repeat(), "{error}");
    let message = "not sent: waited 300ms, at last for its turn behind an earlier request of the partition";
    assert_eq!(error.to_string(), message);
    release.send(()).expect("it listens");
    blocks.await.expect("it was sent");
    let _ = rig.ask("next").await.expect("the lane goes on");
    assert_eq!(rig.began(), named("o", &["blocks", "next"]));
}

/// The value of a panic, which panics itself when it is dropped.
struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "as it was asked to");
    }
}

#[tokio::test(start_paused = true)]
async fn a_send_whose_task_panics_is_settled_and_the_lane_goes_on() {
    let rig = Rig::new(StashLimits::default(), |_, request| {
        if request == "panics" {
            std::panic::panic_any(Panics);
        }
        echo(request)
    })
    .await;
    let answers = ["panics", "a"].map(|request| rig.ask(request));
    let [panics, behind] = answers;
    let panics = tokio::time::timeout(Duration::from_secs(70), panics).await.expect("it is settled");
    assert!(panics.is_err_and(|error| !error.is_safe_to_repeat()));
    assert_eq!(behind.await.expect("it is sent"), "a");
    tokio::time::timeout(Duration::from_secs(1), rig.forwarder.drain(&partition(0)))
        .await
        .expect("nothing is in flight")
        .expect("it drains");
}

#[tokio::test(start_paused = true)]
async fn a_transport_that_panics_at_its_first_poll_fails_its_request_alone() {
    let rig = Rig::new(StashLimits::default(), |_, request| {
        assert!(request != "panics", "as it was asked to");
        echo(request)
    })
    .await;
    let [panics, behind] = ["panics", "a"].map(|request| rig.ask(request));
    assert!(panics.await.is_err_and(|error| !error.is_safe_to_repeat()));
    assert_eq!(behind.await.expect("it is sent"), "a");
}

// The task that renews the session asks it after each event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_for_what_is_stuck_does_not_wait_for_the_lock_of_the_requests() {
    let rig = Rig::new(StashLimits::default(), |_, request| echo(request)).await;
    let (sender, is_stuck) = mpsc::channel();
    let state = rig.forwarder.0.state();
    let look = std::thread::spawn({
        let forwarder = Arc::clone(&rig.forwarder);
        move || sender.send(forwarder.is_stuck(Duration::from_secs(60)))
    });
    let answer = is_stuck.recv_timeout(Duration::from_secs(5));
    drop(state);
    look.join().expect("no panic").expect("it listens");
    assert_eq!(answer, Ok(false));
}

#[tokio::test(start_paused = true)]
async fn a_request_behind_one_whose_task_was_dropped_is_not_sent() {
    let rig = Rig::new(StashLimits::default(), |_, request| echo(request)).await;
    rig.work.abort();
    let _waits = rig.ask("waits");
    let (place, before) = Place::new(None);
    drop(place);
    let core = &rig.forwarder.0;
    let command = core.state().lanes.next(core.now());
    let Some(LaneCommand::Start { id, turn }) = command else { panic!("{command:?}") };
    let sending = Sending { id, turn, at: partition(0) };
    let end = send(Arc::clone(core), sending, "waits".into(), Place::new(Some(before)).0).await;
    assert!(matches!(end, TurnEnd::Unsent));
    assert_eq!(rig.began(), []);
}

// The loop is dropped while one request is in flight, and others wait for their turns and for room.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_loop_that_is_dropped_says_what_was_not_sent() {
    let (release, released) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let (released, begun) = (Mutex::new(released), Mutex::new(begun));
    let limits = StashLimits { window: 3, ..StashLimits::default() };
    let rig = Rig::new(limits, move |_, request| {
        if request == "blocks" {
            begun.lock().expect("no panic").send(()).expect("it listens");
            // For so long at most that a test that is red ends.
            let _ = released.lock().expect("no panic").recv_timeout(Duration::from_secs(10));
            return Box::pin(std::future::pending());
        }
        echo(request)
    })
    .await;
    let blocks = rig.ask("blocks");
    let others = ["a", "b", "c", "d"].map(|request| rig.ask(request));
    tokio::task::spawn_blocking(move || begins.recv()).await.expect("no panic").expect("it begins");
    rig.work.abort();
    for answer in others {
        let error = answer.await.expect_err("the loop is gone");
        assert!(matches!(error, RequestError::Unsent(Unsent::Stopped)), "{error:?}");
    }
    let error = blocks.await.expect_err("the loop is gone");
    assert!(matches!(error, RequestError::Interrupted), "{error:?}");
    release.send(()).expect("it listens");
    assert_eq!(rig.began(), named("o", &["blocks"]));
}
