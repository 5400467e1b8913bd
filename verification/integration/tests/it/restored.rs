//! etcd is put back to an earlier state under running instances and consumers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kafka_assigner_client::prelude::*;
use kafka_assigner_proto::v1::{GroupConfig, SetGroupConfigRequest, SetTopicRequest, Topic};
use kafka_assigner_rig::{Etcd, EtcdConfig, etcd_binary};
use kafka_assigner_server::serve::{Listeners, ServeOptions, serve};
use kafka_assigner_server::{AdminService, Instance, Options};
use kafka_assigner_store::{EtcdOptions, EtcdStore, Store as _};
use kafka_assigner_types::kv::{Op, Txn};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Whatever has to come, comes within this time on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// The longest session of the group: so long strict grants wait.
const LONGEST: Duration = Duration::from_secs(10);

const PARTITIONS: u32 = 6;

/// Who began to own a partition under which epoch, in that order.
type Tenures = Vec<(String, u64)>;

/// The tenures of each partition.
#[derive(Debug, Clone, Default)]
struct Ledger(Arc<Mutex<BTreeMap<String, Tenures>>>);

impl Ledger {
    fn note(&self, name: &str, context: &OwnedContext) {
        let (partition, epoch) = (context.partition().to_string(), context.epoch().0);
        let mut ledger = self.0.lock().expect("noting does not panic");
        ledger.entry(partition).or_default().push((name.to_owned(), epoch));
    }

    /// How many partitions each consumer began to own last, of those above `epoch`.
    fn shares_above(&self, epoch: u64) -> BTreeMap<String, u32> {
        let ledger = self.0.lock().expect("noting does not panic");
        let mut shares = BTreeMap::new();
        for (name, _) in ledger.values().filter_map(|held| held.last()).filter(|(_, held)| *held > epoch) {
            *shares.entry(name.clone()).or_default() += 1;
        }
        shares
    }

    fn epochs_never_fall(&self) {
        let ledger = self.0.lock().expect("noting does not panic");
        for (partition, held) in &*ledger {
            assert!(held.is_sorted_by_key(|(_, epoch)| *epoch), "{partition}: {held:?}");
        }
    }

