//! The last change that concerned each registered member, and the digest of what it has to know: computed as changes
//! are applied, so that a heartbeat learns at any instance whether a stream elsewhere has missed something.
//!
//! Only what changes what a member is told concerns it; a report of progress, the gap of a move or a ban concerns
//! nobody. A role that ended concerns the member as much as one that began, although no record names it any more.
//!
//! Where a state begins with a listing, the revisions are those of the records that make up the roles, which is never too
//! early, and may be too late; then the digest tells that nothing was missed.

use super::{Entry, GroupState, Scope, SharedMap, Touched};
use crate::counts::partitions;
use crate::route::{self, Route};
use crate::view::{Role, role};
use kafka_assigner_types::digest::{Digest, Fingerprint, RoleKey, RouteKey};
use kafka_assigner_types::id::{Incarnation, Member, TopicPartition};
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::name::MemberName;

/// The news that a member's stream must have told it by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Concern {
    /// The revision of the last change that concerned the member; zero where none did so far.
    pub revision: Revision,
    /// The digest of all that the member has to know; `None` while a record can't be read, since then it depends on what
    /// each stream had told before.
    pub digest: Option<Digest>,
}

/// The roles of one member, or the routes that all routers are told.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    revision: Revision,
    digest: Digest,
    items: SharedMap<TopicPartition, Fingerprint>,
}

impl Told {
    /// The items of a state that begins to keep them: `items`, of which the newest is of `revision`.
    fn anew(revision: Revision, items: SharedMap<TopicPartition, Fingerprint>) -> Self {
        Self { revision, digest: items.values().copied().collect(), items }
    }

    /// Takes in what is told of `at` since the change of `revision`.
    fn take(&mut self, at: &TopicPartition, next: Option<Fingerprint>, revision: Revision) {
        let before = match next {
            Some(item) => self.items.insert(at.clone(), item),
            None => self.items.remove(at),
        };
        if before != next {
            before.into_iter().for_each(|item| self.digest.remove(item));
            next.into_iter().for_each(|item| self.digest.add(item));
            self.revision = self.revision.max(revision);
        }
    }

    fn take_all(&mut self, items: SharedMap<TopicPartition, Fingerprint>, revision: Revision) {
        if items != self.items {
            *self = Self::anew(self.revision.max(revision), items);
        }
    }

    fn concern(&self, is_certain: bool) -> Concern {
        Concern { revision: self.revision, digest: is_certain.then_some(self.digest) }
    }
}

/// The knowledge that each member has to have.
#[derive(Debug, Clone, Default)]
pub(super) struct Concerns {
    consumers: SharedMap<MemberName, (Incarnation, Told)>,
    /// The routes that every router has to know; `None` while no router is registered.
    routes: Option<Told>,
}

/// Reading.
impl GroupState {
    /// The news that the stream of the consumer `member` must have told by now; `None` where that session is not registered.
    #[must_use]
    pub fn concern(&self, member: &Member) -> Option<Concern> {
        let (incarnation, told) = self.concerns.consumers.get(&member.name)?;
        (*incarnation == member.incarnation).then(|| told.concern(self.unreadable().is_empty()))
    }

    /// The news that the stream of the router `router` must have told by now; `None` where that session is not registered.
    #[must_use]
    pub fn route_concern(&self, router: &Member) -> Option<Concern> {
        let told = self.concerns.routes.as_ref().filter(|_| self.is_routing(router))?;
        let is_certain = || self.consumers.values().all(|consumer| consumer.error().is_none());
        Some(told.concern(self.unreadable().is_empty() && is_certain()))
    }
}

/// Writing.
impl GroupState {
    /// Notes whom the changes of `revision` concern, which touched `touched`.
    pub(super) fn note_concerned(&mut self, touched: &Touched, revision: Revision) {
        touched.members.iter().for_each(|(name, scope)| self.note_consumer(name, scope, revision));
        self.note_routes(touched, revision);
    }

    fn note_consumer(&mut self, name: &MemberName, scope: &Scope, revision: Revision) {
        let Some(member) = self.registered(name) else {
            self.concerns.consumers.remove(name);
            return;
        };
        let known = self.concerns.consumers.get(name).filter(|(known, _)| *known == member.incarnation);
        if known.is_none() {
            let told = Told::anew(self.newest_of(name), self.roles_to_tell(&member));
            self.concerns.consumers.insert(name.clone(), (member.incarnation, told));
        } else if let Scope::Partitions(named) = scope {
            let next: Vec<_> = named.iter().map(|at| (at, self.role_to_tell(&member, at))).collect();
            let Some((_, told)) = self.concerns.consumers.get_mut(name) else { return };
            next.into_iter().for_each(|(at, item)| told.take(at, item, revision));
        } else {
            let items = self.roles_to_tell(&member);
            let Some((_, told)) = self.concerns.consumers.get_mut(name) else { return };
            told.take_all(items, revision);
        }
    }

