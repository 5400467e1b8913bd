//! One etcd process of our own.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::{Process, free_port, holds_within};

/// etcd answers within half a second; a loaded two-core machine may take many times that.
const START: Duration = Duration::from_secs(30);

/// The most times that other ports are tried when somebody took the ones that were free.
const TRIES: usize = 3;

/// The settings with which an [`Etcd`] is started.
#[derive(Debug, Clone)]
pub struct EtcdConfig {
    /// The program.
    pub binary: PathBuf,
    /// Certificates for the client port; none means plain text.
    pub tls: Option<EtcdTls>,
    /// More of the program's own options, as `--name=value`.
    pub arguments: Vec<String>,
}

impl EtcdConfig {
    /// Plain text, and etcd's defaults for the rest.
    #[must_use]
    pub const fn new(binary: PathBuf) -> Self {
        Self { binary, tls: None, arguments: Vec::new() }
    }
}

/// The PEM files of an [`Etcd`] that speaks TLS and asks its clients for a certificate.
#[derive(Debug, Clone)]
pub struct EtcdTls {
    /// The server's certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The authority that must have signed the clients' certificates.
    pub client_authority: PathBuf,
}

/// An etcd member on loopback ports with a data folder of its own, ended when dropped.
///
/// It does not sync to disk: its data outlives its process, not the machine.
#[derive(Debug)]
pub struct Etcd {
    config: EtcdConfig,
    ports: Ports,
    name: String,
    /// Every member's `name=peer URL`, with commas.
    cluster: String,
    folder: TempDir,
    process: Option<Process>,
}

/// The ports of one member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    client: u16,
    peer: u16,
    /// Answers `/health` in plain text, whatever the client port wants.
    metrics: u16,
}

impl Ports {
    /// Three that were free a moment ago.
    pub(crate) fn free() -> io::Result<Self> {
        Ok(Self { client: free_port()?, peer: free_port()?, metrics: free_port()? })
    }

    /// The URL at which the other members reach this one.
    pub(crate) fn peer_url(self) -> String {
        format!("http://127.0.0.1:{}", self.peer)
    }
}

impl Etcd {
    /// Starts a member and waits until it answers.
    ///
    /// # Errors
    /// When the program can't be started or does not answer in 30 s; the end of its log is in the text.
    pub fn start(config: &EtcdConfig) -> io::Result<Self> {
        let mut last = None;
        for _ in 0..TRIES {
            let mut etcd = Self::alone(config)?;
            match etcd.wait() {
                Ok(()) => return Ok(etcd),
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("there is at least one try"))
    }

    fn alone(config: &EtcdConfig) -> io::Result<Self> {
        let ports = Ports::free()?;
        Self::spawn(config, ports, "default".to_owned(), format!("default={}", ports.peer_url()))
    }

    /// Starts the member `name` of `cluster`, which answers once most of the members run.
    pub(crate) fn spawn(
        config: &EtcdConfig,
        ports: Ports,
        name: String,
        cluster: String,
    ) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("kafka-assigner-etcd-").tempdir()?;
        let mut etcd = Self { config: config.clone(), ports, name, cluster, folder, process: None };
        etcd.launch()?;
        Ok(etcd)
    }

    /// The URL of the client port.
    #[must_use]
    pub fn endpoint(&self) -> String {
        let scheme = if self.config.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.ports.client)
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

    /// Stops the process from running: its connections stay open and nothing answers.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn freeze(&self) -> io::Result<()> {
        self.running()?.freeze()
    }

    /// Lets a frozen process go on.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn thaw(&self) -> io::Result<()> {
        self.running()?.thaw()
    }

    /// True if it says that it is healthy: it runs, and sees a leader of its cluster.
    #[must_use]
    pub fn answers(&self) -> bool {
        is_healthy(self.ports.metrics)
    }

    fn running(&self) -> io::Result<&Process> {
        self.process.as_ref().ok_or_else(|| io::Error::other("etcd is not running"))
    }

    fn launch(&mut self) -> io::Result<()> {
        let log = File::options().create(true).append(true).open(self.log())?;
        let mut command = Command::new(&self.config.binary);
        command.args(self.arguments()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.process = Some(Process::spawn(&mut command)?);
        Ok(())
    }

    /// The options that say which member of which cluster it is, and where its data are: those of `etcd` and of
    /// `etcdutl snapshot restore` alike.
    pub(crate) fn membership(&self) -> Vec<String> {
        vec![
            format!("--name={}", self.name),
            format!("--data-dir={}", self.data().display()),
            format!("--initial-advertise-peer-urls={}", self.ports.peer_url()),
            format!("--initial-cluster={}", self.cluster),
        ]
    }

    fn arguments(&self) -> Vec<String> {
        let (client, peer) = (self.endpoint(), self.ports.peer_url());
        let mut arguments = self.membership();
        arguments.extend([
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--listen-metrics-urls=http://127.0.0.1:{}", self.ports.metrics),
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ]);
        arguments.extend(self.config.tls.iter().flat_map(tls_arguments));
        arguments.extend(self.config.arguments.iter().cloned());
        arguments
    }

    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Waits until the member answers.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        let mut ended = None;
        let metrics = self.ports.metrics;
        let process = self.process.as_mut().ok_or_else(|| io::Error::other("etcd is not running"))?;
        let settled = holds_within(START, || {
            ended = process.exit_status().ok().flatten();
            ended.is_some() || is_healthy(metrics)
        });
        if settled && ended.is_none() {
            return Ok(());
        }
        Err(io::Error::other(format!("etcd did not come up; its log ends with\n{}", tail(&self.log()))))
    }
}

fn tls_arguments(tls: &EtcdTls) -> [String; 4] {
    [
        format!("--cert-file={}", tls.certificate.display()),
        format!("--key-file={}", tls.key.display()),
        format!("--trusted-ca-file={}", tls.client_authority.display()),
        "--client-cert-auth".to_owned(),
    ]
}

fn is_healthy(port: u16) -> bool {
    ask_health(port).is_ok_and(|answer| answer.contains(r#""health":"true""#))
}

fn ask_health(port: u16) -> io::Result<String> {
    let bound = Duration::from_secs(2);
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), bound)?;
    stream.set_read_timeout(Some(bound))?;
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(64 * 1024).read_to_string(&mut answer)?;
    Ok(answer)
}

/// The last lines of a server's log, for an error's text.
pub(crate) fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_else(|error| error.to_string());
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(10)..].join("\n")
}