    async fn settles(&self, above: u64, wanted: &[(&str, u32)]) {
        let wanted = wanted.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect();
        let settling = async {
            while self.shares_above(above) != wanted {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let settled = timeout(PATIENCE, settling).await;
        assert!(settled.is_ok(), "{wanted:?} never came: {self:?}");
    }
}

struct Work {
    name: String,
    ledger: Ledger,
}

#[async_trait]
impl PartitionHandler for Work {
    async fn assigned(&self, context: &OwnedContext) -> Result<(), HandlerError> {
        self.ledger.note(&self.name, context);
        Ok(())
    }
}

/// Instances on one etcd, and what stops all.
struct Site {
    etcd: Etcd,
    store: EtcdStore,
    instances: Vec<(Instance, String)>,
    stop: CancellationToken,
}

impl Site {
    /// `None` where there is no etcd.
    async fn start(mode: &str) -> Option<Self> {
        let etcd = Etcd::start(&EtcdConfig::new(etcd_binary()?)).expect("etcd starts");
        let store = EtcdStore::new(&EtcdOptions::new([etcd.endpoint()])).expect("the options are valid");
        let mut site = Self { etcd, store, instances: Vec::new(), stop: CancellationToken::new() };
        site.add(1).await;
        site.add(2).await;
        let admin = AdminService::new(site.instances[0].0.clone());
        let config = GroupConfig {
            mode: Some(mode.to_owned()),
            session_timeout_ms: Some(5_000),
            max_session_timeout_ms: Some(10_000),
            ..GroupConfig::default()
        };
        let request =
            SetGroupConfigRequest { group: "g".to_owned(), config: Some(config), owners_stopped: false };
        admin.set_group_config(request).await.expect("it is created");
        let topic = Topic { topic: "t".to_owned(), partitions: PARTITIONS, ..Topic::default() };
        let request = SetTopicRequest { group: "g".to_owned(), topic: Some(topic) };
        admin.set_topic(request).await.expect("it is set");
        Some(site)
    }

    async fn add(&mut self, number: u64) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let address = format!("http://{}", listener.local_addr().expect("it is bound"));
        let store = EtcdStore::new(&EtcdOptions::new([self.etcd.endpoint()])).expect("the options are valid");
        let options = Options::new(format!("i{number}"), address.clone(), number);
        let instance = Instance::start(Arc::new(store), options, None, &mut Registry::default())
            .await
            .expect("etcd answers");
        let listeners = Listeners { grpc: listener, http: None };
        tokio::spawn(serve(instance.clone(), listeners, ServeOptions::default(), self.stop.clone()));
        self.instances.push((instance, address));
    }

    fn join(&self, name: &str, ledger: &Ledger) {
        let endpoints = self.instances.iter().map(|(_, address)| address.clone());
        let options = ConsumerOptions { group: "g".to_owned(), ..ConsumerOptions::new(name, endpoints) };
        let consumer = Consumer::new(options).expect("the options are valid");
        let work = Work { name: name.to_owned(), ledger: ledger.clone() };
        tokio::spawn(consumer.run(work, self.stop.clone()));
    }

    /// Writes elsewhere, so that the revision rises.
    async fn work_on(&self) {
        for n in 0..100 {
            let put = Op::put(format!("/elsewhere/{n}"), "");
            self.store.txn(Txn::guarded(Vec::new(), vec![put])).await.expect("etcd answers");
        }
    }

    /// Waits until all instances serve another history than `lost`, and the same one.
    async fn notices(&self, lost: &str) {
        let ids = || self.instances.iter().map(|(instance, _)| instance.identity().id().to_owned());
        let noticing = async {
            while ids().any(|id| id == lost) || ids().any(|id| Some(id) != ids().next()) {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, noticing).await.expect("all instances notice it");
    }
}

/// A group of two consumers, of which the second joined after the backup; returns when the store was back.
async fn put_back(mode: &str) -> Option<(Site, Ledger, Instant)> {
    let mut site = Site::start(mode).await?;
    let ledger = Ledger::default();
    site.join("a", &ledger);
    ledger.settles(0, &[("a", PARTITIONS)]).await;
    let backup = site.etcd.back_up().expect("the folder can be copied");
    let lost = site.instances[0].0.identity().id().to_owned();
    site.join("b", &ledger);
    ledger.settles(0, &[("a", PARTITIONS / 2), ("b", PARTITIONS / 2)]).await;
    site.work_on().await;
    site.etcd.put_back(&backup).expect("the folder can be put back");
    let since = Instant::now();
    site.notices(&lost).await;
    Some((site, ledger, since))
}

/// The epochs of another history are above all of the first one.
const SECOND_HISTORY: u64 = 1 << 32;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_etcd_was_put_back_everything_is_granted_anew_above_all_epochs() {
    let Some((site, ledger, _)) = put_back("overlap").await else { return };
    ledger.settles(SECOND_HISTORY, &[("a", PARTITIONS / 2), ("b", PARTITIONS / 2)]).await;
    ledger.epochs_never_fall();
    site.stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_etcd_was_put_back_strict_grants_wait_for_the_longest_session() {
    let Some((site, ledger, since)) = put_back("exclusive").await else { return };
    sleep(LONGEST.saturating_sub(since.elapsed())).await;
    assert_eq!(ledger.shares_above(SECOND_HISTORY), BTreeMap::new(), "who is not named may still act");
    ledger.settles(SECOND_HISTORY, &[("a", PARTITIONS / 2), ("b", PARTITIONS / 2)]).await;
    ledger.epochs_never_fall();
    site.stop.cancel();
}
