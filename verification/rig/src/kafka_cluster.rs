//! Several Kafka brokers of our own, which clients may have to reach over TLS and with a login.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::kafka::{answers, format_storage, java, log_in};
use crate::process::Process;
use crate::{free_port, holds_within};

/// The number of times that other ports are tried when somebody took the ones that were free.
const TRIES: usize = 2;

/// The settings of a [`KafkaCluster`].
#[derive(Debug, Clone)]
pub struct KafkaClusterConfig {
    /// The folder with Kafka's jars.
    pub jars: PathBuf,
    /// The number of brokers.
    pub brokers: usize,
    /// The number of those, from the first on, that are controllers as well; at least 1. The others can be killed, however
    /// many they are, and the rest is told of it.
    pub controllers: usize,
    /// The brokers' certificate chain and private key, one PEM file; reached as `127.0.0.1`.
    pub keystore: PathBuf,
    /// The authorities whose certificates clients must show, a PEM file; `None`: they need none.
    pub client_authority: Option<PathBuf>,
    /// The users with their passwords. All can log in by SCRAM-SHA-256 and SCRAM-SHA-512, and by PLAIN where the
    /// password is ASCII: a file of properties has no other letters.
    pub users: Vec<(String, String)>,
    /// More of the brokers' own properties, as `name=value`; the last one of a name counts.
    pub properties: Vec<String>,
}

/// KRaft nodes on loopback ports, all of them brokers, ended when dropped. Each has two listeners: one with TLS and a
/// login, and one for themselves and for tests, without either.
#[derive(Debug)]
pub struct KafkaCluster {
    nodes: Vec<KafkaNode>,
    /// Removed last.
    _folder: TempDir,
}

#[derive(Debug)]
struct KafkaNode {
    jars: PathBuf,
    ports: NodePorts,
    folder: PathBuf,
    /// `None` = it was killed.
    process: Option<Process>,
}

#[derive(Debug, Clone, Copy)]
struct NodePorts {
    secured: u16,
    plain: u16,
    controller: u16,
}

impl KafkaCluster {
    /// Starts the brokers and waits until each answers; needs `java`.
    ///
    /// # Errors
    /// When Java can't be started, or a broker does not answer in 90 s; the end of its log is in the text.
    pub fn start(config: &KafkaClusterConfig) -> io::Result<Self> {
        let mut last = None;
        for _ in 0..TRIES {
            match Self::try_start(config) {
                Ok(cluster) => return Ok(cluster),
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("there is at least one try"))
    }

    fn try_start(config: &KafkaClusterConfig) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("kafka-assigner-brokers-").tempdir()?;
        let ports = (0..config.brokers).map(|_| NodePorts::free()).collect::<io::Result<Vec<_>>>()?;
        let start = |number| KafkaNode::start(config, number, &ports, folder.path());
        let nodes = (0..config.brokers).map(start).collect::<io::Result<Vec<_>>>()?;
        let mut cluster = Self { nodes, _folder: folder };
        cluster.nodes.iter_mut().try_for_each(KafkaNode::wait)?;
        Ok(cluster)
    }

    /// The address at which clients reach the broker over TLS and with a login, as `host:port`.
    ///
    /// # Panics
    /// There is no broker of that number, from 0.
    #[must_use]
    pub fn secured_address(&self, broker: usize) -> String {
        format!("127.0.0.1:{}", self.nodes[broker].ports.secured)
    }

    /// The address at which a test reaches the broker without either.
    ///
    /// # Panics
    /// There is no broker of that number, from 0.
    #[must_use]
    pub fn plain_address(&self, broker: usize) -> String {
        format!("127.0.0.1:{}", self.nodes[broker].ports.plain)
    }

    /// Stops a broker from running without ending it, as a machine that hangs.
    ///
    /// # Errors
    /// When it is gone, or does not stand still.
    ///
    /// # Panics
    /// There is no broker of that number, from 0.
    pub fn freeze(&self, broker: usize) -> io::Result<()> {
        self.nodes[broker].running()?.freeze()
    }

    /// Lets a frozen broker go on.
    ///
    /// # Errors
    /// When it is gone.
    ///
    /// # Panics
    /// There is no broker of that number, from 0.
    pub fn thaw(&self, broker: usize) -> io::Result<()> {
        self.nodes[broker].running()?.thaw()
    }

    /// Kills a broker, without a word to anybody; its data stay.
    ///
    /// # Panics
    /// There is no broker of that number, from 0.
    pub fn kill(&mut self, broker: usize) {
        self.nodes[broker].process = None;
    }

    /// Starts a broker again that was killed, on the same ports and data, and waits until it answers.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    ///
    /// # Panics
    /// There is no broker of that number, from 0.
    pub fn restart(&mut self, broker: usize) -> io::Result<()> {
        let node = &mut self.nodes[broker];
        node.process = None;
        node.launch()?;
        node.wait()
    }
}

impl NodePorts {
    fn free() -> io::Result<Self> {
        Ok(Self { secured: free_port()?, plain: free_port()?, controller: free_port()? })
    }
}

