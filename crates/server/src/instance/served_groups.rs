//! The groups that an instance serves, and their tasks: what ends in one of them by a panic is begun anew, and touches no
//! other group.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::key::Layout;
use kafka_assigner_store::view;
use kafka_assigner_types::name::GroupName;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::served_history::{LAST_CALLS, ServedHistory};
use super::{Inner, Instance};
use crate::coordinator::{self, Coordinator};
use crate::group::{GroupView, ServedGroup};
use crate::supervision::first_panic;
use crate::suspicion::look_for_silence;

/// The wait before a group whose task panicked is served anew; it doubles with each panic in a row. What made it panic
/// lies in the store, most likely, and each new beginning costs a listing there.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest such wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A group that was served for so long without a panic begins to count anew.
const CALM: Duration = Duration::from_secs(10 * 60);

/// A group with what ends its tasks.
#[derive(Debug, Clone)]
pub(super) struct Served {
    pub(super) group: ServedGroup,
    /// Ends its view.
    stop: CancellationToken,
    /// Ends its leadership, which an instance gives up before its streams.
    campaigning: CancellationToken,
}

impl Served {
    fn end(&self) {
        self.stop.cancel();
        self.campaigning.cancel();
    }
}

type Keeper = view::Keeper<GroupView>;

/// Campaigns and leads until the coordinator is stopped. After a panic it begins anew; sessions and streams of the group
/// live on meanwhile, for they need no leader.
async fn keep_campaigning(coordinator: Coordinator) {
    let Coordinator { group, metrics, stop, .. } = coordinator.clone();
    let mut waits = RestartWaits::default();
    loop {
        let since = Instant::now();
        let mut tasks = JoinSet::new();
        tasks.spawn(coordinator::run(coordinator.clone()));
        let Some(message) = first_panic(&mut tasks).await else { return };
        let wait = waits.next(since.elapsed());
        tracing::error!(group = %group.name(), message, again_in = ?wait, "the leader of the group panicked");
        metrics.group_restarted(group.name());
        if stop.run_until_cancelled(sleep(wait)).await.is_none() {
            return;
        }
    }
}

/// The waits after the panics of one task.
#[derive(Debug)]
struct RestartWaits(Duration);

impl Default for RestartWaits {
    fn default() -> Self {
        Self(FIRST_WAIT)
    }
}

impl RestartWaits {
    /// The wait after a panic of a task that ran for so long.
    fn next(&mut self, ran: Duration) -> Duration {
        if ran > CALM {
            self.0 = FIRST_WAIT;
        }
        let next = (self.0 * 2).min(LONGEST_WAIT);
        std::mem::replace(&mut self.0, next)
    }
}

