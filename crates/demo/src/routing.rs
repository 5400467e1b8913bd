//! The routers of the mode routed, and their callers.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use kafka_assigner_audit::Micros;
use kafka_assigner_audit::requests::{Asked, Window, Written};
use kafka_assigner_router::{Router, RouterOptions};
use kafka_assigner_writer::{Meter, Pace, Traffic, read_log};
use kafka_assigner_writer::{Wire, run_router};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::consumers::{ConsumerFailure, GROUP, now_micros};
use crate::kafka::Kafka;
use crate::options::Options;
use crate::process::Process;

/// The number of routers: a caller needs another one if one fails.
const ROUTERS: usize = 2;

/// The most bytes of an addition in the log, with some room: keys are not spread evenly over partitions.
const BYTES: u64 = 400;

/// The most requests of a run: each is kept in memory, so that everything can be added up in the end.
const MOST_REQUESTS: u64 = 2_000_000;

/// Routers, and their callers.
#[derive(Debug)]
pub(crate) struct Routing {
    routers: Vec<(Process, JoinHandle<Result<(), ConsumerFailure>>)>,
    /// The addresses of the routers.
    addresses: watch::Sender<Vec<SocketAddr>>,
    traffic: Traffic,
    /// The start of the wait for a dead writer's session to end.
    crashed: Option<Micros>,
    crashes: Vec<Window>,
}

/// The numbers of requests and of their answers.
pub(crate) struct Answered {
    pub(crate) asked: Asked,
    /// By partition.
    pub(crate) log: BTreeMap<i32, Vec<Written>>,
    pub(crate) crashes: Vec<Window>,
}

impl Routing {
    /// As many ask as there are partitions, as soon as there are routers.
    pub(crate) fn new(options: &Options, kafka: &Kafka) -> Self {
        let addresses = watch::Sender::default();
        let callers = options.partitions;
        let room = kafka.bytes_per_partition.map_or(u64::MAX, |bytes| bytes / BYTES);
        let most = Some(room.min(MOST_REQUESTS / u64::from(callers)));
        let pace = Pace { callers, interval: options.record_interval(), most, now: now_micros };
        let traffic = Traffic::start(&addresses.subscribe(), pace);
        Self { routers: Vec::new(), addresses, traffic, crashed: None, crashes: Vec::new() }
    }

    pub(crate) fn meter(&self) -> Meter {
        self.traffic.meter()
    }

    /// Starts the routers.
    pub(crate) async fn open(&mut self, endpoints: &[String], topic: &str) -> Result<(), ConsumerFailure> {
        for number in 1..=ROUTERS {
            let name = format!("router-{number}");
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let (address, process) = (listener.local_addr()?, Process::new(&name)?);
            let options =
                RouterOptions { group: GROUP.into(), ..RouterOptions::new(name, endpoints.to_vec()) };
            let (topic, listener) = (topic.to_owned(), listener.into_std()?);
            // A socket belongs to the runtime on which it was made.
            let bind = async { TcpListener::from_std(listener) };
            let ended = process.spawn(|stop| async move {
                let router = Router::forwarding(options, Wire::new())?;
                run_router(router, topic, bind, stop).await.map_err(ConsumerFailure::Program)
            });
            self.routers.push((process, ended));
            self.addresses.send_modify(|addresses| addresses.push(address));
        }
        Ok(())
    }

    /// A writer is killed: until [`calm`](Self::calm), requests may fail.
    pub(crate) fn harm(&mut self, at: Micros) {
        self.crashed.get_or_insert(at);
    }

    /// Nobody has to be waited for any more.
    pub(crate) fn calm(&mut self) {
        if let Some(since) = self.crashed.take() {
            self.crashes.push((since, now_micros()));
        }
    }

    /// Ends when everything is answered, and reads the log.
    pub(crate) async fn end(mut self, kafka: &Kafka, partitions: u32) -> Result<Answered, ConsumerFailure> {
        self.calm();
        let asked = self.traffic.stop().await.map_err(ConsumerFailure::Program)?;
        for (process, _) in &self.routers {
            process.ask_to_end();
        }
        for (_process, ended) in self.routers {
            // A panic there was already printed by the runtime.
            ended.await.unwrap_or(Ok(()))?;
        }
        let (brokers, topic) = (kafka.bootstrap.clone(), kafka.topic.clone());
        let partitions = i32::try_from(partitions).unwrap_or(i32::MAX);
        let log = spawn_blocking(move || read_log(&brokers, &topic, partitions)).await;
        let log =
            log.map_err(|panic| ConsumerFailure::Program(panic.into()))?.map_err(ConsumerFailure::Program)?;
        Ok(Answered { asked, log, crashes: self.crashes })
    }
}
