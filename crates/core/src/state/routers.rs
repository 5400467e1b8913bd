//! The routers of a group, and whose word a freeze waits for.

use super::{Entry, GroupState, SharedMap, Touched, entry};
use crate::key::Key;
use crate::record::{Handoff, Router, RouterAck};
use kafka_assigner_types::id::{Incarnation, Member, TopicPartition};
use kafka_assigner_types::kv::Record;
use kafka_assigner_types::name::MemberName;

impl GroupState {
    pub(super) fn set_router_ack(
        &mut self,
        at: &TopicPartition,
        router: MemberName,
        record: Option<&Record>,
        touched: &mut Touched,
    ) {
        touched.units.insert(self.lead_of(at));
        let acks = self.router_acks.get_or_default(at);
        entry::set(acks, router, record);
        if acks.is_empty() {
            self.router_acks.remove(at);
        }
    }

    pub(super) fn router_ack_keys(&self) -> impl Iterator<Item = Key> {
        self.router_acks
            .iter()
            .flat_map(|(at, acks)| acks.keys().map(|router| Key::RouterAck(at.clone(), router.clone())))
    }

    /// The registered routers, by name.
    #[must_use]
    pub const fn routers(&self) -> &SharedMap<MemberName, Entry<Router>> {
        &self.routers
    }

    /// The routers' acks of handoffs, by partition.
    #[must_use]
    pub const fn router_acks(&self) -> &SharedMap<TopicPartition, SharedMap<MemberName, Entry<RouterAck>>> {
        &self.router_acks
    }

    /// True if `router` is registered in that very session.
    #[must_use]
    pub fn is_routing(&self, router: &Member) -> bool {
        self.routers
            .get(&router.name)
            .and_then(Entry::readable)
            .is_some_and(|registration| registration.incarnation == router.incarnation)
    }

    /// The routers for which a handoff in `Freezing` waits: those registered before it began to freeze, but for those that
    /// it names as left out. The set only
    /// shrinks, since a freezing handoff is written by nothing but what ends the phase, and a registration by nothing
    /// but the opening of a session. Whoever comes later sees the freeze in its first table.
    pub fn required_routers<'s>(
        &'s self,
        handoff: &Handoff,
    ) -> impl Iterator<Item = (&'s MemberName, &'s Entry<Router>)> + use<'s> {
        let without = handoff.without.clone();
        let since = self.handoffs.get(handoff.lead()).map(Entry::mod_revision);
        self.routers.iter().filter(move |(name, router)| {
            since.is_some_and(|since| router.mod_revision() < since) && !without.contains(*name)
        })
    }

    /// The required routers that have not said of all of the unit that they freeze it.
    #[must_use]
    pub fn missing_routers(&self, handoff: &Handoff) -> Vec<MemberName> {
        self.required_routers(handoff)
            .filter(|(name, router)| {
                !handoff.unit.iter().all(|at| self.has_frozen(handoff, at, name, router))
            })
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// True if the acks of `router` about `partitions` are all that the handoff in `Freezing` still waits for.
    #[must_use]
    pub fn lacks_only(&self, handoff: &Handoff, router: &MemberName, partitions: &[&TopicPartition]) -> bool {
        self.required_routers(handoff).all(|(name, entry)| {
            let lacks = |of: &TopicPartition| !self.has_frozen(handoff, of, name, entry);
            handoff.unit.iter().filter(|of| lacks(of)).all(|of| name == router && partitions.contains(&of))
        })
    }

    /// True if the router `name` has said of `at`, in the session `incarnation`, that it freezes it for `handoff`.
    #[must_use]
    pub fn has_said(
        &self,
        handoff: &Handoff,
        at: &TopicPartition,
        name: &MemberName,
        incarnation: &Incarnation,
    ) -> bool {
        let said = self.router_acks.get(at).and_then(|acks| acks.get(name)).and_then(Entry::readable);
        said.is_some_and(|said| said.id == handoff.id && said.incarnation == *incarnation)
    }

    /// A registration that can't be read is there, and so it is waited for: nobody knows whose word would count.
    fn has_frozen(
        &self,
        handoff: &Handoff,
        at: &TopicPartition,
        name: &MemberName,
        router: &Entry<Router>,
    ) -> bool {
        router.readable().is_some_and(|router| self.has_said(handoff, at, name, &router.incarnation))
    }
}
