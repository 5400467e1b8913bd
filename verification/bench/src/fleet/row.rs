//! A row of the table.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::acks::Acks;
use super::usage::Usage;
use super::{CONSUMERS, PARTITIONS};
use crate::stopwatch::ms;

/// One number of groups on one number of instances.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    groups: usize,
    instances: usize,
    consumers: usize,
    partitions: usize,
    writes_elsewhere_per_s: f64,
    etcd_ops_per_s: f64,
    ack_ms: Percentiles,
    ack_quiet_ms: Percentiles,
    refused: usize,
    rss_mb: u64,
    cpu_percent: f64,
    ready_ms: f64,
}

/// In milliseconds.
#[derive(Debug, Serialize)]
struct Percentiles {
    p50: f64,
    p99: f64,
}

impl Percentiles {
    fn of(acks: &Acks) -> Self {
        Self { p50: rounded(acks.within(50)), p99: rounded(acks.within(99)) }
    }
}

impl Row {
    pub(super) fn new(
        (groups, instances): (usize, usize),
        usage: &Usage,
        quiet: &Acks,
        beside: &Acks,
        ready: Duration,
    ) -> Self {
        Self {
            groups,
            instances,
            consumers: CONSUMERS,
            partitions: PARTITIONS,
            writes_elsewhere_per_s: rounded(beside.writes_per_s),
            etcd_ops_per_s: rounded(usage.etcd_ops_per_s),
            ack_ms: Percentiles::of(beside),
            ack_quiet_ms: Percentiles::of(quiet),
            refused: quiet.refused + beside.refused,
            rss_mb: usage.rss_mb,
            cpu_percent: rounded(usage.cpu_percent),
            ready_ms: rounded(ms(ready)),
        }
    }
}

/// To hundredths: the rest is noise.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { groups, instances, etcd_ops_per_s, ack_ms, ack_quiet_ms, refused, .. } = self;
        let Self { rss_mb, cpu_percent, ready_ms, .. } = self;
        write!(
            f,
            "{groups:>5} groups on {instances}: ack p50 {:.1} p99 {:.1} ms (quiet {:.1}, {:.1}), {refused} refused, \
             etcd {etcd_ops_per_s:.0}/s, {rss_mb} MB, {cpu_percent:.1} % of a core, ready in {ready_ms:.0} ms",
            ack_ms.p50, ack_ms.p99, ack_quiet_ms.p50, ack_quiet_ms.p99
        )
    }
}
