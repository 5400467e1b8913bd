//! One Kafka broker of our own.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::etcd::tail;
use crate::{Process, free_port, holds_within};

/// A broker answers after about three seconds; a loaded two-core machine may take many times that.
pub(crate) const START: Duration = Duration::from_secs(90);

/// The most times that other ports are tried when somebody took the ones that were free.
const TRIES: usize = 3;

/// Names the cluster in its storage; any fixed id of Kafka's form (16 bytes in base64) will do.
const CLUSTER_ID: &str = "S2Fma2FBc3NpZ25lclRlcw";

/// A KRaft node on loopback ports that is broker and controller at once, ended when dropped.
#[derive(Debug)]
pub struct Kafka {
    jars: PathBuf,
    port: u16,
    folder: TempDir,
    process: Option<Process>,
}

impl Kafka {
    /// Starts a broker from a folder with Kafka's jars and waits until it answers; needs `java`.
    ///
    /// # Errors
    /// When Java can't be started, or the broker does not answer in 90 s; the end of its log is in the text.
    pub fn start(jars: &Path) -> io::Result<Self> {
        Self::start_with(jars, &[])
    }

    /// The same, with more of the broker's own properties, as `name=value`.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn start_with(jars: &Path, properties: &[&str]) -> io::Result<Self> {
        let mut last = None;
        for _ in 0..TRIES {
            let mut kafka = Self::spawn(jars, properties)?;
            match kafka.wait() {
                Ok(()) => return Ok(kafka),
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("there is at least one try"))
    }

    fn spawn(jars: &Path, properties: &[&str]) -> io::Result<Self> {
        let (port, controller) = (free_port()?, free_port()?);
        let folder = tempfile::Builder::new().prefix("kafka-assigner-kafka-").tempdir()?;
        let file = folder.path().join("server.properties");
        let own = server_properties(port, controller, &folder.path().join("data"));
        fs::write(&file, own + &properties.join("\n"))?;
        format_storage(jars, &file, &log_of(&folder), &[])?;
        let mut kafka = Self { jars: jars.to_owned(), port, folder, process: None };
        kafka.launch()?;
        Ok(kafka)
    }

    /// The file with the first records of a partition.
    #[must_use]
    pub fn first_segment(&self, topic: &str, partition: u32) -> PathBuf {
        let folder = self.folder.path().join("data").join(format!("{topic}-{partition}"));
        folder.join("00000000000000000000.log")
    }

    fn launch(&mut self) -> io::Result<()> {
        let mut broker = java(&self.jars, &log_of(&self.folder))?;
        broker.arg("kafka.Kafka").arg(self.folder.path().join("server.properties"));
        self.process = Some(Process::spawn(&mut broker)?);
        Ok(())
    }

    /// Kills the process, without a word to its clients; the data stay.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Starts the process again on the same ports and data, and waits until it answers.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn restart(&mut self) -> io::Result<()> {
        self.kill();
        self.launch()?;
        self.wait()
    }

    /// The address to which clients connect first, as `host:port`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The id of the process, for a look at what it takes; `None` = it was killed.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    fn wait(&mut self) -> io::Result<()> {
        let (mut ended, port) = (None, self.port);
        let process = self.process.as_mut().ok_or_else(|| io::Error::other("Kafka is not running"))?;
        let settled = holds_within(START, || {
            ended = process.exit_status().ok().flatten();
            ended.is_some() || answers(port).is_ok()
        });
        if settled && ended.is_none() {
            return Ok(());
        }
        let log = tail(&log_of(&self.folder));
        Err(io::Error::other(format!("Kafka did not come up; its log ends with\n{log}")))
    }
}

fn log_of(folder: &TempDir) -> PathBuf {
    folder.path().join("log")
}

pub(crate) fn java(jars: &Path, log: &Path) -> io::Result<Command> {
    let log = File::options().create(true).append(true).open(log)?;
    let mut command = Command::new("java");
    command.arg("-Xmx512m").arg("-cp").arg(jars.join("*"));
    // Java reads its arguments as the locale says.
    command.env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(command)
}

/// The end of the log of a broker whose files are in `folder`.
pub(crate) fn log_in(folder: &Path) -> String {
    tail(&folder.join("log"))
}

/// Formats the storage of a broker; `more` are arguments of the tool.
pub(crate) fn format_storage(jars: &Path, properties: &Path, log: &Path, more: &[String]) -> io::Result<()> {
    let mut command = java(jars, log)?;
    command.args(["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c"]).arg(properties).args(more);
    let mut process = Process::spawn(&mut command)?;
    let mut status = None;
    holds_within(START, || {
        status = process.exit_status().ok().flatten();
        status.is_some()
    });
    if status.is_some_and(|status| status.success()) {
        return Ok(());
    }
    Err(io::Error::other(format!("Kafka's storage can't be formatted; its log ends with\n{}", tail(log))))
}

/// Everything on one node: no replicas of the internal topics, and groups that form at once. Small index files: the
/// kernel fills them with zeros when they are first written to, and by default each partition has two of 10 MB. On a
/// disk that is read ahead by megabytes, that takes a broker with many partitions half a minute.
fn server_properties(port: u16, controller: u16, data: &Path) -> String {
    let data = data.display();
    format!(
        "process.roles=broker,controller\n\
         node.id=1\n\
         controller.quorum.voters=1@127.0.0.1:{controller}\n\
         listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
         advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n\
         controller.listener.names=CONTROLLER\n\
         listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
         log.dirs={data}\n\
         offsets.topic.replication.factor=1\n\
         offsets.topic.num.partitions=5\n\
         transaction.state.log.replication.factor=1\n\
         transaction.state.log.min.isr=1\n\
         transaction.state.log.num.partitions=5\n\
         share.coordinator.state.topic.replication.factor=1\n\
         share.coordinator.state.topic.min.isr=1\n\
         log.index.size.max.bytes=65536\n\
         group.initial.rebalance.delay.ms=0\n"
    )
}

/// Asks for the versions that the broker speaks (`ApiVersions` 0), which it answers once it serves.
pub(crate) fn answers(port: u16) -> io::Result<()> {
    const REQUEST: [u8; 14] = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff];
    let bound = Duration::from_secs(2);
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), bound)?;
    stream.set_read_timeout(Some(bound))?;
    stream.write_all(&REQUEST)?;
    let mut answer = [0; 10];
    stream.read_exact(&mut answer)?;
    let (correlation, error) = (&answer[4..8], &answer[8..10]);
    if correlation == [0, 0, 0, 7] && error == [0, 0] {
        return Ok(());
    }
    Err(io::Error::other("not a Kafka broker's answer"))
}
