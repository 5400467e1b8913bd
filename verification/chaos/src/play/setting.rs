//! Everything that a run consists of.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_core::key::DEFAULT_PREFIX;
use kafka_assigner_rig::clock::Moment;
use kafka_assigner_rig::observer::Observing;
use kafka_assigner_rig::report::Narrator;
use kafka_assigner_rig::until;
use kafka_assigner_rig::{EtcdCluster, EtcdConfig, topics};
use kafka_assigner_store::{EtcdOptions, EtcdStore};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_writer::{Pace, Traffic};
use tokio::task::block_in_place;

use super::rest;
use super::work::Work;
use crate::arguments::Settings;
use crate::consumers::{Crew, GROUP};
use crate::instances::Instances;
use crate::load::{self, PARTITIONS, TOPIC};
use crate::network::Network;
use crate::returning::Returning;
use crate::routers::Routers;
use crate::sink::Sink;
use crate::stage::{Events, Stage, Troubled};
use crate::witness::Witness;

/// Consumers at the start.
const CONSUMERS: usize = 5;

/// Callers, in the mode routed. Each has sixteen counters: every partition has some of several callers.
const CALLERS: u32 = 48;

/// The time from one request of a caller to its next.
const INTERVAL: Duration = Duration::from_millis(50);

/// The longest time until each of them works, while everything else starts too.
const START: Duration = Duration::from_secs(60);

/// Everything that a run consists of; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) stage: Arc<Stage>,
    pub(crate) sink: Sink,
    pub(crate) work: Work,
    pub(crate) instances: Instances,
    pub(crate) routers: Routers,
    pub(crate) returning: Returning,
    pub(crate) cluster: EtcdCluster,
}

/// Starts everything, and waits until all partitions are worked on.
pub(crate) async fn set_up(settings: &Settings) -> Result<Setting> {
    let narrator = Narrator::new(settings.json);
    let cluster = block_in_place(|| EtcdCluster::start(&EtcdConfig::new(settings.etcd.clone())))?;
    topics::create(&settings.kafka, TOPIC, PARTITIONS).await?;
    let (sink, network) = (Sink::start().await?, Arc::<Network>::default());
    let store = EtcdStore::new(&EtcdOptions::new(cluster.endpoints()))?;
    let watched = EtcdStore::new(&EtcdOptions::new(cluster.endpoints()))?;
    let witness = Witness::start(watched.clone(), DEFAULT_PREFIX, GROUP)?;
    let observer = Observing::start(watched, DEFAULT_PREFIX, GROUP)?;
    let instances = Instances::start(settings, Arc::clone(&network), addresses(&cluster)?).await?;
    instances.create_group()?;
    let returning = match settings.mode {
        Mode::Routed => Returning::none(&settings.kafka),
        _ => Returning::start(&settings.kafka).await?,
    };
    let crew = Crew::new(settings, Arc::clone(&network), sink.address(), instances.addresses());
    let settings = settings.clone();
    let (troubled, events) = (Troubled::default(), Events::default());
    let stage = Stage { settings, narrator, network, crew, observer, store, witness, troubled, events };
    for _ in 0..CONSUMERS {
        stage.crew.join().await?;
    }
    let (work, routers) = begin_work(&stage, &sink, instances.addresses()).await?;
    let setting = Setting { stage: Arc::new(stage), sink, work, instances, routers, returning, cluster };
    let at_rest = || Ok(rest::is_at_rest(&setting).then_some(()));
    until("work on all partitions", START, at_rest).await?;
    Ok(setting)
}

/// Records for consumers, or requests for writers.
async fn begin_work(stage: &Stage, sink: &Sink, instances: Vec<SocketAddr>) -> Result<(Work, Routers)> {
    let settings = &stage.settings;
    if settings.mode != Mode::Routed {
        return Ok((Work::Records(load::start(&settings.kafka)?), Routers::none(settings)));
    }
    sink.follow(&settings.kafka)?;
    let routers = Routers::start(settings, Arc::clone(&stage.network), instances).await?;
    let pace = Pace { callers: CALLERS, interval: INTERVAL, most: None, now: || Moment::now().0 };
    Ok((Work::Requests(Traffic::start(&routers.addresses(), pace)), routers))
}

fn addresses(cluster: &EtcdCluster) -> Result<Vec<SocketAddr>> {
    let address = |url: &String| url.trim_start_matches("http://").parse();
    let addresses: Result<_, _> = cluster.endpoints().iter().map(address).collect();
    addresses.context("an etcd on loopback has an address")
}
