//! States that differ only in the numbers of their revisions are one: revisions count by their rank.

use std::hash::{Hash, Hasher};

use kafka_assigner_core::claim::Remaining;
use kafka_assigner_core::test_group::MapStore;
use kafka_assigner_types::kv::{Must, Op, Revision, Txn};

use crate::world::World;

struct Ranks(Vec<Revision>);

impl Ranks {
    fn of(world: &World) -> Self {
        let mut all: Vec<Revision> = world.terms.iter().flatten().copied().collect();
        for scene in std::iter::once(&world.now).chain(&world.views) {
            all.push(scene.revision());
            all.extend(
                scene.shelf.records().flat_map(|record| [record.mod_revision, record.create_revision]),
            );
        }
        all.extend(world.sessions.iter().map(|session| session.seen));
        all.extend(world.routers.iter().map(|router| router.seen));
        all.extend(
            world.limbo.iter().flat_map(|late| &late.txn.compares).filter_map(|c| revision_of(&c.must)),
        );
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    fn rank(&self, revision: Revision) -> usize {
        self.0.binary_search(&revision).expect("all revisions of the world are ranked")
    }

    fn shelf(&self, shelf: &MapStore, state: &mut impl Hasher) {
        self.rank(shelf.revision()).hash(state);
        for record in shelf.records() {
            (&record.key, &record.value, record.lease).hash(state);
            (self.rank(record.mod_revision), self.rank(record.create_revision)).hash(state);
        }
    }

    fn txn(&self, txn: &Txn, state: &mut impl Hasher) {
        for compare in &txn.compares {
            compare.key.hash(state);
            revision_of(&compare.must).map(|revision| self.rank(revision)).hash(state);
        }
        for op in &txn.then {
            if let Op::Put { key, value, lease } = op {
                (key, value, lease).hash(state);
            } else if let Op::Delete { key } = op {
                key.hash(state);
            }
        }
    }
}

const fn revision_of(must: &Must) -> Option<Revision> {
    match must {
        Must::HaveModRevision(revision)
        | Must::HaveCreateRevision(revision)
        | Must::HaveNoChangesSince(revision) => Some(*revision),
        Must::BeAbsent | Must::Exist | Must::HaveNoKeys | Must::HaveLease(_) | Must::HaveValue(_) => None,
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash_without_bounds(state);
        self.left.hash(state);
    }
}

impl World {
    /// All but what may still happen, which makes no difference to a group that is left alone.
    pub(crate) fn hash_without_bounds(&self, state: &mut impl Hasher) {
        let ranks = Ranks::of(self);
        for scene in std::iter::once(&self.now).chain(&self.views) {
            ranks.shelf(&scene.shelf, state);
            for session in &self.sessions {
                scene.leases.remaining(session.lease).map(seconds_left).hash(state);
                scene.rests.remaining(session.lease).map(seconds_left).hash(state);
            }
            (&scene.waited_out, scene.quiet, scene.missed).hash(state);
        }
        self.terms.map(|term| term.map(|term| ranks.rank(term))).hash(state);
        for session in &self.sessions {
            ranks.rank(session.seen).hash(state);
            (&session.member, session.life, session.claim, session.is_beating).hash(state);
            (session.stale_life, session.has_grace).hash(state);
            (session.alive, session.fenced, session.is_heard, session.instance).hash(state);
            (&session.roles, &session.topics).hash(state);
            (&session.works, &session.in_works).hash(state);
            (&session.holds, &session.said, &session.fences).hash(state);
        }
        for router in &self.routers {
            ranks.rank(router.seen).hash(state);
            (&router.member, router.alive, router.is_mute, router.is_stuck, &router.table).hash(state);
        }
        if let Some(late) = &self.limbo {
            late.instance.hash(state);
            ranks.txn(&late.txn, state);
        }
        self.missed.as_ref().map(|(.., times)| *times).hash(state);
        (&self.logs, &self.request, &self.flight).hash(state);
        (&self.stray, &self.spoiled, &self.excused, self.broken).hash(state);
    }
}

const fn seconds_left(remaining: Remaining) -> u64 {
    match remaining {
        Remaining::Gone => 0,
        Remaining::Left(left) => left.as_secs(),
    }
}
