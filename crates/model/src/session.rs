//! A client's process in one session: it does what it was told last.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_core::ack::Ack;
use kafka_assigner_core::id::{HandoffId, Member, TopicPartition};
use kafka_assigner_core::kv::{LeaseId, Revision};
use kafka_assigner_core::record::Taken;
use kafka_assigner_core::view::Role;

/// One process with one session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Session {
    /// Its name and incarnation.
    pub member: Member,
    /// Its lease.
    pub lease: LeaseId,
    /// Whether the process runs.
    pub alive: bool,
    /// Whether it knows that its session is over.
    pub fenced: bool,
    /// The instance that holds its stream.
    pub instance: usize,
    /// The highest revision that it has seen.
    pub seen: Revision,
    /// What it was told.
    pub roles: BTreeMap<TopicPartition, Role>,
    /// The partitions that it processes.
    pub works: BTreeSet<TopicPartition>,
    /// What it has said of which handoff.
    pub said: BTreeSet<(HandoffId, Said)>,
}

/// What a session says of a handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Said {
    /// It has its state.
    Ready,
    /// It works.
    Taken,
    /// It let go.
    Released,
    /// It can't.
    Failed,
}

impl Said {
    /// As the instance hears it.
    #[must_use]
    pub fn ack(self) -> Ack {
        match self {
            Self::Ready => Ack::Ready,
            Self::Taken => Ack::Taken(Taken::default()),
            Self::Released => Ack::Released,
            Self::Failed => Ack::WarmFailed { reason: String::new() },
        }
    }
}

impl Session {
    /// Whether it takes part: its process runs, and it does not know of an end.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.alive && !self.fenced
    }

    /// What it has to say of a partition now.
    #[must_use]
    pub fn to_say(&self, at: &TopicPartition) -> Option<(HandoffId, Said)> {
        match self.roles.get(at)? {
            Role::Warming { handoff, .. } => Some((handoff.clone(), Said::Ready)),
            Role::Owner { taking: Some(handoff), .. } if self.works.contains(at) => {
                Some((handoff.clone(), Said::Taken))
            }
            Role::Releasing { handoff, .. } => Some((handoff.clone(), Said::Released)),
            Role::Owner { .. } | Role::Draining { .. } | Role::CatchingUp { .. } => None,
        }
    }

    /// Takes in all its roles; what it is not shown to own, it no longer works on.
    pub fn told(&mut self, roles: BTreeMap<TopicPartition, Role>, revision: Revision) {
        self.works.retain(|at| matches!(roles.get(at), Some(Role::Owner { .. })));
        self.roles = roles;
        self.seen = revision;
    }

    /// Its work ends, by death or because its session is over.
    pub fn stop(&mut self) {
        self.works.clear();
        self.roles.clear();
    }
}