impl KafkaNode {
    fn start(
        config: &KafkaClusterConfig,
        number: usize,
        all: &[NodePorts],
        folder: &Path,
    ) -> io::Result<Self> {
        let folder = folder.join(number.to_string());
        fs::create_dir(&folder)?;
        let file = folder.join("server.properties");
        let own = properties(config, number, all, &folder.join("data"));
        fs::write(&file, own + &config.properties.join("\n"))?;
        // Users are kept by the controllers.
        let users = if number < config.controllers { scram_users(&config.users) } else { Vec::new() };
        format_storage(&config.jars, &file, &folder.join("log"), &users)?;
        let mut node = Self { jars: config.jars.clone(), ports: all[number], folder, process: None };
        node.launch()?;
        Ok(node)
    }

    fn launch(&mut self) -> io::Result<()> {
        let mut broker = java(&self.jars, &self.folder.join("log"))?;
        broker.arg("kafka.Kafka").arg(self.folder.join("server.properties"));
        self.process = Some(Process::spawn(&mut broker)?);
        Ok(())
    }

    fn running(&self) -> io::Result<&Process> {
        self.process.as_ref().ok_or_else(|| io::Error::other("the broker was killed"))
    }

    fn wait(&mut self) -> io::Result<()> {
        let port = self.ports.plain;
        let process = self.process.as_mut().ok_or_else(|| io::Error::other("the broker was killed"))?;
        let mut ended = false;
        let settled = holds_within(crate::kafka::START, || {
            ended = process.exit_status().is_ok_and(|status| status.is_some());
            ended || answers(port).is_ok()
        });
        if settled && !ended {
            return Ok(());
        }
        let log = log_in(&self.folder);
        Err(io::Error::other(format!("a broker did not come up; its log ends with\n{log}")))
    }
}

fn scram_users(users: &[(String, String)]) -> Vec<String> {
    let of = |mechanism: &str, (user, password): &(String, String)| {
        ["--add-scram".to_owned(), format!("{mechanism}=[name={user},password={password}]")]
    };
    let both =
        users.iter().flat_map(|user| ["SCRAM-SHA-256", "SCRAM-SHA-512"].map(|mechanism| of(mechanism, user)));
    both.flatten().collect()
}

/// As few replicas and index bytes as one broker has; see there. Partitions of topics that brokers make by themselves
/// are three.
fn properties(config: &KafkaClusterConfig, number: usize, all: &[NodePorts], data: &Path) -> String {
    let NodePorts { secured, plain, controller } = all[number];
    let voter = |(id, ports): (usize, &NodePorts)| format!("{id}@127.0.0.1:{}", ports.controller);
    let voters = all.iter().enumerate().take(config.controllers).map(voter).collect::<Vec<_>>().join(",");
    let (roles, of_controller) = match number < config.controllers {
        true => ("broker,controller", format!(",CONTROLLER://127.0.0.1:{controller}")),
        false => ("broker", String::new()),
    };
    let login = |module: &str| format!("org.apache.kafka.common.security.{module} required");
    let in_ascii = config.users.iter().filter(|(_, password)| password.is_ascii());
    let plain_users: String =
        in_ascii.map(|(user, password)| format!(" user_{user}=\"{password}\"")).collect();
    let authority = config.client_authority.as_ref().map_or_else(String::new, |authority| {
        let location = authority.display();
        format!(
            "listener.name.secured.ssl.client.auth=required\n\
             listener.name.secured.ssl.truststore.type=PEM\n\
             listener.name.secured.ssl.truststore.location={location}\n"
        )
    });
    let (keystore, data) = (config.keystore.display(), data.display());
    let (scram, by_plain) = (login("scram.ScramLoginModule"), login("plain.PlainLoginModule"));
    format!(
        "process.roles={roles}\n\
         node.id={number}\n\
         controller.quorum.voters={voters}\n\
         listeners=SECURED://127.0.0.1:{secured},PLAIN://127.0.0.1:{plain}{of_controller}\n\
         advertised.listeners=SECURED://127.0.0.1:{secured},PLAIN://127.0.0.1:{plain}\n\
         controller.listener.names=CONTROLLER\n\
         inter.broker.listener.name=PLAIN\n\
         listener.security.protocol.map=SECURED:SASL_SSL,PLAIN:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
         sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512\n\
         listener.name.secured.scram-sha-256.sasl.jaas.config={scram};\n\
         listener.name.secured.scram-sha-512.sasl.jaas.config={scram};\n\
         listener.name.secured.plain.sasl.jaas.config={by_plain}{plain_users};\n\
         listener.name.secured.ssl.keystore.type=PEM\n\
         listener.name.secured.ssl.keystore.location={keystore}\n\
         {authority}\
         log.dirs={data}\n\
         num.partitions=3\n\
         offsets.topic.replication.factor=1\n\
         offsets.topic.num.partitions=1\n\
         transaction.state.log.replication.factor=1\n\
         transaction.state.log.min.isr=1\n\
         transaction.state.log.num.partitions=1\n\
         share.coordinator.state.topic.replication.factor=1\n\
         share.coordinator.state.topic.min.isr=1\n\
         log.index.size.max.bytes=65536\n"
    )
}
