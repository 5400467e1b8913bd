//! The members of a group: processes of the example, and clients of librdkafka.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kafka_assigner_rig::NamedProcess;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext, Rebalance};
use rdkafka::{ClientConfig, ClientContext, Message as _, TopicPartitionList};

use super::judge::MemberEvent;
use crate::scenario::settings::Settings;

/// The longest departure.
const LEAVES: Duration = Duration::from_secs(30);

/// The program of our members.
const PROGRAM: &str = "kafka-assigner-example-native-consumer";

/// The client of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    /// Ours, in the classic protocol.
    Classic,
    /// The same, as a static member.
    Static,
    /// Ours, in the protocol in which the broker plans.
    Broker,
    /// librdkafka's.
    Librdkafka,
}

/// One member.
#[derive(Debug)]
pub(super) struct Peer {
    client: Client,
    number: usize,
    body: PeerBody,
    /// The events of its former processes.
    before: Vec<MemberEvent>,
    is_away: bool,
}

#[derive(Debug)]
enum PeerBody {
    Process(NamedProcess),
    Thread(Librdkafka),
    Gone,
}

/// The members of one group, whose topic has its name.
#[derive(Debug)]
pub(super) struct GroupMembers {
    programs: PathBuf,
    folder: PathBuf,
    kafka: String,
    group: String,
    strategy: &'static str,
    /// The time of a session, in milliseconds.
    session_ms: u32,
    peers: Vec<Peer>,
}

impl GroupMembers {
    pub(super) fn new(
        settings: &Settings,
        kafka: &str,
        group: &str,
        strategy: &'static str,
        session_ms: u32,
    ) -> Self {
        Self {
            programs: settings.programs.clone(),
            folder: settings.folder.clone(),
            kafka: kafka.to_owned(),
            group: group.to_owned(),
            strategy,
            session_ms,
            peers: Vec::new(),
        }
    }

    /// Starts a member.
    pub(super) fn join(&mut self, client: Client) -> Result<()> {
        let number = self.peers.len();
        let body = self.start(client, number, 0)?;
        self.peers.push(Peer { client, number, body, before: Vec::new(), is_away: false });
        Ok(())
    }

    fn start(&self, client: Client, number: usize, life: usize) -> Result<PeerBody> {
        if client == Client::Librdkafka {
            let thread = Librdkafka::start(&self.kafka, &self.group, self.strategy, self.session_ms)?;
            return Ok(PeerBody::Thread(thread));
        }
        let name = format!("{}-{number}-{life}", self.group);
        let mut command = Command::new(self.programs.join(PROGRAM));
        command.args(["--json", "--bootstrap", &self.kafka, "--group", &self.group, "--topics", &self.group]);
        command.args(["--property", &format!("session.timeout.ms={}", self.session_ms)]);
        command.args([
            "--property",
            "heartbeat.interval.ms=500",
            "--property",
            "auto.commit.interval.ms=500",
        ]);
        command.args(["--property", "max.poll.interval.ms=60000"]);
        match client {
            Client::Broker => command.args(["--protocol", "consumer"]),
            _ => command.args(["--strategy", self.strategy]),
        };
        if client == Client::Static {
            command.args(["--instance-id", &format!("instance-{number}")]);
        }
        let log = self.folder.join(format!("{name}.log"));
        Ok(PeerBody::Process(NamedProcess::start(name, command, log)?))
    }

    /// The member goes, in good order.
    pub(super) async fn leave(&mut self, number: usize) -> Result<()> {
        let peer = self.peers.get_mut(number).context("there is no such member")?;
        match std::mem::replace(&mut peer.body, PeerBody::Gone) {
            PeerBody::Process(mut process) => {
                process.terminate()?;
                process.ends_well(LEAVES).await?;
                peer.before = [std::mem::take(&mut peer.before), events_in(&process.log())].concat();
            }
            PeerBody::Thread(thread) => {
                // It tells of records until it has ended.
                let shown = thread.shown.clone();
                drop(thread);
                peer.before.extend(shown.events());
            }
            PeerBody::Gone => bail!("the member is gone"),
        }
        peer.is_away = true;
        Ok(())
    }

    /// The member stops and comes back at once.
    pub(super) async fn restart(&mut self, number: usize) -> Result<()> {
        self.leave(number).await?;
        let client = self.peers[number].client;
        let body = self.start(client, number, 1)?;
        let peer = &mut self.peers[number];
        (peer.body, peer.is_away) = (body, false);
        Ok(())
    }

    pub(super) fn freeze(&mut self, number: usize) -> Result<()> {
        self.peers[number].is_away = true;
        self.peers[number].process()?.freeze()
    }

