//! One running instance: everything that it serves, behind one handle.

mod lookup;
mod served_groups;
mod served_history;
mod watch;

use std::sync::{Arc, RwLock};
use std::time::Duration;

use kafka_assigner_store::shared::WatchHealth;
use kafka_assigner_store::{Error, Store, View};
use prometheus_client::registry::Registry;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Monotonic;
use crate::directory::GroupDirectory;
use crate::entropy::Entropy;
use crate::group::ServedGroup;
use crate::identity::{StoreIdentity, identify};
use crate::metrics::Metrics;
use crate::options::Options;
use crate::peers::Peers;
use crate::pulse::Pulses;
use crate::supervision::{Fault, TaskPanicked};
use crate::suspicion::{SilenceTurns, StoreContact, StreamEnds, show_heartbeat_ages};
use crate::topics::{TopicBoard, TopicRefresher, TopicSource};
use crate::touch;
use served_history::ServedHistory;

/// The longest time for the tasks of an instance that stops to end.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// One instance; clones are handles of the same.
#[derive(Debug, Clone)]
pub struct Instance(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<dyn Store>,
    options: Arc<Options>,
    topics: Option<Arc<dyn TopicSource>>,
    /// The topics that the leaders of this instance want to know of.
    board: TopicBoard,
    clock: Monotonic,
    entropy: Arc<Entropy>,
    metrics: Metrics,
    pulses: Pulses,
    stream_ends: Arc<StreamEnds>,
    store_contact: StoreContact,
    silence_turns: SilenceTurns,
    /// Told when a read shows that the store was put back.
    fallen_store: Notify,
    /// Always there once the instance has started.
    history: RwLock<Option<Arc<ServedHistory>>>,
    /// Cut at once: everything but the streams' farewell.
    stop: CancellationToken,
    /// No new streams and no leaderships; the streams there are told to go elsewhere.
    leaving: CancellationToken,
    tasks: TaskTracker,
    fault: Fault,
}

impl Inner {
    /// Begins a task that serves all groups: a panic of it is the end of the instance.
    fn begin(self: &Arc<Self>, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let inner = Arc::clone(self);
        self.tasks.spawn(async move { inner.fault.watch(name, task).await });
    }
}

impl Instance {
    /// Starts an instance on `store`: it takes part in the leadership of every group from now on. It waits for a store that
    /// can't be reached; [`serve::answer_probes`](crate::serve::answer_probes) answers meanwhile.
    ///
    /// Cancel safe: nothing is left running.
    ///
    /// # Errors
    /// Where the store answers that it can't be used; nothing is left running then.
    pub async fn start(
        store: Arc<dyn Store>,
        options: Options,
        topics: Option<Arc<dyn TopicSource>>,
        registry: &mut Registry,
    ) -> Result<Self, Error> {
        let options = Arc::new(options);
        let metrics = Metrics::new(registry);
        let store = metrics.metered(store);
        let entropy = Arc::new(Entropy::new(options.seed));
        let identity = identify(&*store, &options.prefix, (entropy.id(), entropy.number())).await?;
        let instance = Self(Arc::new(Inner {
            metrics,
            pulses: Pulses::default(),
            stream_ends: Arc::default(),
            store_contact: StoreContact::default(),
            silence_turns: SilenceTurns::default(),
            fallen_store: Notify::new(),
            clock: Monotonic::drifting(options.clock_drift_ppm),
            history: RwLock::default(),
            stop: CancellationToken::new(),
            leaving: CancellationToken::new(),
            tasks: TaskTracker::new(),
            fault: Fault::default(),
            store,
            options,
            topics,
            board: TopicBoard::new(),
            entropy,
        }));
        let history = ServedHistory::begin(&instance.0, identity);
        *instance.0.history.write().expect("nobody else has it yet") = Some(history);
        instance.0.begin("history of the store", watch::run(instance.clone()));
        instance.0.begin("touch with the store", touch::stay_in_touch(instance.clone()));
        instance.0.begin("ages of heartbeats", show_heartbeat_ages(instance.clone()));
        if let Some(refresher) = instance.refresher() {
            instance.0.begin("topics of Kafka", refresher.run(instance.0.stop.clone()));
        }
        Ok(instance)
    }

    fn refresher(&self) -> Option<TopicRefresher> {
        let Inner { topics, board, options, clock, entropy, metrics, .. } = &*self.0;
        let (source, interval) = (Arc::clone(topics.as_ref()?), options.topic_refresh);
        Some(TopicRefresher::new(
            source,
            board.clone(),
            interval,
            *clock,
            Arc::clone(entropy),
            metrics.clone(),
        ))
    }

    /// Stops: leaderships are released at once, there are no new streams, and those there are told to go elsewhere and
    /// are cut after `patience`.
    pub async fn stop(&self, patience: Duration) {
        self.0.leaving.cancel();
        let mut left = patience;
        const STEP: Duration = Duration::from_millis(20);
        while self.streams() > 0 && !left.is_zero() {
            tokio::time::sleep(STEP).await;
            left = left.saturating_sub(STEP);
        }
        self.0.stop.cancel();
        self.0.tasks.close();
        // Every task ends with the token; a store that hangs is no reason to hang with it.
        let ended = async {
            self.0.tasks.wait().await;
            self.history().wait(LAST_CALLS).await;
        };
        let _ended = tokio::time::timeout(LAST_CALLS, ended).await;
    }

    /// The number of streams that are connected.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.groups().iter().map(ServedGroup::streams).sum()
    }

    /// The identity of the store that is served.
    #[must_use]
    pub fn identity(&self) -> Arc<StoreIdentity> {
        Arc::clone(&self.history().identity)
    }

    /// Waits until the instance can't go on. Cancel safe.
    pub(crate) async fn fault(&self) -> TaskPanicked {
        self.0.fault.happened().await
    }

    /// The settings of the instance.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    pub(crate) fn entropy(&self) -> &Entropy {
        &self.0.entropy
    }

    pub(crate) fn clock(&self) -> Monotonic {
        self.0.clock
    }

    pub(crate) fn topics(&self) -> Option<&Arc<dyn TopicSource>> {
        self.0.topics.as_ref()
    }

    /// The groups there are.
    pub(crate) fn directory(&self) -> View<GroupDirectory> {
        self.history().directory.clone()
    }

    /// The health of the watch on which all views hang.
    pub(crate) fn watch_health(&self) -> WatchHealth {
        self.history().store.health()
    }

    pub(crate) fn pulses(&self) -> &Pulses {
        &self.0.pulses
    }

    /// The processes that have streams here.
    pub(crate) fn stream_ends(&self) -> &Arc<StreamEnds> {
        &self.0.stream_ends
    }

    pub(crate) fn store_contact(&self) -> &StoreContact {
        &self.0.store_contact
    }

    pub(crate) fn silence_turns(&self) -> &SilenceTurns {
        &self.0.silence_turns
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn peers(&self) -> Peers {
        self.history().peers.clone()
    }

    pub(crate) fn leaving(&self) -> &CancellationToken {
        &self.0.leaving
    }

    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.0.stop
    }

    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
    }
}
