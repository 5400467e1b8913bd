//! The cost of a consumer that does nothing: the instance's memory for it, next to a bare tonic stream, and the
//! instance's writes for it.
//!
//! Both servers run in processes of their own, so that the clients' memory does not count, and both are measured
//! over the same time.

pub(crate) mod bare;

use std::time::Duration;

use anyhow::{Context, Result};
use futures::TryStreamExt;
use kafka_assigner_store::{EtcdStore, Store};
use kafka_assigner_types::kv::Revision;
use tokio::time::{sleep, timeout};

use crate::child::{self, Child};
use crate::consumer::Crowd;
use crate::instance::{create_group, create_topic, open};
use crate::report::{Figure, Report};

/// The instance has keys of its own.
const PREFIX: &str = "/bench/idle/";

/// Consumers, and bare streams; each has its own connection.
const STREAMS: usize = 1_000;

/// Three heartbeats of every consumer.
const REST: Duration = Duration::from_secs(30);

/// The longest time for the store to tell what was written.
const BOUND: Duration = Duration::from_secs(10);

/// The most that a consumer may take above a bare stream.
const AIM_KIB: f64 = 20.0;

/// Resident memory in KiB per stream at some point.
#[derive(Debug, Clone, Copy)]
struct Memory {
    bare: f64,
    consumer: f64,
}

/// Both servers, with their memory before anybody came.
struct Servers {
    bare: (Child, u64),
    instance: (Child, u64),
}

impl Servers {
    async fn start(etcd: &str) -> Result<Self> {
        let bare = Child::start("bare", &[]).await?;
        let instance = Child::start("instance", &[etcd, PREFIX]).await?;
        create_group(&instance.address, None).await?;
        let empty = (bare.resident_kib()?, instance.resident_kib()?);
        Ok(Self { bare: (bare, empty.0), instance: (instance, empty.1) })
    }

    fn memory(&self) -> Result<Memory> {
        Ok(Memory { bare: each(&self.bare)?, consumer: each(&self.instance)? })
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes of processes are far below 2^52 KiB")]
fn each((child, empty): &(Child, u64)) -> Result<f64> {
    Ok(child.resident_kib()?.saturating_sub(*empty) as f64 / STREAMS as f64)
}

/// Measures with the consumers connected, then with a partition each, then after a while in which nothing happens but
/// heartbeats.
pub(crate) async fn run(report: &Report, etcd: &str) -> Result<()> {
    child::allow_connections(4 * STREAMS)?;
    let servers = Servers::start(etcd).await?;
    let _bare = bare::connect(&servers.bare.0.address, STREAMS).await?;
    let mut crowd = Crowd::register(&servers.instance.0.address, STREAMS).await?;
    tell_memory(report, "connected", servers.memory()?)?;
    create_topic(&servers.instance.0.address, u32::try_from(STREAMS)?).await?;
    crowd.own(STREAMS).await?;
    let store = open(etcd)?;
    // Work that follows a plan is over by then: statistics are no writes, and a debounce is 100 ms.
    sleep(Duration::from_secs(2)).await;
    tell_memory(report, "a partition each", servers.memory()?)?;
    let before = newest(&store).await?;
    sleep(REST).await;
    let writes = timeout(BOUND, writes_since(&store, before)).await.context("etcd tells no progress")??;
    tell_memory(report, "after heartbeats", servers.memory()?)?;
    tell_writes(report, writes)
}

/// The store's revision now. Keeping a lease alive does not move it.
async fn newest(store: &EtcdStore) -> Result<Revision> {
    Ok(store.get(PREFIX.as_bytes()).await?.1)
}

/// The number of keys of the instance that were written or deleted after `before`. Sessions of another scenario may run
/// down meanwhile, so the revision alone does not tell.
async fn writes_since(store: &EtcdStore, before: Revision) -> Result<usize> {
    let now = newest(store).await?;
    if now == before {
        return Ok(0);
    }
    let mut watch = store.watch(PREFIX.as_bytes(), before.next()).await?;
    let mut count = 0;
    loop {
        store.request_progress(PREFIX.as_bytes(), now);
        let batch = watch.try_next().await?.context("the watch ended")?;
        count += batch.changes.iter().filter(|change| change.revision() <= now).count();
        if batch.revision >= now {
            return Ok(count);
        }
    }
}

fn tell_memory(report: &Report, when: &str, memory: Memory) -> Result<()> {
    let size = format!("{STREAMS} consumers, {when}");
    let tell = |what, value, unit, aim| {
        report.tell(&Figure { scenario: "idle", size: size.clone(), what, value, unit, aim })
    };
    tell("a bare stream", memory.bare, "KiB", None)?;
    tell("a consumer", memory.consumer, "KiB", None)?;
    tell("a consumer above a bare stream", memory.consumer - memory.bare, "KiB", Some(AIM_KIB))?;
    tell("a consumer next to a bare stream", memory.consumer / memory.bare, "x", None)
}

fn tell_writes(report: &Report, writes: usize) -> Result<()> {
    let value = f64::from(u32::try_from(writes)?);
    let size = format!("{STREAMS} consumers, {} s of heartbeats", REST.as_secs());
    report.tell(&Figure { scenario: "idle", size, what: "writes to etcd", value, unit: "", aim: Some(0.0) })
}