    pub(super) fn thaw(&mut self, number: usize) -> Result<()> {
        self.peers[number].is_away = false;
        self.peers[number].process()?.thaw()
    }

    /// Fails where a member tells an error.
    pub(super) fn must_run(&self) -> Result<()> {
        for peer in &self.peers {
            if peer.events().iter().any(|event| event.event == "error") {
                bail!("member {} of {} tells an error: {:?}", peer.number, self.group, peer.events().last());
            }
        }
        Ok(())
    }

    pub(super) fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter()
    }

    /// Those that are neither gone nor frozen.
    pub(super) fn live_peers(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter().filter(|peer| !peer.is_away)
    }

    /// The events of all, member by member.
    pub(super) fn events(&self) -> Vec<MemberEvent> {
        self.peers.iter().flat_map(Peer::events).collect()
    }

    /// The parts of all, for who looks for a fault.
    pub(super) fn shown(&self) -> String {
        let part = |peer: &Peer| format!("{}: {:?}", peer.number, super::judge::owned(&peer.events()));
        self.peers.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    pub(super) async fn stop(mut self) -> Result<()> {
        for number in 0..self.peers.len() {
            if !matches!(self.peers[number].body, PeerBody::Gone) {
                self.leave(number).await?;
            }
        }
        Ok(())
    }
}

impl Peer {
    fn process(&self) -> Result<&NamedProcess> {
        match &self.body {
            PeerBody::Process(process) => Ok(process),
            PeerBody::Thread(_) | PeerBody::Gone => bail!("the member is no process"),
        }
    }

    /// Its events so far, in their order.
    pub(super) fn events(&self) -> Vec<MemberEvent> {
        let now = match &self.body {
            PeerBody::Process(process) => events_in(&process.log()),
            PeerBody::Thread(thread) => thread.shown.events(),
            PeerBody::Gone => Vec::new(),
        };
        self.before.iter().cloned().chain(now).collect()
    }
}

/// The events in a log; its other lines are words for people, and the last one may be half written.
fn events_in(log: &str) -> Vec<MemberEvent> {
    let events = log.lines().filter(|line| line.starts_with("{\"event\""));
    events.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// A member of librdkafka, which is asked for records on a thread of its own until it is dropped.
#[derive(Debug)]
struct Librdkafka {
    shown: Shown,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The events of librdkafka's member.
#[derive(Debug, Clone, Default)]
struct Shown(Arc<Mutex<Vec<MemberEvent>>>);

impl Shown {
    fn events(&self) -> Vec<MemberEvent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, event: &str, partitions: Vec<(String, u32)>, offsets: Option<(i64, i64)>) {
        let event = MemberEvent { event: event.to_owned(), partitions, offsets };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

impl ClientContext for Shown {}

impl ConsumerContext for Shown {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Revoke(partitions) = rebalance {
            self.tell("revoked", names(partitions), None);
        }
    }

    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(partitions) = rebalance {
            self.tell("assigned", names(partitions), None);
        }
    }
}

fn names(partitions: &TopicPartitionList) -> Vec<(String, u32)> {
    let name = |element: rdkafka::topic_partition_list::TopicPartitionListElem<'_>| {
        (element.topic().to_owned(), element.partition().unsigned_abs())
    };
    partitions.elements().into_iter().map(name).collect()
}

impl Librdkafka {
    fn start(kafka: &str, group: &str, strategy: &str, session_ms: u32) -> Result<Self> {
        let (shown, is_over) = (Shown::default(), Arc::new(AtomicBool::new(false)));
        let consumer: BaseConsumer<Shown> = ClientConfig::new()
            .set("bootstrap.servers", kafka)
            .set("group.id", group)
            .set("partition.assignment.strategy", strategy)
            .set("session.timeout.ms", session_ms.to_string())
            .set("heartbeat.interval.ms", "500")
            .set("auto.offset.reset", "earliest")
            // A consumer that is dropped takes records that nobody gets: only what was told is to be committed.
            .set("enable.auto.offset.store", "false")
            .create_with_context(shown.clone())?;
        consumer.subscribe(&[group])?;
        let (telling, ending) = (shown.clone(), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            while !ending.load(Ordering::Relaxed) {
                if let Some(Ok(record)) = consumer.poll(Duration::from_millis(50)) {
                    let name = (record.topic().to_owned(), record.partition().unsigned_abs());
                    telling.tell("records", vec![name], Some((record.offset(), record.offset())));
                    // Refused where the partition was given up meanwhile: others handle the record again, which shows.
                    let _given_up = consumer.store_offset_from_message(&record);
                }
            }
        });
        Ok(Self { shown, is_over, thread: Some(thread) })
    }
}

impl Drop for Librdkafka {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there shows in the records that are missing.
            let _panicked = thread.join();
        }
    }
}
