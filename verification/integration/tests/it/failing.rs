//! A record that fails for long, from the handler of a consumer to the operator who asks an instance.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kafka_assigner_client::FailingPartition;
use kafka_assigner_client::prelude::*;
use kafka_assigner_proto::v1::{
    ExplainRequest, ExplainResponse, FailingRecord, GroupConfig, SetGroupConfigRequest, SetTopicRequest,
    Topic,
};
use kafka_assigner_server::serve::{Listeners, ServeOptions, serve};
use kafka_assigner_server::{AdminService, Instance, Options};
use kafka_assigner_store::MemoryStore;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

/// Whatever has to come, comes within this time on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A handler whose next record fails for as long as the test says.
#[derive(Clone, Default)]
struct Work {
    failing: Arc<Mutex<Vec<FailingPartition>>>,
}

impl Work {
    fn fails(&self, partition: &TopicPartition, epoch: Epoch) {
        let (partition, offset) = (partition.clone(), Offset::new(977).expect("an offset"));
        let reason = "no connection to the database".to_owned();
        let failing = FailingPartition { partition, epoch, offset, reason, since_unix_ms: 1_790_046_720_000 };
        *self.failing.lock().expect("noting does not panic") = vec![failing];
    }

    fn goes_on(&self) {
        self.failing.lock().expect("noting does not panic").clear();
    }
}

#[async_trait]
impl PartitionHandler for Work {
    async fn assigned(&self, context: &OwnedContext) -> Result<(), HandlerError> {
        self.fails(context.partition(), context.epoch());
        Ok(())
    }

    fn failing(&self) -> Vec<FailingPartition> {
        self.failing.lock().expect("noting does not panic").clone()
    }
}

/// An instance with a group of one partition and short sessions, so that heartbeats come often; returns its address.
async fn start(stop: &CancellationToken) -> (AdminService, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let address = format!("http://{}", listener.local_addr().expect("it is bound"));
    let options = Options::new("i1", address.clone(), 1);
    let store = Arc::new(MemoryStore::new());
    let instance =
        Instance::start(store, options, None, &mut Registry::default()).await.expect("the store answers");
    let listeners = Listeners { grpc: listener, http: None };
    tokio::spawn(serve(instance.clone(), listeners, ServeOptions::default(), stop.clone()));
    let admin = AdminService::new(instance);
    let config = Some(GroupConfig { session_timeout_ms: Some(3_000), ..GroupConfig::default() });
    let request = SetGroupConfigRequest { group: "g".to_owned(), config, owners_stopped: false };
    admin.set_group_config(request).await.expect("it is created");
    let topic = Some(Topic { topic: "t".to_owned(), partitions: 1, ..Topic::default() });
    admin.set_topic(SetTopicRequest { group: "g".to_owned(), topic }).await.expect("it is set");
    (admin, address)
}

/// The explanation of the partition once it `holds`.
async fn explained(admin: &AdminService, holds: impl Fn(&ExplainResponse) -> bool) -> ExplainResponse {
    let asking = async {
        loop {
            let request =
                ExplainRequest { group: "g".to_owned(), topic: "t".to_owned(), ..ExplainRequest::default() };
            let answer = admin.explain(request).await.expect("an answer");
            if holds(&answer) {
                return answer;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, asking).await.expect("in time")
}

fn failing(answer: &ExplainResponse) -> Option<&FailingRecord> {
    answer.assignment.as_ref()?.failing.as_ref()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_the_service_sees_a_record_that_fails_until_it_is_handled() {
    let stop = CancellationToken::new();
    let (admin, address) = start(&stop).await;
    let options = ConsumerOptions { group: "g".to_owned(), ..ConsumerOptions::new("a", [address]) };
    let work = Work::default();
    let consumer = Consumer::new(options).expect("the options are valid");
    let leave = CancellationToken::new();
    let end = tokio::spawn(consumer.run(work.clone(), leave.clone()));
    let answer = explained(&admin, |answer| failing(answer).is_some()).await;
    let record = FailingRecord {
        offset: 977,
        reason: "no connection to the database".to_owned(),
        since_unix_ms: 1_790_046_720_000,
    };
    assert_eq!(failing(&answer), Some(&record));
    let words = answer.reasons.join(" ");
    assert!(
        words.contains("At a, the record at offset 977 fails and is tried again: no connection"),
        "{words}"
    );
    work.goes_on();
    let answer = explained(&admin, |answer| failing(answer).is_none()).await;
    assert_eq!(answer.assignment.map(|assignment| assignment.owner).as_deref(), Some("a"), "it kept it");
    leave.cancel();
    timeout(PATIENCE, end).await.expect("in time").expect("no panic").expect("it stops in good order");
    stop.cancel();
}
