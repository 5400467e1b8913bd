//! A plan that takes long: nobody who reads the group waits for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kafka_assigner_strategies::{Placement, Problem, Registry, StickyBalanced, Strategy};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::cluster::Cluster;
use crate::member::Member;
use crate::served::PATIENCE;

/// For how long a plan is held where nobody ends it earlier.
const HELD: Duration = Duration::from_secs(2);

/// More partitions than are planned on a thread of the runtime.
const PARTITIONS: u32 = 2_000;

/// A strategy that answers only when it is let go.
#[derive(Debug)]
struct HeldStrategy {
    begun: Arc<Notify>,
    is_held: Arc<AtomicBool>,
    let_go: Mutex<Receiver<()>>,
}

impl Strategy for HeldStrategy {
    fn name(&self) -> &'static str {
        Registry::DEFAULT
    }

    fn summary(&self) -> &'static str {
        "answers when it is let go"
    }

    fn assign(&self, problem: &Problem) -> Placement {
        self.is_held.store(true, Ordering::SeqCst);
        self.begun.notify_one();
        // Let go, or held for the whole time, or of a test that has ended: the answer is the same.
        let _ = self.let_go.lock().expect("no plan panics").recv_timeout(HELD);
        self.is_held.store(false, Ordering::SeqCst);
        StickyBalanced.assign(problem)
    }
}

/// A strategy, and what a test holds it by.
fn held() -> (&'static HeldStrategy, Arc<Notify>, Arc<AtomicBool>, Sender<()>) {
    let (sender, receiver) = channel();
    let (begun, is_held) = (Arc::<Notify>::default(), Arc::<AtomicBool>::default());
    let strategy = HeldStrategy {
        begun: Arc::clone(&begun),
        is_held: Arc::clone(&is_held),
        let_go: Mutex::new(receiver),
    };
    (Box::leak(Box::new(strategy)), begun, is_held, sender)
}

// One thread serves everything, so a plan that kept it, or a lock that it needs, would be seen.
#[tokio::test]
async fn the_view_moves_and_is_read_while_a_plan_is_made() {
    let (strategy, begun, is_held, let_go) = held();
    let cluster =
        Cluster::tuned(1, PARTITIONS, |options| options.strategies = Registry::builtin().with(strategy))
            .await;
    let member = Member::join(&cluster.nodes[0], "a").await;
    timeout(PATIENCE, begun.notified()).await.expect("a plan is made");
    let group = cluster.group().await;
    cluster.topic("other", 1).await;
    cluster.until("the new topic is seen", |state| state.topics().contains_key("other")).await;
    assert!(group.read(|state| !state.topics().is_empty()));
    assert!(is_held.load(Ordering::SeqCst), "the plan was over before the view could move");
    drop(let_go);
    drop(member);
    cluster.stop().await;
}