impl ServedHistory {
    /// Serves the groups that there are, and no longer those that were deleted.
    pub(super) async fn follow_directory(self: Arc<Self>, instance: Arc<Inner>) {
        let mut updates = self.directory.subscribe();
        loop {
            self.serve_what_is_known(&instance);
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                notice = updates.next() => if notice.is_none() { return },
            }
        }
    }

    /// The directory is read with the groups locked, or what somebody else serves just now would be dropped again.
    fn serve_what_is_known(self: &Arc<Self>, instance: &Arc<Inner>) {
        let mut groups = self.groups();
        let known = self.directory.read(|directory, _| directory.groups().clone());
        known.iter().for_each(|name| drop(self.serve(instance, &mut groups, name)));
        groups.retain(|name, served| {
            let stays = known.contains(name);
            if !stays {
                served.end();
            }
            stays
        });
        self.pace.share(groups.len());
    }

    /// The group as this instance serves it; none where the directory does not know it.
    pub(super) fn served(self: &Arc<Self>, instance: &Arc<Inner>, name: &GroupName) -> Option<ServedGroup> {
        let mut groups = self.groups();
        let is_known = self.directory.read(|directory, _| directory.groups().contains(name));
        is_known.then(|| self.serve(instance, &mut groups, name))
    }

    fn serve(
        self: &Arc<Self>,
        instance: &Arc<Inner>,
        groups: &mut BTreeMap<GroupName, Served>,
        name: &GroupName,
    ) -> ServedGroup {
        if let Some(served) = groups.get(name) {
            return served.group.clone();
        }
        let (served, keeper) = self.loaded_anew(instance, name);
        groups.insert(name.clone(), served.clone());
        self.pace.share(groups.len());
        let group = served.group.clone();
        let keep_serving = Arc::clone(self).keep_serving(Arc::clone(instance), served, keeper);
        self.watch(instance, "service of a group", keep_serving);
        group
    }

    /// A group that is not loaded yet.
    fn loaded_anew(&self, instance: &Inner, name: &GroupName) -> (Served, Keeper) {
        let layout = Layout::new(&instance.options.prefix, name.clone());
        let store = Arc::new(self.store.clone());
        let of_history = (Arc::clone(&self.identity), Arc::clone(&self.fallen_store));
        let mut options = view::Options::new(layout.prefix());
        options.check_every = self.pace.clone();
        options.backoff.seed = instance.entropy.number();
        let (group, keeper) = ServedGroup::new(store, of_history, layout, options);
        let (stop, campaigning) = (self.stop.child_token(), self.leaving.child_token());
        (Served { group, stop, campaigning }, keeper)
    }

    /// Serves a group until it is deleted or the history is over.
    async fn keep_serving(self: Arc<Self>, instance: Arc<Inner>, mut served: Served, mut keeper: Keeper) {
        let mut waits = RestartWaits::default();
        loop {
            let since = Instant::now();
            let Some(message) = self.until_panic(&instance, &served, keeper).await else { return };
            let wait = waits.next(since.elapsed());
            let group = served.group.name();
            tracing::error!(%group, message, again_in = ?wait, "a task of the group panicked: it is served anew");
            instance.metrics.group_restarted(group);
            if self.stop.run_until_cancelled(sleep(wait)).await.is_none() {
                return;
            }
            let Some(next) = self.replaced(&instance, &served) else { return };
            (served, keeper) = next;
        }
    }

    /// Runs the tasks of a group until all have ended, or one has panicked: the message of that panic. Then the others have
    /// ended as well, and the streams of the group.
    async fn until_panic(&self, instance: &Arc<Inner>, served: &Served, keeper: Keeper) -> Option<String> {
        let Served { group, stop, campaigning } = served;
        let mut tasks = JoinSet::new();
        tasks.spawn(group.clone().follow(group.view().subscribe()));
        tasks.spawn(keeper.run(stop.clone()));
        tasks.spawn(keep_campaigning(self.coordinator(instance, group, campaigning)));
        let looker = Instance(Arc::clone(instance));
        tasks.spawn(look_for_silence(looker, group.clone(), campaigning.clone()));
        let message = first_panic(&mut tasks).await?;
        served.end();
        // The leadership is given back; a store that hangs is no reason to hang with it.
        let _ended = timeout(LAST_CALLS, async { while tasks.join_next().await.is_some() {} }).await;
        group.close();
        Some(message)
    }

    /// The group loaded anew in the place of `before`; `None` where it was deleted meanwhile.
    fn replaced(&self, instance: &Inner, before: &Served) -> Option<(Served, Keeper)> {
        let name = before.group.name();
        let mut groups = self.groups();
        let place = groups.get_mut(name).filter(|served| served.group.is(&before.group))?;
        let (served, keeper) = self.loaded_anew(instance, name);
        *place = served.clone();
        Some((served, keeper))
    }

    fn coordinator(
        &self,
        instance: &Inner,
        group: &ServedGroup,
        campaigning: &CancellationToken,
    ) -> Coordinator {
        Coordinator {
            store: Arc::new(self.store.clone()),
            lease: self.lease.clone(),
            reread_every: self.pace.clone(),
            group: group.clone(),
            options: Arc::clone(&instance.options),
            clock: instance.clock,
            entropy: Arc::clone(&instance.entropy),
            topics: instance.topics.as_ref().map(|_| instance.board.clone()),
            peers: self.peers.clone(),
            metrics: instance.metrics.clone(),
            pulses: instance.pulses.clone(),
            stop: campaigning.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waits_after_panics_double_and_begin_anew_after_a_calm_time() {
        let mut waits = RestartWaits::default();
        let after: Vec<u64> = (0..8).map(|_| waits.next(Duration::ZERO).as_secs()).collect();
        assert_eq!(after, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(waits.next(CALM), LONGEST_WAIT);
        assert_eq!(waits.next(CALM + Duration::from_millis(1)), FIRST_WAIT);
    }
}
