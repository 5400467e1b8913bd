//! One running instance: everything that it serves, behind one handle.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_core::key::Layout;
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_store::{Error, Store, View, view};
use kafka_assigner_types::kv::{Revision, Txn};
use kafka_assigner_types::name::GroupName;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Status;

use crate::clock::Monotonic;
use crate::coordinator::{self, Coordinator};
use crate::directory::{self, GroupDirectory};
use crate::entropy::Entropy;
use crate::group::ServedGroup;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::peers::{self, Peers};
use crate::pulse::Pulses;
use crate::refusal;
use crate::topics::{TopicBoard, TopicRefresher, TopicSource};
use crate::touch;

/// One instance; clones are handles of the same.
#[derive(Debug, Clone)]
pub struct Instance(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<dyn Store>,
    options: Arc<Options>,
    topics: Option<Arc<dyn TopicSource>>,
    /// What the leaders of this instance want to know of topics.
    board: TopicBoard,
    cluster_id: String,
    clock: Monotonic,
    entropy: Arc<Entropy>,
    metrics: Metrics,
    pulses: Pulses,
    peers: Peers,
    directory: View<GroupDirectory>,
    groups: Mutex<BTreeMap<GroupName, Served>>,
    /// Cut at once: everything but the streams' farewell.
    stop: CancellationToken,
    /// No new streams and no leaderships; the streams there are told to go elsewhere.
    leaving: CancellationToken,
    tasks: TaskTracker,
}

/// A group with what ends its tasks.
#[derive(Debug)]
struct Served {
    group: ServedGroup,
    /// Ends its view.
    stop: CancellationToken,
    /// Ends its leadership, which an instance gives up before its streams.
    campaigning: CancellationToken,
}

impl Instance {
    /// Starts an instance on `store`: it takes part in the leadership of every group from now on.
    ///
    /// # Errors
    /// Where the store can't be read; nothing is left running then.
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
        let cluster_id = peers::cluster_id(&*store, &options.prefix, entropy.id()).await?;
        let (peers, peers_keeper) = Peers::new(Arc::clone(&store), &options);
        let groups = GroupDirectory::new(&options.prefix);
        let (directory, directory_keeper) =
            View::new(Arc::clone(&store), view::Options::new(groups.prefix()), groups);
        let instance = Self(Arc::new(Inner {
            metrics,
            pulses: Pulses::default(),
            clock: Monotonic::start(),
            groups: Mutex::default(),
            stop: CancellationToken::new(),
            leaving: CancellationToken::new(),
            tasks: TaskTracker::new(),
            store,
            options,
            topics,
            board: TopicBoard::new(),
            cluster_id,
            entropy,
            peers,
            directory,
        }));
        let stop = &instance.0.stop;
        instance.0.tasks.spawn(peers_keeper.run(stop.clone()));
        instance.0.tasks.spawn(directory_keeper.run(stop.clone()));
        instance.0.tasks.spawn(peers::stay_registered(
            Arc::clone(&instance.0.store),
            Arc::clone(&instance.0.options),
            instance.0.leaving.clone(),
        ));
        instance.0.tasks.spawn(instance.clone().follow_directory());
        instance.0.tasks.spawn(touch::stay_in_touch(instance.clone()));
        if let Some(refresher) = instance.refresher() {
            instance.0.tasks.spawn(refresher.run(stop.clone()));
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

    /// Serves the groups that there are, and no longer those that were deleted.
    async fn follow_directory(self) {
        let mut updates = self.0.directory.subscribe();
        loop {
            self.serve_what_is_known();
            tokio::select! {
                biased;
                () = self.0.stop.cancelled() => return,
                notice = updates.next() => if notice.is_none() { return },
            }
        }
    }

    /// The directory is read with the groups locked, or what somebody else serves just now would be dropped again.
    fn serve_what_is_known(&self) {
        let mut groups = self.groups_served();
        let known = self.0.directory.read(|directory, _| directory.groups().clone());
        known.iter().for_each(|name| drop(self.serve(&mut groups, name)));
        groups.retain(|name, served| {
            let stays = known.contains(name);
            if !stays {
                served.stop.cancel();
                served.campaigning.cancel();
            }
            stays
        });
    }

    /// The group as this instance serves it; none where the directory does not know it.
    fn served(&self, name: &GroupName) -> Option<ServedGroup> {
        let mut groups = self.groups_served();
        let is_known = self.0.directory.read(|directory, _| directory.groups().contains(name));
        is_known.then(|| self.serve(&mut groups, name))
    }

    fn serve(&self, groups: &mut BTreeMap<GroupName, Served>, name: &GroupName) -> ServedGroup {
        if let Some(served) = groups.get(name) {
            return served.group.clone();
        }
        let layout = Layout::new(&self.0.options.prefix, name.clone());
        let (group, keeper) = ServedGroup::new(Arc::clone(&self.0.store), layout, self.0.entropy.number());
        let (stop, campaigning) = (self.0.stop.child_token(), self.0.leaving.child_token());
        self.0.tasks.spawn(group.clone().follow(group.view().subscribe()));
        self.0.tasks.spawn(keeper.run(stop.clone()));
        self.0.tasks.spawn(coordinator::run(self.coordinator(&group, &campaigning)));
        groups.insert(name.clone(), Served { group: group.clone(), stop, campaigning });
        group
    }

    fn coordinator(&self, group: &ServedGroup, campaigning: &CancellationToken) -> Coordinator {
        Coordinator {
            store: Arc::clone(&self.0.store),
            group: group.clone(),
            options: Arc::clone(&self.0.options),
            clock: self.0.clock,
            entropy: Arc::clone(&self.0.entropy),
            topics: self.0.topics.as_ref().map(|_| self.0.board.clone()),
            peers: self.0.peers.clone(),
            metrics: self.0.metrics.clone(),
            pulses: self.0.pulses.clone(),
            stop: campaigning.clone(),
        }
    }

    fn groups_served(&self) -> MutexGuard<'_, BTreeMap<GroupName, Served>> {
        self.0.groups.lock().expect("nothing panics while it holds the groups")
    }

