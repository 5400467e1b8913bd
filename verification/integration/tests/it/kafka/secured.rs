//! Brokers with certificates and users, made for one test.

use std::fs;
use std::path::PathBuf;

use kafka_assigner_kafka::messages::MetadataRequest;
use kafka_assigner_kafka::{
    BrokerTls, Cluster, Connector, Error, Identity, Login, Mechanism, NobodyAnswered, Options, PasswordOrigin,
};
use kafka_assigner_rig::{KafkaCluster, KafkaClusterConfig, kafka_jars};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// The user that the tests log in as, with its password.
pub(super) const USER: (&str, &str) = ("assigner", "assigner-secret");

/// Letters that normalising (SASLprep) changes: a ligature, a fraction, a wide space.
pub(super) const UNUSUAL: (&str, &str) = ("unusual", "ﬁn ½ Ⅳ\u{3000}х");

/// An authority with its certificates, as files.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    pub(super) folder: tempfile::TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { issuer, folder }
    }

    pub(super) fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A certificate and its key for somebody who is reached at `host`.
    pub(super) fn sign(&self, name: &str, host: &str) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new([host.to_owned()]).unwrap().signed_by(&key, &self.issuer).unwrap();
        let write = |suffix: &str, pem: String| {
            let file = self.folder.path().join(format!("{name}{suffix}"));
            fs::write(&file, pem).unwrap();
            file
        };
        Identity { certificate: write(".pem", certificate.pem()), key: write(".key", key.serialize_pem()) }
    }

    /// Brokers that this authority has signed; `None` skips the test.
    pub(super) fn brokers(&self, brokers: usize, mutual: bool) -> Option<KafkaCluster> {
        let config = self.config(brokers, mutual)?;
        Some(KafkaCluster::start(&config).unwrap())
    }

    /// The settings of brokers that this authority has signed, each a controller too; `None` skips the test.
    pub(crate) fn config(&self, brokers: usize, mutual: bool) -> Option<KafkaClusterConfig> {
        let jars = kafka_jars()?;
        let Identity { certificate, key } = self.sign("broker", "127.0.0.1");
        let keystore = self.folder.path().join("keystore.pem");
        let both = [key, certificate].map(|file| fs::read_to_string(file).unwrap());
        fs::write(&keystore, both.concat()).unwrap();
        let user = |(user, password): (&str, &str)| (user.to_owned(), password.to_owned());
        Some(KafkaClusterConfig {
            jars,
            brokers,
            controllers: brokers,
            keystore,
            client_authority: mutual.then(|| self.ca()),
            users: vec![user(USER), user(UNUSUAL)],
            properties: Vec::new(),
        })
    }

    pub(super) fn tls(&self, identity: Option<Identity>) -> Option<BrokerTls> {
        Some(BrokerTls { ca: Some(self.ca()), identity })
    }
}

pub(super) fn login(mechanism: Mechanism, (user, password): (&str, &str)) -> Option<Login> {
    let password = PasswordOrigin::Given(password.to_owned());
    Some(Login { mechanism, user: user.to_owned(), password })
}

/// The number of partitions of `topic`, as a cluster says that is reached so.
pub(super) async fn ask(options: &Options, topic: &str) -> Result<usize, NobodyAnswered> {
    let answers = Cluster::new(options).unwrap().topics(&[topic.to_owned()].into()).await?;
    Ok(answers.topics.len())
}

/// Creates `topic` through the broker at `address` alone, as a client does that lets brokers create topics, and waits
/// until that broker knows it.
pub(super) async fn create(address: &str, topic: &str) {
    let connector = Connector::new(&Options::new(Vec::new())).unwrap();
    let request = MetadataRequest { allow_auto_topic_creation: true, ..MetadataRequest::of_names([topic]) };
    let created = async {
        loop {
            let asked: Result<_, Error> =
                async { connector.open(&address.parse().unwrap()).await?.call(&request).await }.await;
            if asked.is_ok_and(|(answer, _)| answer.topics[0].error_code == 0) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    let patience = std::time::Duration::from_secs(60);
    tokio::time::timeout(patience, created).await.expect("the topic is created");
}