    /// The session that is, or was last readable to be, registered under `name`.
    fn registered(&self, name: &MemberName) -> Option<Member> {
        let incarnation = self.consumers.get(name)?.last_good()?.incarnation.clone();
        Some(Member { name: name.clone(), incarnation })
    }

    /// The revision of the last change of a record that names `name`.
    fn newest_of(&self, name: &MemberName) -> Revision {
        self.concerned(name).map(|at| self.newest_at(at)).max().unwrap_or_default()
    }

    fn newest_at(&self, at: &TopicPartition) -> Revision {
        let assignment = self.assignments.get(at).map(Entry::mod_revision);
        let handoff = self.handoffs.get(at).map(Entry::mod_revision);
        assignment.max(handoff).unwrap_or_default()
    }

    fn roles_to_tell(&self, member: &Member) -> SharedMap<TopicPartition, Fingerprint> {
        let told = |at: &TopicPartition| Some((at.clone(), self.role_to_tell(member, at)?));
        self.concerned(&member.name).filter_map(told).collect()
    }

    fn role_to_tell(&self, member: &Member, at: &TopicPartition) -> Option<Fingerprint> {
        let is_concerned = self.is_concerned(&member.name, at);
        Some(role(self, member, at).filter(|_| is_concerned)?.key().in_partition(at))
    }

    fn note_routes(&mut self, touched: &Touched, revision: Revision) {
        if self.routers.is_empty() {
            self.concerns.routes = None;
            return;
        }
        let Some(mut told) = self.concerns.routes.take() else {
            self.concerns.routes = Some(self.all_routes());
            return;
        };
        if let (Scope::Partitions(named), false) = (&touched.routes, touched.topics) {
            for at in named.iter().filter(|at| !route::is_undecided(self, at)) {
                told.take(at, self.route_to_tell(at), revision);
            }
        } else {
            told.take_all(self.routes_to_tell(&told), revision);
        }
        self.concerns.routes = Some(told);
    }

    fn all_routes(&self) -> Told {
        let newest = self.assignments.keys().chain(self.handoffs.keys()).map(|at| self.newest_at(at)).max();
        Told::anew(newest.unwrap_or_default(), self.routes_to_tell(&Told::default()))
    }

    /// All routes; one that can't be decided stays as it was `told`.
    fn routes_to_tell(&self, told: &Told) -> SharedMap<TopicPartition, Fingerprint> {
        let decided = |at: TopicPartition| self.route_to_tell(&at).map(|item| (at, item));
        let mut routes: SharedMap<_, _> = partitions(self, None).filter_map(decided).collect();
        let kept = told.items.iter().filter(|(at, _)| route::is_undecided(self, at));
        for (at, item) in kept {
            routes.insert(at.clone(), *item);
        }
        routes
    }

    fn route_to_tell(&self, at: &TopicPartition) -> Option<Fingerprint> {
        let route = route::route(self, at)?;
        Some(route.key().of_partition(at))
    }
}

impl Role {
    /// The part of the role that makes it the same role or another one, see [`is_same`](Self::is_same).
    #[must_use]
    pub const fn key(&self) -> RoleKey<'_> {
        match self {
            Self::Owner { resting: Some(handoff), .. } => RoleKey::Resting(handoff),
            Self::Owner { epoch, .. } => RoleKey::Owner(*epoch),
            Self::Warming { handoff, .. } => RoleKey::Warming(handoff),
            Self::CatchingUp { handoff, .. } => RoleKey::CatchingUp(handoff),
            Self::Draining { handoff, .. } => RoleKey::Draining(handoff),
            Self::Releasing { handoff, .. } => RoleKey::Releasing(handoff),
        }
    }
}

impl Route {
    /// The route as digests see it.
    #[must_use]
    pub fn key(&self) -> RouteKey<'_> {
        match self {
            Self::Open { owner, endpoint, epoch } => RouteKey::Open {
                epoch: *epoch,
                owner: owner.name.as_str(),
                incarnation: owner.incarnation.as_str(),
                endpoint,
            },
            Self::Stash { handoff } => RouteKey::Stash(handoff),
            Self::Unowned => RouteKey::Unowned,
        }
    }
}
