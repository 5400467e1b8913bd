//! User code that blocks its runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use kafka_assigner_client::{
    Consumer, ConsumerHandle, ConsumerOptions, HandlerError, OnStop, OwnedContext, PartitionHandler, Stopped,
    WarmContext,
};
use kafka_assigner_proto::v1::Snapshot;
use tokio_util::sync::CancellationToken;

use crate::consumer::{grant, options};
use crate::fake::Fake;

/// Rebuilds its state from records that take 2 ms of a thread each, 256 between two awaits, until it is told to be done.
#[derive(Clone, Default)]
struct Slow(Arc<AtomicBool>);

#[async_trait]
impl PartitionHandler for Slow {
    async fn warm(&self, _: &WarmContext) -> Result<(), HandlerError> {
        while !self.0.load(Ordering::SeqCst) {
            std::thread::sleep(256 * Duration::from_millis(2));
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn assigned(&self, _: &OwnedContext) -> Result<(), HandlerError> {
        Ok(())
    }
}

/// Watches, beside the runtime, if the claim holds for `span` once there is a session.
fn holds_for(handle: &ConsumerHandle, span: Duration) -> bool {
    let begun = Instant::now();
    while !handle.claim_is_valid() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no session");
        std::thread::sleep(Duration::from_millis(10));
    }
    let until = Instant::now() + span;
    while Instant::now() < until {
        if !handle.claim_is_valid() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

// The claim of a session of 6 s lapses 4 s after the last heartbeat; a round of all preparations takes 33 s.
#[tokio::test(flavor = "current_thread")]
async fn preparations_that_block_the_only_thread_of_a_runtime_cost_no_session() {
    let fake = Fake::granting(Duration::from_secs(6));
    let assigned = (0..64).map(|partition| grant(partition, 5, "")).collect();
    fake.show(Snapshot { assigned, ..Snapshot::default() });
    let (slow, shutdown) = (Slow::default(), CancellationToken::new());
    let options = ConsumerOptions { on_stop: OnStop::Restart, ..options() };
    let consumer = Consumer::over(options, fake).expect("valid options");
    let (mut handle, run) = (consumer.handle(), consumer.run(slow.clone(), shutdown.clone()));
    let watching = std::thread::spawn({
        let (handle, slow) = (handle.clone(), slow.clone());
        move || {
            let holds = holds_for(&handle, Duration::from_secs(8));
            slow.0.store(true, Ordering::SeqCst);
            holds
        }
    });
    let end = tokio::spawn(run);
    handle.wait_for(|status| status.partitions.owned == 64).await.expect("it runs");
    assert!(watching.join().expect("no panic"), "the claim has lapsed");
    assert_eq!(handle.status().sessions_lost, 0);
    shutdown.cancel();
    assert_eq!(end.await.expect("no panic"), Ok(Stopped::Left));
}
