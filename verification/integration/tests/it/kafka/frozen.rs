//! `kafka-assigner serve` next to three secured brokers of which one hangs.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kafka_assigner_proto::v1::admin_client::AdminClient;
use kafka_assigner_proto::v1::kafka_assigner_client::KafkaAssignerClient;
use kafka_assigner_proto::v1::{Capability, ListTopicsRequest, RegisterRequest, Renewal, Topic};
use kafka_assigner_rig::{KafkaCluster, Process, free_port, holds_within, program};
use tonic::transport::Channel;

use super::secured::{Authority, USER, create};

const BROKERS: usize = 3;

/// The promise: a broker has 2 s to answer, and another one answers after it; the rest is for a busy machine.
const FOUND_WITHIN: Duration = Duration::from_secs(5);

/// A running service, ended when dropped.
struct Serving {
    address: String,
    _process: Process,
}

impl Serving {
    fn start(program: &Path, authority: &Authority, brokers: &KafkaCluster) -> Self {
        let folder = authority.folder.path();
        let (grpc, http) = (free_port().unwrap(), free_port().unwrap());
        let addresses: Vec<String> = (0..BROKERS).map(|broker| brokers.secured_address(broker)).collect();
        let config = format!(
            "listen = \"127.0.0.1:{grpc}\"\n\
             http_listen = \"127.0.0.1:{http}\"\n\
             data = {:?}\n\
             kafka = {addresses:?}\n\
             kafka_tls = true\n\
             kafka_ca = {:?}\n\
             kafka_sasl_mechanism = \"SCRAM-SHA-512\"\n\
             kafka_user = {:?}\n",
            folder.join("store.redb"),
            authority.ca(),
            USER.0,
        );
        let file = folder.join("assigner.toml");
        fs::write(&file, config).unwrap();
        let mut command = Command::new(program);
        command.arg("serve").arg("--config").arg(file).env("KAFKA_ASSIGNER_KAFKA_PASSWORD", USER.1);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(folder.join("serve.log")).unwrap());
        let process = Process::spawn(&mut command).unwrap();
        let listens = || TcpStream::connect(("127.0.0.1", grpc)).is_ok();
        assert!(holds_within(Duration::from_secs(30), listens), "{}", log(authority));
        Self { address: format!("http://127.0.0.1:{grpc}"), _process: process }
    }

    async fn channel(&self) -> Channel {
        Channel::from_shared(self.address.clone()).unwrap().connect().await.unwrap()
    }
}

fn log(authority: &Authority) -> String {
    fs::read_to_string(authority.folder.path().join("serve.log")).unwrap_or_default()
}

/// The topic as the group has it, once a consumer has named it.
async fn found(channel: &Channel, topic: &str) -> Topic {
    let request = RegisterRequest {
        consumer_name: format!("of-{topic}"),
        group: "g".to_owned(),
        incarnation: format!("of-{topic}-1"),
        topics: vec![topic.to_owned()],
        renewal: Renewal::Server.into(),
        capabilities: [Capability::Snapshot].map(Into::into).to_vec(),
        ..RegisterRequest::default()
    };
    let stream = KafkaAssignerClient::new(channel.clone()).register(request).await.unwrap();
    let mut admin = AdminClient::new(channel.clone());
    loop {
        let request = ListTopicsRequest { group: "g".to_owned(), ..ListTopicsRequest::default() };
        let listed = admin.list_topics(request).await.unwrap().into_inner().topics;
        if let Some(found) = listed.into_iter().find(|listed| listed.topic == topic) {
            drop(stream);
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_topic_is_found_while_each_broker_in_turn_is_frozen() {
    let authority = Authority::new();
    let Some(program) = program("kafka-assigner") else { return };
    let Some(brokers) = authority.brokers(BROKERS, false) else { return };
    let serving = Serving::start(&program, &authority, &brokers);
    let channel = serving.channel().await;
    // The connection that is kept is one to the first broker from now on.
    create(&brokers.plain_address(0), "before").await;
    assert_eq!(found(&channel, "before").await.partitions, 3, "{}", log(&authority));

    for frozen in 0..BROKERS {
        let topic = format!("while-{frozen}-hangs");
        brokers.freeze(frozen).unwrap();
        // A quorum of two goes on, after an election where the leader was frozen.
        create(&brokers.plain_address((frozen + 1) % BROKERS), &topic).await;
        let since = Instant::now();
        let topic = tokio::time::timeout(FOUND_WITHIN, found(&channel, &topic)).await;
        println!("broker {frozen} frozen: found after {:?}", since.elapsed());
        brokers.thaw(frozen).unwrap();
        let topic = topic.unwrap_or_else(|_| panic!("not found in time: {}", log(&authority)));
        assert_eq!((topic.partitions, topic.topic_id.len()), (3, 22));
    }
}