    /// The groups that this instance serves, by name.
    #[must_use]
    pub fn groups(&self) -> Vec<ServedGroup> {
        self.groups_served().values().map(|served| served.group.clone()).collect()
    }

    /// The group `name`, with a view that was loaded.
    ///
    /// # Errors
    /// `NOT_FOUND` where there is none; `UNAVAILABLE` while the view is not loaded.
    pub async fn group(&self, name: &GroupName) -> Result<ServedGroup, Status> {
        let patience = self.0.options.view_patience;
        self.0.directory.wait_until(Revision(1), patience).await.map_err(refusal::behind)?;
        let group = match self.served(name) {
            Some(group) => group,
            None => {
                self.catch_up_directory(name).await?;
                self.served(name).ok_or_else(|| not_found(name))?
            }
        };
        self.reach(&group, Revision(1)).await?;
        Ok(group)
    }

    /// Waits until the view of `group` shows `revision`.
    pub(crate) async fn reach(&self, group: &ServedGroup, revision: Revision) -> Result<(), Status> {
        group.reach(revision, self.0.options.view_patience).await.map_err(refusal::behind)
    }

    /// Waits until the view of `group` is as new as the store is now: for whoever decides by it.
    pub(crate) async fn catch_up(&self, group: &ServedGroup) -> Result<(), Status> {
        let key = group.layout().prefix();
        let (_, revision) = self.0.store.get(&key).await.map_err(|e| refusal::store(&e))?;
        self.reach(group, revision).await
    }

    /// Carries out a guarded change, and waits until the view shows what became of it; whether it applied. Where it did
    /// not, the view shows why.
    pub(crate) async fn change(&self, group: &ServedGroup, txn: Txn) -> Result<bool, Status> {
        let outcome = self.0.store.txn(txn).await.map_err(|e| refusal::store(&e))?;
        self.reach(group, outcome.revision).await?;
        Ok(outcome.succeeded)
    }

    /// Looks into the store for a group that the directory does not show yet.
    async fn catch_up_directory(&self, name: &GroupName) -> Result<(), Status> {
        let key = directory::entry(&self.0.options.prefix, name);
        let (record, revision) = self.0.store.get(&key).await.map_err(|e| refusal::store(&e))?;
        if record.is_none() {
            return Err(not_found(name));
        }
        self.0.directory.wait_until(revision, self.0.options.view_patience).await.map_err(refusal::behind)
    }

    /// The group `name`, which is created with the instance's defaults where that is allowed.
    ///
    /// # Errors
    /// As for [`group`](Self::group); `NOT_FOUND` where groups are not created by their first consumer.
    pub async fn group_or_create(&self, name: &GroupName) -> Result<ServedGroup, Status> {
        match self.group(name).await {
            Err(refused) if refused.code() == tonic::Code::NotFound && self.0.options.auto_create => {
                let layout = Layout::new(&self.0.options.prefix, name.clone());
                let create =
                    directory::create(&self.0.options.prefix, &layout, &self.0.options.group_defaults);
                let outcome = self.0.store.txn(create).await.map_err(|e| refusal::store(&e))?;
                if outcome.succeeded {
                    tracing::info!(group = %name, "group created by its first consumer");
                }
                self.group(name).await
            }
            other => other,
        }
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
        let _ended = tokio::time::timeout(Duration::from_secs(5), self.0.tasks.wait()).await;
    }

    /// The number of streams that are connected.
    #[must_use]
    pub fn streams(&self) -> usize {
        self.groups_served().values().map(|served| served.group.streams()).sum()
    }

    /// The id of the store that the service runs on.
    #[must_use]
    pub fn cluster_id(&self) -> &str {
        &self.0.cluster_id
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
    pub(crate) fn directory(&self) -> &View<GroupDirectory> {
        &self.0.directory
    }

    pub(crate) fn pulses(&self) -> &Pulses {
        &self.0.pulses
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn peers(&self) -> &Peers {
        &self.0.peers
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

fn not_found(name: &GroupName) -> Status {
    let message = format!("group {name} does not exist; create it with `kafka-assigner group set {name}`");
    status(Reason::GroupNotFound, message)
}
