//! The members of a group: processes of the example, and clients of librdkafka.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kafka_assigner_rig::NamedProcess;

use super::judge::MemberEvent;
use super::librdkafka::Librdkafka;
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
                peer.before.extend(thread.end());
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

    /// All that are there still leave, one after the other.
    pub(super) async fn stop(&mut self) -> Result<()> {
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
            PeerBody::Thread(thread) => thread.events(),
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
