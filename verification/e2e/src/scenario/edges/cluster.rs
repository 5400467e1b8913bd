//! A cluster of two brokers, which ask for TLS and a login unless they are reached beside that.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_rig::{KafkaCluster, KafkaClusterConfig, topics, until};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;
use tokio::task::block_in_place;

use crate::scenario::settings::Settings;
use crate::scenario::site::Site;

/// The broker that stays, and keeps the offsets of all groups.
pub(super) const STEADY: i32 = 0;

/// The broker that hangs, and is killed.
pub(super) const SHAKY: i32 = 1;

/// The user with the password.
const USER: (&str, &str) = ("edges", "edges-secret");

/// Kafka's own topic of committed offsets.
const OFFSETS: &str = "__consumer_offsets";

/// A broker is known to the other one within seconds.
const JOINS: Duration = Duration::from_secs(60);

/// The cluster, with the files of its certificates.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) brokers: KafkaCluster,
    folder: TempDir,
}

impl Cluster {
    /// Starts the brokers.
    pub(super) async fn start(settings: &Settings) -> Result<Self> {
        let jars = settings.kafka_jars.clone().context("the scenario needs the folder with Kafka's jars")?;
        let folder = tempfile::Builder::new().prefix("kafka-assigner-edges-").tempdir()?;
        let config = KafkaClusterConfig {
            jars,
            brokers: 2,
            controllers: 1,
            keystore: certify(folder.path())?,
            client_authority: None,
            users: vec![(USER.0.to_owned(), USER.1.to_owned())],
            properties: Vec::new(),
        };
        let cluster = Self { brokers: block_in_place(|| KafkaCluster::start(&config))?, folder };
        cluster.keep_offsets().await?;
        Ok(cluster)
    }

    /// The offsets of all groups are kept by the broker that stays.
    async fn keep_offsets(&self) -> Result<()> {
        let begun = std::time::Instant::now();
        // The controller may not know the broker yet.
        while let Err(error) = topics::place(&self.plain(), OFFSETS, &[STEADY], "compact").await {
            anyhow::ensure!(begun.elapsed() < JOINS, "{OFFSETS} can't be made: {error}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    }

    /// The address without TLS and login, as "host:port".
    pub(super) fn plain(&self) -> String {
        self.brokers.plain_address(0)
    }

    /// The settings of the scenario with this cluster in place of the broker.
    pub(super) fn settings(&self, settings: &Settings) -> Settings {
        Settings { kafka: self.plain(), ..settings.clone() }
    }

    /// An etcd with instances that reach the cluster over TLS.
    pub(super) async fn site(&self, settings: &Settings) -> Result<Site> {
        let address = self.brokers.secured_address(0);
        let ca = self.ca();
        Site::start_secured(settings, "edges-secured", &address, (&ca, USER.0, USER.1)).await
    }

    /// The brokers for consumers that connect over TLS, with the settings that this needs.
    pub(super) fn secured(&self) -> (String, Vec<String>) {
        let settings = [
            "security.protocol=sasl_ssl".to_owned(),
            "sasl.mechanism=SCRAM-SHA-512".to_owned(),
            format!("sasl.username={}", USER.0),
            format!("sasl.password={}", USER.1),
            format!("ssl.ca.location={}", self.ca().display()),
        ];
        (self.brokers.secured_address(0), settings.into())
    }

    fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Kills the broker that is shaky, and waits until so many partitions of `topic` have no leader.
    pub(super) async fn kill(&mut self, topic: &str, leaderless: usize) -> Result<()> {
        self.brokers.kill(SHAKY.unsigned_abs() as usize);
        let kafka = self.plain();
        let are = || Ok((block_in_place(|| topics::leaderless(&kafka, topic))? == leaderless).then_some(()));
        until("the end of its leaderships", JOINS, are).await
    }

    /// Starts it again.
    pub(super) fn restart(&mut self) -> Result<()> {
        Ok(block_in_place(|| self.brokers.restart(SHAKY.unsigned_abs() as usize))?)
    }

    /// Stops it from running.
    pub(super) fn freeze(&self) -> Result<()> {
        Ok(block_in_place(|| self.brokers.freeze(SHAKY.unsigned_abs() as usize))?)
    }

    /// Lets it go on.
    pub(super) fn thaw(&self) -> Result<()> {
        Ok(self.brokers.thaw(SHAKY.unsigned_abs() as usize)?)
    }
}

/// An authority of its own, and what brokers show of it; returns the file of that.
fn certify(folder: &Path) -> Result<PathBuf> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // Of the same name as the certificates that it signs, it would be one of them: OpenSSL takes those for signed by themselves.
    params.distinguished_name.push(DnType::CommonName, "the authority of the edges");
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let broker = CertificateParams::new(["127.0.0.1".to_owned()])?.signed_by(&key, &issuer)?;
    fs::write(folder.join("ca.pem"), issuer.pem())?;
    let keystore = folder.join("keystore.pem");
    fs::write(&keystore, key.serialize_pem() + &broker.pem())?;
    Ok(keystore)
}
