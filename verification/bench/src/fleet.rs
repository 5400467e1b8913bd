//! Many groups on one etcd, which others write to as well: how long an acknowledgement takes, and what an instance and
//! etcd have to do while nothing happens.
//!
//! Every row has the same consumers and partitions, so what grows from row to row is what a group costs by itself. The
//! acknowledgements are about a handoff that is over, in a group in which nothing happens: they wait until the
//! group's view is known to be as new as the store was, and change nothing.

mod acks;
mod load;
mod row;
mod usage;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::Result;
use kafka_assigner_rig::free_port;
use tokio::time::sleep;

use crate::child::{self, Child};
use crate::http;
use crate::report::Report;
use acks::Acks;
use load::Fleet;
use row::Row;
use usage::Usage;

const CONSUMERS: usize = 1_000;
const PARTITIONS: usize = 10_000;

/// The groups and the instances of each row.
const ROWS: [(usize, usize); 6] = [(10, 1), (100, 1), (1_000, 1), (10, 3), (100, 3), (1_000, 3)];

/// A fresh instance may take so long to load everything before the row fails.
const READY: Duration = Duration::from_secs(60);

/// The time by which everything that follows a plan is over.
const CALM: Duration = Duration::from_secs(2);

/// Measures every row, on keys and instances of its own.
pub(crate) async fn run(report: &Report, etcd: &str, quick: bool) -> Result<()> {
    // A connection has an end here and one in an instance, which inherits the limit.
    child::allow_connections(4 * CONSUMERS)?;
    // Heartbeats come every ten seconds.
    let rest = Duration::from_secs(if quick { 10 } else { 60 });
    for (groups, instances) in ROWS {
        report.tell_row(&measure(etcd, (groups, instances), rest).await?)?;
    }
    Ok(())
}

async fn measure(etcd: &str, (groups, instances): (usize, usize), rest: Duration) -> Result<Row> {
    let prefix = format!("/bench/fleet-{groups}-{instances}/");
    let mut children = Vec::with_capacity(instances + 1);
    for _ in 0..instances {
        children.push(Child::start("instance", &[etcd, &prefix]).await?);
    }
    let addresses: Vec<&str> = children.iter().map(|child| &*child.address).collect();
    let fleet = Fleet::start(&addresses, groups).await?;
    sleep(CALM).await;
    let usage = Usage::over(rest, etcd, &children).await?;
    let quiet = Acks::take(&fleet, rest).await;
    let beside = Acks::beside_writes(&fleet, rest, etcd).await?;
    let ready = ready(etcd, &prefix).await?;
    Ok(Row::new((groups, instances), &usage, &quiet, &beside, ready))
}

/// The time that another instance takes from its start until it says that it is ready.
async fn ready(etcd: &str, prefix: &str) -> Result<Duration> {
    let probes = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
    let start = Instant::now();
    let _instance = Child::start("instance", &[etcd, prefix, &probes.to_string()]).await?;
    let address = format!("http://{probes}");
    while start.elapsed() < READY {
        // Nobody listens before it has started.
        let said = http::get(&address, "/readyz").await.unwrap_or_default();
        if said.lines().next().is_some_and(|status| status.contains(" 200 ")) {
            return Ok(start.elapsed());
        }
        sleep(Duration::from_millis(20)).await;
    }
    anyhow::bail!("an instance was not ready within {} s", READY.as_secs())
}
