//! An etcd with instances on it, and what is made of its own for each group.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kafka_assigner_core::key::DEFAULT_PREFIX;
use kafka_assigner_core::record::Assignment;
use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_rig::instances::{Instances, Service};
use kafka_assigner_rig::observer::Observing;
use kafka_assigner_rig::report::Narrator;
use kafka_assigner_rig::{Etcd, EtcdConfig, topics, within};
use kafka_assigner_store::{EtcdOptions, EtcdStore};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::name::MemberName;
use tokio::task::block_in_place;

use super::chronicle::Chronicle;
use super::settings::Settings;
use super::workers::Workers;

/// How many instances there are.
const INSTANCES: usize = 2;

/// How often a group is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The servers of groups that share an etcd.
#[derive(Debug)]
pub(crate) struct Site {
    settings: Settings,
    /// The name of this site in the names of its processes.
    name: String,
    narrator: Narrator,
    instances: Instances,
    // After the instances, so that they are gone before it is.
    etcd: Etcd,
}

/// A group of a scenario: its records in the store are watched.
#[derive(Debug)]
pub(crate) struct Group {
    /// Its name, and that of its topic.
    pub(crate) name: String,
    observing: Observing,
}

impl Site {
    /// Starts an etcd and instances of it with the service's defaults.
    pub(crate) async fn start(settings: &Settings, name: &str) -> Result<Self> {
        let program = settings.programs.join("kafka-assigner");
        Self::served(settings, name, INSTANCES, Service::new(program, &settings.kafka, &settings.folder))
            .await
    }

    /// The same, with instances that reach Kafka at `address` over TLS, whose certificates `ca` has signed, and log in
    /// by SCRAM-SHA-512.
    pub(crate) async fn start_secured(
        settings: &Settings,
        name: &str,
        address: &str,
        (ca, user, password): (&Path, &str, &str),
    ) -> Result<Self> {
        let service = Service::new(settings.programs.join("kafka-assigner"), address, &settings.folder)
            .with_switch("--kafka-tls")
            .with("--kafka-ca", ca.display())
            .with("--kafka-sasl-mechanism", "SCRAM-SHA-512")
            .with("--kafka-user", user)
            .with("--kafka-password", password);
        Self::served(settings, name, INSTANCES, service).await
    }

    /// Starts an etcd and so many instances of it that also have a strategy that panics.
    pub(crate) async fn start_panicking(settings: &Settings, name: &str, instances: usize) -> Result<Self> {
        let [operators, server] =
            ["kafka-assigner", "kafka-assigner-e2e"].map(|program| settings.programs.join(program));
        let service = Service::new(operators, &settings.kafka, &settings.folder).served_by(server);
        Self::served(settings, name, instances, service).await
    }

    async fn served(settings: &Settings, name: &str, count: usize, service: Service) -> Result<Self> {
        let etcd = block_in_place(|| Etcd::start(&EtcdConfig::new(settings.etcd.clone())))?;
        let mut instances = Instances::new(service);
        for number in 1..=count {
            instances.add(&format!("{name}-instance-{number}"), &etcd.endpoint()).await?;
        }
        let narrator = Narrator::new(settings.json);
        Ok(Self { settings: settings.clone(), name: name.to_owned(), narrator, instances, etcd })
    }

    /// A client of its etcd.
    pub(crate) fn store(&self) -> Result<EtcdStore> {
        Ok(EtcdStore::new(&EtcdOptions::new([self.etcd.endpoint()]))?)
    }

    /// Watches everything from now on.
    pub(crate) async fn chronicle(&self) -> Result<Chronicle> {
        Chronicle::start(&self.store()?, DEFAULT_PREFIX).await
    }

    /// Tells what happens.
    pub(crate) fn tell(&self, text: &str) {
        self.narrator.tell(text);
    }

    /// A new group with these settings beside its mode, and its topic.
    pub(crate) async fn group(
        &self,
        name: &str,
        mode: Mode,
        partitions: i32,
        settings: &[&str],
    ) -> Result<Group> {
        topics::create(&self.settings.kafka, name, partitions).await?;
        self.group_of(name, mode, settings)
    }

