//! The work of instances and etcd while nothing happens but heartbeats.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::time::sleep;

use crate::child::Child;
use crate::http;

/// A message from a client, also one on a stream: a renewal of a lease, a new watch.
const OPERATIONS: &str = "grpc_server_msg_received_total{";

/// The use of a span of time.
#[derive(Debug)]
pub(super) struct Usage {
    /// The requests to etcd in a second.
    pub(super) etcd_ops_per_s: f64,
    /// The part of one core that all instances take together.
    pub(super) cpu_percent: f64,
    /// The resident memory of the largest instance.
    pub(super) rss_mb: u64,
}

impl Usage {
    /// Looks on for `span`.
    pub(super) async fn over(span: Duration, etcd: &str, instances: &[Child]) -> Result<Self> {
        let (begin, before, busy) = (Instant::now(), operations(etcd).await?, processor_time(instances)?);
        sleep(span).await;
        let (after, busy) = (operations(etcd).await?, processor_time(instances)?.saturating_sub(busy));
        let seconds = begin.elapsed().as_secs_f64();
        let sizes = instances.iter().map(Child::resident_kib).collect::<Result<Vec<u64>>>()?;
        Ok(Self {
            etcd_ops_per_s: (after - before) / seconds,
            cpu_percent: busy.as_secs_f64() / seconds * 100.0,
            rss_mb: sizes.into_iter().max().unwrap_or_default() / 1024,
        })
    }
}

fn processor_time(instances: &[Child]) -> Result<Duration> {
    instances.iter().map(Child::processor_time).sum()
}

async fn operations(etcd: &str) -> Result<f64> {
    let counters = http::get(etcd, "/metrics").await?;
    let counts = counters.lines().filter(|line| line.starts_with(OPERATIONS)).map(|line| {
        let (_, count) = line.rsplit_once(' ').context("a counter has a value")?;
        Ok(count.parse::<f64>()?)
    });
    counts.sum()
}
