//! Everything that an instance serves of one history of the store. Where the store begins another one, all of it is
//! dropped and loaded anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_store::election::{LeaderLease, LeaseOptions};
use kafka_assigner_store::{Backoff, CheckPace, SharedWatch, Store, View, view};
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::name::{GroupName, MemberName};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::served_groups::Served;
use super::{Inner, Instance};
use crate::directory::GroupDirectory;
use crate::group::{FallenStore, ServedGroup};
use crate::identity::StoreIdentity;
use crate::peers::{self, Peers};

/// The time that the tasks of a history that is over have to end: they wait for nothing but calls to the store, and
/// nothing that they write applies any more.
pub(super) const LAST_CALLS: Duration = Duration::from_secs(2);

/// The interval of the comparisons of a group where there are few groups.
const CHECK_EVERY: Duration = Duration::from_secs(60);

/// The most members that are counted as ahead of the store: two are a sign, and by then more say nothing new.
const MOST_AHEAD: usize = 100;

/// One history of the store, as an instance serves it.
#[derive(Debug)]
pub(super) struct ServedHistory {
    pub(super) identity: Arc<StoreIdentity>,
    /// Set once anything has shown that the store was put back.
    pub(super) fallen_store: Arc<FallenStore>,
    /// The time at which this instance began to serve it.
    since: Instant,
    /// The store, with the one watch of everything that is served.
    pub(super) store: SharedWatch,
    /// The lease of the leader keys.
    pub(super) lease: LeaderLease,
    pub(super) peers: Peers,
    pub(super) directory: View<GroupDirectory>,
    groups: Mutex<BTreeMap<GroupName, Served>>,
    /// The pace of the comparisons of each group, and each leader key, with the store. They catch faults that nobody knows
    /// of: what may go wrong with the one watch is seen at once.
    pub(super) pace: CheckPace,
    /// The members that have seen a later revision than the store has, at most [`MOST_AHEAD`].
    ahead: Mutex<BTreeSet<(GroupName, MemberName)>>,
    /// Cut at once.
    pub(super) stop: CancellationToken,
    /// No leaderships.
    pub(super) leaving: CancellationToken,
    pub(super) tasks: TaskTracker,
}

impl ServedHistory {
    /// Begins to serve the store under `identity`.
    pub(super) fn begin(instance: &Arc<Inner>, identity: StoreIdentity) -> Arc<Self> {
        let options = &instance.options;
        let backoff = Backoff { seed: instance.entropy.number(), ..Backoff::default() };
        let (shared, watch_keeper) =
            SharedWatch::new(Arc::clone(&instance.store), options.prefix.clone(), backoff);
        let store: Arc<dyn Store> = Arc::new(shared.clone());
        let leases = LeaseOptions { ttl: options.leader_ttl, backoff, ..LeaseOptions::default() };
        let leaving = instance.leaving.child_token();
        let (lease, lease_keeper) = LeaderLease::new(Arc::clone(&store), leases, leaving.clone());
        let (peers, peers_keeper) = Peers::new(Arc::clone(&store), options);
        let groups = GroupDirectory::new(&options.prefix);
        let (directory, directory_keeper) =
            View::new(Arc::clone(&store), view::Options::new(groups.prefix()), groups);
        let history = Arc::new(Self {
            identity: Arc::new(identity),
            fallen_store: Arc::default(),
            since: Instant::now(),
            store: shared,
            lease,
            peers,
            directory,
            groups: Mutex::default(),
            pace: CheckPace::new(CHECK_EVERY),
            ahead: Mutex::default(),
            stop: instance.stop.child_token(),
            leaving,
            tasks: TaskTracker::new(),
        });
        let Self { stop, leaving, .. } = &*history;
        let registered = peers::stay_registered(store, Arc::clone(options), leaving.clone());
        history.watch(instance, "watch of the store", watch_keeper.run(stop.clone()));
        history.watch(instance, "lease of the leader keys", lease_keeper.run());
        history.watch(instance, "view of the instances", peers_keeper.run(stop.clone()));
        history.watch(instance, "view of the groups", directory_keeper.run(stop.clone()));
        history.watch(instance, "registration of the instance", registered);
        let follow = Arc::clone(&history).follow_directory(Arc::clone(instance));
        history.watch(instance, "groups to serve", follow);
        history
    }