    /// A new group with these settings beside its mode, of a topic that is there.
    pub(crate) fn group_of(&self, name: &str, mode: Mode, settings: &[&str]) -> Result<Group> {
        let mode_named = mode.to_string();
        self.instances.set_group(name, &[&["--mode", &mode_named], settings].concat())?;
        let observing = Observing::start(self.store()?, DEFAULT_PREFIX, name)?;
        Ok(Group { name: name.to_owned(), observing })
    }

    /// Changes the settings of a group, as operators do.
    pub(crate) fn set_group(&self, name: &str, settings: &[&str]) -> Result<()> {
        self.instances.set_group(name, settings)
    }

    /// Kills the instance `name`.
    pub(crate) fn kill_instance(&mut self, name: &str) -> Result<()> {
        let place = self.instances.place_of(name).with_context(|| format!("{name} does not run"))?;
        self.instances.kill(place);
        Ok(())
    }

    /// Workers for these groups.
    pub(crate) fn workers(&self, groups: &[&str]) -> Workers {
        let program = self.settings.programs.join("kafka-assigner-e2e");
        let workers = Workers::new(program, self.settings.folder.clone(), Vec::new());
        let workers = workers.with("--groups", groups.join(",")).with("--endpoints", self.endpoints());
        workers
            .with("--brokers", &self.settings.kafka)
            .with("--sinks", self.settings.folder.to_string_lossy())
    }

    /// The addresses of its instances, with commas.
    pub(crate) fn endpoints(&self) -> String {
        self.instances.endpoints()
    }

    /// Its etcd.
    pub(crate) const fn etcd(&mut self) -> &mut Etcd {
        &mut self.etcd
    }

    /// How often each instance has written these words into its log.
    pub(crate) fn said(&self, words: &str) -> Result<Vec<usize>> {
        let said = |place| Ok(self.instances.running(place)?.log().matches(words).count());
        (0..INSTANCES).map(said).collect()
    }

    /// Runs `kafka-assigner store restored`, as operators do after they have put a store back.
    pub(crate) fn say_restored(&self) -> Result<()> {
        let mut command = Command::new(self.settings.programs.join("kafka-assigner"));
        command.args(["store", "restored", "--etcd", &self.etcd.endpoint(), "--yes"]);
        let answer = command.stdin(Stdio::null()).output()?;
        if !answer.status.success() {
            bail!("store restored ended with {}: {}", answer.status, String::from_utf8_lossy(&answer.stderr));
        }
        Ok(())
    }

    /// The words of each instance about the owner of a partition, as `kafka-assigner explain` prints them.
    pub(crate) fn explains(&self, group: &str, partition: u32) -> Result<String> {
        let mut explained = String::new();
        for address in self.instances.addresses() {
            let mut command = Command::new(self.settings.programs.join("kafka-assigner"));
            command.args(["explain", group, group, &partition.to_string()]);
            command.args(["--server", &format!("http://{address}")]);
            let answer = command.stdin(Stdio::null()).output()?;
            explained += &String::from_utf8_lossy(&answer.stdout);
        }
        Ok(explained)
    }

    /// Runs a command of `kafka-assigner` that operators have; returns what it prints.
    pub(crate) fn operates(&self, arguments: &[&str]) -> Result<String> {
        let address = *self.instances.addresses().first().context("there is no instance")?;
        let mut command = Command::new(self.settings.programs.join("kafka-assigner"));
        command.args(arguments).args(["--server", &format!("http://{address}")]);
        let answer = command.stdin(Stdio::null()).output()?;
        if !answer.status.success() {
            let said = String::from_utf8_lossy(&answer.stderr);
            bail!("{} ended with {}: {said}", arguments.join(" "), answer.status);
        }
        Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
    }

