//! Four caches that answer over HTTP, restarted one after the other while readers ask without a break.

mod reader;
mod report;
mod verdict;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_rig::producer::{Content, Load, Production};
use kafka_assigner_rig::{NamedProcess, free_port};
use kafka_assigner_types::mode::Mode;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use self::reader::{Reader, ReaderResult};
pub(crate) use self::report::CacheReport;
use super::settings::Settings;
use super::site::{Group, Site};

/// The group, and its topic.
const TOPIC: &str = "cache";

/// Partitions of the topic.
const PARTITIONS: u32 = 8;

/// Keys in each partition.
const KEYS: usize = 20;

/// Caches.
const CACHES: usize = 4;

/// Those that ask at once.
const READERS: usize = 4;

/// The time between two records of a partition.
const INTERVAL: Duration = Duration::from_millis(5);

/// Groups settle within seconds.
const SETTLES: Duration = Duration::from_secs(60);

/// A process listens within a second, unless the machine is very busy.
const START: Duration = Duration::from_secs(30);

/// The longest departure.
const LEAVE: Duration = Duration::from_secs(60);

/// How much is done.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// Caches that are restarted.
    restarts: usize,
    /// All four answer for so long before the first restart, and after each.
    peace: Duration,
    /// So few answers say nothing.
    least_reads: usize,
}

const FULL: Scale = Scale { restarts: CACHES, peace: Duration::from_secs(3), least_reads: 10_000 };

const SHORT: Scale = Scale { restarts: 1, peace: Duration::from_secs(1), least_reads: 200 };

/// Plays it.
pub(crate) async fn play(settings: &Settings) -> Result<CacheReport> {
    let scale = if settings.short { SHORT } else { FULL };
    let site = Site::start(settings, "cache").await?;
    let group = site.group(TOPIC, Mode::Exclusive, PARTITIONS.cast_signed(), &[]).await?;
    let mut production = Production::start(&settings.kafka, load(), content)?;
    let mut caches = Caches::new(settings, &site)?;
    for place in 0..CACHES {
        caches.start(place).await?;
    }
    settle(&site, &group).await?;
    let (stop, mut readers) = (CancellationToken::new(), JoinSet::new());
    for first in 0..READERS {
        readers.spawn(Reader::new(caches.addresses.clone()).read(first, stop.clone()));
    }
    sleep(scale.peace).await;
    let mut restarted = 0;
    for place in 0..scale.restarts {
        caches.stop(place).await?;
        site.tell(&format!("cache {place} is restarted"));
        caches.start(place).await?;
        settle(&site, &group).await?;
        sleep(scale.peace).await;
        restarted += 1;
    }
    stop.cancel();
    let results = readers.join_all().await;
    production.stop().await?;
    for place in 0..CACHES {
        caches.stop(place).await?;
    }
    site.stop().await?;
    Ok(report(results, restarted, scale))
}

fn load() -> Load {
    Load {
        topic: TOPIC.to_owned(),
        partitions: PARTITIONS.cast_signed(),
        interval: INTERVAL,
        linger: Duration::ZERO,
    }
}

fn content(round: usize, _: i32) -> Content {
    Content { key: Some(format!("k{}", round % KEYS)), value: round.to_string() }
}

async fn settle(site: &Site, group: &Group) -> Result<()> {
    group.settles(site, CACHES, PARTITIONS, SETTLES).await
}

fn report(results: Vec<ReaderResult>, restarted: usize, scale: Scale) -> CacheReport {
    let asked_again = results.iter().map(|result| result.asked_again).sum();
    let reads: Vec<_> = results.into_iter().flat_map(|result| result.reads).collect();
    CacheReport {
        reads: reads.len(),
        wrong: verdict::wrong(&reads),
        moves: verdict::moves(&reads),
        restarted,
        asked_again,
        least_reads: scale.least_reads,
        restarts: scale.restarts,
    }
}

/// The processes of the caches, at addresses that their successors take.
struct Caches {
    settings: Settings,
    endpoints: String,
    addresses: Arc<[SocketAddr]>,
    running: [Option<NamedProcess>; CACHES],
}

impl Caches {
    fn new(settings: &Settings, site: &Site) -> Result<Self> {
        let address = |_| Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?)));
        let addresses: Vec<_> = (0..CACHES).map(address).collect::<Result<_>>()?;
        let running = std::array::from_fn(|_| None);
        Ok(Self {
            settings: settings.clone(),
            endpoints: site.endpoints(),
            addresses: addresses.into(),
            running,
        })
    }

    async fn start(&mut self, place: usize) -> Result<()> {
        let (name, address) = (format!("cache-{place}"), self.addresses[place]);
        let mut command = Command::new(self.settings.programs.join("kafka-assigner-example-cache"));
        command.args(["--endpoints", &self.endpoints, "--brokers", &self.settings.kafka, "--group", TOPIC]);
        command.args(["--name", &name, "--topic", TOPIC, "--listen", &address.to_string()]);
        let log = self.settings.folder.join(format!("{name}.log"));
        let mut process = NamedProcess::start(name, command, log)?;
        process.listens(address, START).await?;
        self.running[place] = Some(process);
        Ok(())
    }

    /// Asks it to leave, and waits until it has.
    async fn stop(&mut self, place: usize) -> Result<()> {
        self.running[place].take().context("the cache does not run")?.stop(LEAVE).await
    }
}
