//! A group, its view, and the streams of its members.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::key::Layout;
use kafka_assigner_core::state::{GroupState, Touched};
use kafka_assigner_store::view::{Listener, Notice};
use kafka_assigner_store::{Store, View, view};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::name::GroupName;

use super::fallen_store::FallenStore;
use super::hub::{Hub, StreamConnection};
use super::materialized::GroupView;
use super::phases::Phases;
use super::sessions::Sessions;
use super::touch::StoreTouch;
use super::unattached::UnattachedSessions;
use crate::identity::StoreIdentity;

/// A group that this instance serves; clones are cheap.
#[derive(Debug, Clone)]
pub struct ServedGroup {
    layout: Arc<Layout>,
    identity: Arc<StoreIdentity>,
    view: View<GroupView>,
    hub: Arc<Hub>,
    routers: Arc<Hub>,
    sessions: Arc<Sessions>,
    phases: Arc<Phases>,
    touch: Arc<StoreTouch>,
    unattached: Arc<MemberKinds<UnattachedSessions>>,
    fallen_store: Arc<FallenStore>,
}

/// One of each: for consumers, and for routers.
#[derive(Debug, Default)]
struct MemberKinds<T> {
    consumers: T,
    routers: T,
}

impl ServedGroup {
    /// The group, and the keeper that moves its view, which has `options`.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        (identity, fallen_store): (Arc<StoreIdentity>, Arc<FallenStore>),
        layout: Layout,
        options: view::Options,
    ) -> (Self, view::Keeper<GroupView>) {
        let (hub, routers, sessions) = (Arc::<Hub>::default(), Arc::<Hub>::default(), Arc::default());
        let state = GroupState::new(layout.clone()).in_cluster(Arc::clone(identity.record()));
        let state = GroupView::new(state, Arc::clone(&hub), Arc::clone(&routers));
        let (view, keeper) = View::new(store, options, state);
        let served = Self {
            layout: Arc::new(layout),
            identity,
            view,
            hub,
            routers,
            sessions,
            phases: Arc::default(),
            touch: Arc::default(),
            unattached: Arc::default(),
            fallen_store,
        };
        (served, keeper)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &GroupName {
        self.layout.group()
    }

    /// The identity of the store that it is served from.
    pub(crate) fn identity(&self) -> &StoreIdentity {
        &self.identity
    }

    /// The cluster id of that store.
    pub(crate) fn cluster_id(&self) -> &str {
        self.identity.id()
    }

    /// Its place in the store.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Reads the group as this instance knows it; `reader` should be short, for the view waits meanwhile.
    pub fn read<R>(&self, reader: impl FnOnce(&GroupState) -> R) -> R {
        self.view.read(|view, _| reader(view.state()))
    }

    /// The group as this instance knows it now. It costs next to nothing, and the view goes on meanwhile: for whatever
    /// may take long.
    #[must_use]
    pub fn snapshot(&self) -> GroupState {
        self.read(GroupState::clone)
    }

    /// The view, to listen to and to ask for its health.
    #[must_use]
    pub const fn view(&self) -> &View<GroupView> {
        &self.view
    }

    /// Waits until the view has come to `revision`.
    pub(crate) async fn reach(&self, revision: Revision, patience: Duration) -> Result<(), view::Error> {
        self.view.wait_until(revision, patience).await
    }

    /// Forgets sessions that are over, until the view stops; then it ends the streams.
    pub(crate) async fn follow(self, mut updates: Listener<Touched>) {
        while let Some(notice) = updates.next().await {
            self.read(|state| match notice {
                Notice::Touched(touched) => self.sessions.forget_ended(state, touched.registrations.iter()),
                Notice::Everything => self.sessions.forget_all_ended(state),
            });
        }
        self.close();
    }

    /// Ends the streams of its members.
    pub(crate) fn close(&self) {
        self.hub.close();
        self.routers.close();
    }

    /// True if both are handles of one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.layout, &other.layout)
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The ages of phases, as far as this instance leads.
    pub(crate) fn phases(&self) -> &Phases {
        &self.phases
    }

    /// The sign that its store was put back.
    pub(crate) fn fallen_store(&self) -> &FallenStore {
        &self.fallen_store
    }

    /// The touch of the view with the store.
    pub(crate) fn touch(&self) -> &StoreTouch {
        &self.touch
    }

    /// The consumers that said to this instance that they have no stream.
    pub(crate) fn unattached(&self) -> &UnattachedSessions {
        &self.unattached.consumers
    }

    /// The routers that said to this instance that they have no stream.
    pub(crate) fn unattached_routers(&self) -> &UnattachedSessions {
        &self.unattached.routers
    }

    pub(crate) const fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// The streams of routers.
    pub(crate) const fn routers(&self) -> &Arc<Hub> {
        &self.routers
    }

    /// Connects a stream of a router: from now on it is rung when a route may differ.
    pub(crate) fn connect_router(&self, router: &Member) -> StreamConnection {
        Hub::connect(&self.routers, router)
    }

    /// The number of streams that are connected, of consumers and routers.
    pub(crate) fn streams(&self) -> usize {
        self.hub.streams() + self.routers.streams()
    }

    /// Connects a stream of `member`: from now on it is rung when something may concern it.
    pub(crate) fn connect(&self, member: &Member) -> StreamConnection {
        Hub::connect(&self.hub, member)
    }
}