    /// The metrics of all instances that run, each of which has written into its log where it tells them.
    pub(crate) fn metrics(&self) -> Result<String> {
        let metrics = |place| {
            let Ok(running) = self.instances.running(place) else { return Ok(String::new()) };
            let log = running.log();
            let listens = log.lines().find(|line| line.contains("listening")).unwrap_or_default();
            let port = listens.rsplit("127.0.0.1:").next().unwrap_or_default();
            let port: String = port.chars().take_while(char::is_ascii_digit).collect();
            let mut stream = TcpStream::connect(format!("127.0.0.1:{port}"))?;
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        (0..self.instances.addresses().len()).map(metrics).collect()
    }

    /// The instances that ended although nobody ended them.
    pub(crate) fn deaths(&mut self) -> Result<usize> {
        Ok(self.instances.deaths()?.len())
    }

    /// The name of this site.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Ends the instances in good order.
    pub(crate) async fn stop(self) -> Result<()> {
        self.instances.stop().await
    }
}

impl Group {
    /// True if so many consumers have even shares of so many partitions, and nothing moves.
    pub(crate) fn is_shared(&self, consumers: usize, partitions: u32) -> bool {
        is_settled(&self.observing.look().state, consumers, partitions)
    }

    /// The name of the instance that leads it.
    pub(crate) fn leader(&self) -> Option<String> {
        let seen = self.observing.look();
        Some(seen.state.leader()?.last_good()?.instance.clone())
    }

    /// Waits until so many consumers have even shares of so many partitions, and nothing moves; says so where that does not
    /// happen within `bound`, which the report shows then.
    pub(crate) async fn settles(
        &self,
        site: &Site,
        consumers: usize,
        partitions: u32,
        bound: Duration,
    ) -> Result<()> {
        let look = || {
            if self.observing.has_ended() {
                bail!("the watch of etcd has ended");
            }
            Ok(is_settled(&self.observing.look().state, consumers, partitions).then_some(()))
        };
        if within(bound, LOOK, look).await?.is_none() {
            let owned = owned(&self.observing.look().state);
            site.tell(&format!("{}: not settled after {} s: {owned:?}", self.name, bound.as_secs()));
        }
        Ok(())
    }
}

impl Group {
    /// The consumer that owns a partition of its topic.
    pub(crate) fn owner_of(&self, partition: u32) -> Option<String> {
        self.owners().into_iter().find(|(at, _)| *at == partition).map(|(_, owner)| owner)
    }

    /// The partitions of its topic that are moving.
    pub(crate) fn moving(&self) -> Vec<u32> {
        self.observing.look().state.handoffs().keys().map(|at| at.partition).collect()
    }

    /// The partitions of its topic, each with its owner.
    pub(crate) fn owners(&self) -> Vec<(u32, String)> {
        let seen = self.observing.look();
        let owned = seen.state.assignments().iter().filter(|(at, _)| seen.state.exists(at));
        let owner = |(at, entry): (&TopicPartition, &Entry<Assignment>)| {
            Some((at.partition, entry.last_good()?.owner.as_ref()?.name.to_string()))
        };
        owned.filter_map(owner).collect()
    }
}

/// True if so many consumers have even shares of so many partitions, and nothing moves.
fn is_settled(state: &GroupState, consumers: usize, partitions: u32) -> bool {
    let owned = owned(state);
    let (most, least) = (owned.values().max(), owned.values().min());
    owned.len() == consumers
        && owned.values().sum::<u32>() == partitions
        && most.zip(least).is_some_and(|(most, least)| most - least <= 1)
        && state.handoffs().is_empty()
}

/// The number of partitions that each registered consumer owns. Assignments of partitions that are gone count for
/// nothing: in the strict modes they stay while their owner lives.
fn owned(state: &GroupState) -> BTreeMap<MemberName, u32> {
    let mut owned: BTreeMap<MemberName, u32> =
        state.consumers().keys().map(|name| (name.clone(), 0)).collect();
    let there = state.assignments().iter().filter(|(at, _)| state.exists(at));
    for owner in there.filter_map(|(_, entry)| entry.last_good()?.owner.as_ref()) {
        *owned.entry(owner.name.clone()).or_default() += 1;
    }
    owned
}
