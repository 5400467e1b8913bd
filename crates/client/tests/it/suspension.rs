//! Consumers on a machine that goes to sleep.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kafka_assigner_proto::v1::Snapshot;
use kafka_assigner_session::{Clock, Suspensions};
use tokio::time::Instant;

use crate::consumer::{assign, options, start_on, warm};
use crate::fake::{Asked, Fake};
use crate::recorder::Manner;
use crate::strict::strict;

// A machine that wakes up has missed its heartbeats, and its timers know nothing of it.
#[tokio::test(start_paused = true)]
async fn a_claim_is_over_after_a_suspension_past_the_ttl() {
    let (fake, suspensions) = (Fake::new(), Arc::new(Suspended::default()));
    fake.show(Snapshot { assigned: vec![strict(5, 5, "")], ..Snapshot::default() });
    let clock = Clock::counting(suspensions.clone());
    let mut running = start_on(clock, fake, options(), Manner::Plain);
    running.handle.wait_for(|status| status.partitions.owned == 1).await.expect("it runs");
    let (claim, begun) = (running.recorder.owned().claim().clone(), Instant::now());
    suspensions.0.store(31, Ordering::SeqCst);
    assert!(!claim.is_valid(), "before anything else runs");
    running.recorder.wait_for(&["lost t/0", "warm t/0", "assigned t/0 epoch 5"]).await;
    assert!(begun.elapsed() <= Duration::from_secs(2), "{:?}", begun.elapsed());
    assert!(claim.has_ended() && running.recorder.owned().claim().is_valid(), "a heartbeat brought it back");
}

// The grant is the first thing that it reads, and others may have the partition by then.
#[tokio::test(start_paused = true)]
async fn a_grant_that_is_read_after_a_suspension_waits_until_the_claim_is_confirmed() {
    let suspensions = Arc::new(Suspended::default());
    let clock = Clock::counting(suspensions.clone());
    let mut running = start_on(clock, Fake::new(), options(), Manner::Plain);
    running.handle.wait_for(|status| status.session.is_some()).await.expect("it runs");
    running.fake.push(warm(0, "h"));
    running.fake.wait_for(|asked| *asked == Asked::Ready("h".into())).await;
    suspensions.0.store(31, Ordering::SeqCst);
    running.fake.push(assign(strict(9, 9, "h")));
    running.fake.wait_for(|asked| *asked == Asked::Taken("h".into())).await;
    assert_eq!(running.recorder.lines(), ["warm t/0", "assigned t/0 epoch 9"], "the handler was called once");
}

/// For so many seconds since the start.
#[derive(Debug, Default)]
struct Suspended(AtomicU64);

impl Suspensions for Suspended {
    fn total(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::SeqCst))
    }
}