    /// Begins a task that serves all groups.
    pub(super) fn watch(
        &self,
        instance: &Arc<Inner>,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let instance = Arc::clone(instance);
        self.tasks.spawn(async move { instance.fault.watch(name, task).await });
    }

    /// Ends everything that belongs to this history: its streams end, its terms are given back.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        self.leaving.cancel();
        self.wait(LAST_CALLS).await;
    }

    /// Waits until every task has ended, for at most `patience`.
    pub(super) async fn wait(&self, patience: Duration) {
        self.tasks.close();
        // Every task ends with the token; a store that hangs is no reason to hang with it.
        let _ended = tokio::time::timeout(patience, self.tasks.wait()).await;
    }

    /// The groups that are served, by name.
    pub(super) fn all_served(&self) -> Vec<ServedGroup> {
        self.groups().values().map(|served| served.group.clone()).collect()
    }

    /// True if the store has had no other history, as far as it is known.
    pub(super) fn is_the_first(&self) -> bool {
        self.identity.record().epoch_offset == 0
    }

    /// The time for which this instance has served it: whoever owned something in an earlier one has not been confirmed
    /// since.
    pub(super) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// The highest revision that anything of it has come to.
    pub(super) fn reached(&self) -> Revision {
        let groups = self.groups();
        let views = groups.values().map(|served| served.group.view().revision());
        let others = [self.directory.revision(), self.peers.revision(), self.store.position()];
        views.chain(others).max().unwrap_or_default()
    }

    /// True if a view was shown an earlier state than it has, though the store's revision is not lower, or the revision was
    /// lower once: it was put back.
    pub(super) fn went_back(&self) -> bool {
        if self.fallen_store.is_noted() {
            return true;
        }
        let groups = self.groups();
        let views = groups.values().map(|served| served.group.view().health().went_back);
        views.chain([self.directory.health().went_back, self.peers.went_back()]).any(|went_back| went_back)
    }

    fn ahead(&self) -> MutexGuard<'_, BTreeSet<(GroupName, MemberName)>> {
        self.ahead.lock().expect("nothing panics while it holds the members")
    }

    pub(super) fn groups(&self) -> MutexGuard<'_, BTreeMap<GroupName, Served>> {
        self.groups.lock().expect("nothing panics while it holds the groups")
    }
}

impl Instance {
    /// The history that is served now.
    pub(super) fn history(&self) -> Arc<ServedHistory> {
        let history = self.0.history.read().expect("nothing panics while it holds the history");
        Arc::clone(history.as_ref().expect("an instance is handed out once it serves"))
    }

    /// Notes that a member has seen a later revision than the store has.
    pub(crate) fn note_ahead(&self, group: &GroupName, member: &MemberName) {
        self.0.metrics.ahead_of_store(group);
        let history = self.history();
        let mut ahead = history.ahead();
        if ahead.len() < MOST_AHEAD {
            ahead.insert((group.clone(), member.clone()));
        }
    }

    /// Notes that a call was answered at a lower revision than `group` had come to before it: the next look finds out why.
    pub(crate) fn note_fallen_store(&self, group: &ServedGroup, reached: Revision, read: Revision) {
        if group.fallen_store().note() {
            tracing::warn!(group = %group.name(), %reached, %read, "the store's revision has fallen");
            self.0.fallen_store.notify_one();
        }
    }

    /// The number of members that have seen a later revision than the store has, since this history is served.
    pub(crate) fn members_ahead(&self) -> usize {
        self.history().ahead().len()
    }

    /// Serves another history in place of the one so far.
    pub(super) async fn serve_anew(&self, identity: StoreIdentity) {
        let before = self.history();
        before.end().await;
        let next = ServedHistory::begin(&self.0, identity);
        *self.0.history.write().expect("nothing panics while it holds the history") = Some(next);
    }
}
