//! A client's process in one session: it does what it was told last.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_core::ack::{Ack, Drained};
use kafka_assigner_core::record::Taken;
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{Epoch, HandoffId, Member, Offset, TopicPartition};
use kafka_assigner_types::kv::{LeaseId, Revision};
use kafka_assigner_types::mode::Mode;

use crate::variant::Variant;

/// One process with one session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Session {
    /// Its name and incarnation.
    pub member: Member,
    /// Its lease.
    pub lease: LeaseId,
    /// What is left of the lease.
    pub life: Life,
    /// True if its own clock says that it may act.
    pub claim: bool,
    /// What is left of the lease by the account of a leader of the store that was deposed: it knows of no heartbeat since.
    /// Only the variant that asks such a one tells the two apart.
    pub stale_life: Life,
    /// True if an instance has answered that the store can't be reached: in `overlap` it goes on for its outage grace.
    pub has_grace: bool,
    /// True if a heartbeat of it has kept the lease alive and waits for its second read.
    pub is_beating: bool,
    /// True if it was heard since it was marked last, or was never marked.
    pub is_heard: bool,
    /// True if the process runs.
    pub alive: bool,
    /// True if it knows that its session is over.
    pub fenced: bool,
    /// The instance that holds its stream.
    pub instance: usize,
    /// The highest revision that it has seen.
    pub seen: Revision,
    /// What it was told.
    pub roles: BTreeMap<TopicPartition, Role>,
    /// Of which topic of the name each of them is, as far as it was told.
    pub topics: BTreeMap<TopicPartition, u8>,
    /// The partitions that it processes.
    pub works: BTreeSet<TopicPartition>,
    /// The partitions of which it has a record in the works (`routed`). Each record takes long: while it rests it begins none.
    pub in_works: BTreeSet<TopicPartition>,
    /// What it holds of partitions in the strict modes.
    pub holds: BTreeMap<TopicPartition, Hold>,
    /// The partitions that it was told it is fenced of, each up to an epoch.
    pub fences: BTreeMap<TopicPartition, Epoch>,
    /// What it has said of which partition of which handoff.
    pub said: BTreeSet<(HandoffId, TopicPartition, Said)>,
}

/// What is left of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Life {
    /// More than a third.
    Fresh,
    /// A third at most: the claim, which counts from an earlier moment, is over.
    Third,
    /// It is gone.
    Gone,
}

/// A partition's state in the hands of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hold {
    /// The last epoch under which it worked or stopped, or that is reserved for it.
    pub epoch: Epoch,
    /// The next record; `None`: it has read nothing so far.
    pub position: Option<u8>,
    /// True if it stands: it was drained, or has not begun.
    pub is_stopped: bool,
    /// True if it knows the log's fence to be its own.
    pub has_fence: bool,
}

/// What a session says of a handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Said {
    /// It has its state.
    Ready,
    /// It has ended the record in the works, and begins none.
    Rested,
    /// It stopped, there.
    Drained(Option<u8>),
    /// It has read the rest.
    CaughtUp,
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
            Self::Rested => Ack::Rested,
            Self::Drained(offset) => Ack::Drained(Drained {
                offset: offset.and_then(|at| Offset::new(at.into()).ok()),
                last_at: None,
            }),
            Self::CaughtUp => Ack::CaughtUp,
            Self::Taken => Ack::Taken(Taken::default()),
            Self::Released => Ack::Released { last_at: None },
            Self::Failed => Ack::WarmFailed { reason: String::new() },
        }
    }
}

impl Session {
    /// True if it takes part: its process runs, and it does not know of an end.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.alive && !self.fenced
    }

    /// True if it would act on `at` now: it was told that it is the owner, and its clock lets it.
    #[must_use]
    pub fn may_act(&self, at: &TopicPartition) -> bool {
        let is_overlap = || matches!(self.roles.get(at), Some(Role::Owner { mode: Mode::Overlap, .. }));
        self.is_active()
            && (self.claim || self.has_grace && is_overlap())
            && (self.works.contains(at)
                || self.in_works.contains(at)
                || matches!(self.roles.get(at), Some(Role::Owner { epoch, .. }) if !self.has_heard(at, *epoch)))
    }

    /// True if it was told that it is fenced of `at` up to `epoch`, or beyond.
    #[must_use]
    pub fn has_heard(&self, at: &TopicPartition, epoch: Epoch) -> bool {
        self.fences.get(at).is_some_and(|fenced| *fenced >= epoch)
    }

    /// Takes in what it is fenced of, and drops it: what it has of `at` is what was `committed` there.
    pub fn drop_fenced(&mut self, at: &TopicPartition, epoch: Epoch, committed: u8) {
        self.fences.insert(at.clone(), epoch);
        if self.holds.get(at).is_some_and(|hold| hold.epoch > epoch) {
            return;
        }
        self.works.remove(at);
        self.in_works.remove(at);
        if let Some(hold) = self.holds.get_mut(at) {
            *hold = Hold { position: Some(committed), is_stopped: true, has_fence: false, ..*hold };
        }
    }

    /// What it has to say of a partition now.
    #[must_use]
    pub fn to_say(&self, at: &TopicPartition) -> Option<(HandoffId, Said)> {
        match self.roles.get(at)? {
            Role::Warming { handoff, .. } => Some((handoff.clone(), Said::Ready)),
            Role::Owner { taking: Some(handoff), .. } if self.works.contains(at) => {
                Some((handoff.clone(), Said::Taken))
            }
            Role::Owner { resting: Some(handoff), .. } => self.rested(at, handoff),
            Role::Releasing { handoff, .. } => Some((handoff.clone(), Said::Released)),
            Role::Draining { handoff, start, .. } => (!self.in_works.contains(at))
                .then(|| (handoff.clone(), Said::Drained(self.stopped_at(at, *start)))),
            Role::CatchingUp { handoff, .. } => {
                let has_read =
                    self.holds.get(at).is_some_and(|hold| hold.position.is_some() && hold.has_fence);
                (has_read && self.claim).then(|| (handoff.clone(), Said::CaughtUp))
            }
            Role::Owner { .. } => None,
        }
    }

    /// The word that it rests, beside the word that it has taken the partition, which a role may go on to ask for: that one is not
    /// told anew once it was recorded.
    #[must_use]
    pub fn rested_beside(&self, at: &TopicPartition) -> Option<(HandoffId, Said)> {
        match self.roles.get(at)? {
            Role::Owner { taking: Some(_), resting: Some(handoff), .. } => self.rested(at, handoff),
            _ => None,
        }
    }

    fn rested(&self, at: &TopicPartition, handoff: &HandoffId) -> Option<(HandoffId, Said)> {
        (!self.in_works.contains(at)).then(|| (handoff.clone(), Said::Rested))
    }

    /// One who started no epoch of the run answers with the start of its grant: it never invents an offset.
    fn stopped_at(&self, at: &TopicPartition, start: Option<Offset>) -> Option<u8> {
        match self.holds.get(at) {
            Some(hold) => hold.position,
            None => start.map(|offset| u8::try_from(offset.get()).expect("few records")),
        }
    }

    /// Takes in all its roles; what it is not shown to own, it no longer works on. What it has of another topic than the
    /// one that a role of it names now (`topics`, of the roles that are news) it drops first.
    pub fn told(
        &mut self,
        roles: BTreeMap<TopicPartition, Role>,
        topics: BTreeMap<TopicPartition, u8>,
        revision: Revision,
        variant: Variant,
    ) {
        self.drop_former(&topics);
        self.holds.retain(|at, hold| hold.follows(roles.get(at), variant));
        let goes_on = |at: &TopicPartition| match roles.get(at) {
            Some(Role::Owner { mode: Mode::Overlap, .. }) => true,
            Some(Role::Owner { .. }) => self.holds.get(at).is_none_or(|hold| !hold.is_stopped),
            _ => false,
        };
        self.works.retain(|at| goes_on(at));
        self.works.retain(|at| !is_strict(roles.get(at)) || self.holds.contains_key(at));
        self.in_works.retain(|at| self.holds.contains_key(at));
        self.topics.extend(topics);
        self.topics.retain(|at, _| roles.contains_key(at));
        self.roles = roles;
        self.seen = revision;
    }

    fn drop_former(&mut self, topics: &BTreeMap<TopicPartition, u8>) {
        let known = &self.topics;
        let is_former = |at: &TopicPartition| {
            known.get(at).zip(topics.get(at)).is_some_and(|(known, told)| known != told)
        };
        self.holds.retain(|at, _| !is_former(at));
        self.works.retain(|at| !is_former(at));
        self.in_works.retain(|at| !is_former(at));
    }

    /// Its work ends, by death or because its session is over.
    pub fn stop(&mut self) {
        self.works.clear();
        self.in_works.clear();
        self.roles.clear();
        self.topics.clear();
        self.holds.clear();
        self.fences.clear();
        self.claim = false;
        self.has_grace = false;
        self.is_beating = false;
    }

    /// True if it may still act on something: by its claim, or in `overlap` by its outage grace.
    #[must_use]
    pub const fn may_act_at_all(&self) -> bool {
        self.is_active() && (self.claim || self.has_grace)
    }
}

const fn is_strict(role: Option<&Role>) -> bool {
    matches!(role, Some(Role::Owner { mode: Mode::Exclusive | Mode::Routed, .. }))
}

impl Hold {
    /// True if the state is kept under `role`, which it then follows: an owner that is granted the partition again in
    /// the same run goes on.
    fn follows(&mut self, role: Option<&Role>, variant: Variant) -> bool {
        match role {
            Some(Role::Owner { epoch, run, .. }) => {
                let goes_on = match variant {
                    Variant::UndrainedRestarted => self.is_stopped || self.epoch == *epoch,
                    Variant::RunIsPrevious => self.epoch.0 + 1 >= epoch.0,
                    _ => true,
                };
                self.stays(*epoch, *run) && goes_on
            }
            Some(Role::Draining { epoch, run, .. }) => {
                self.is_stopped = true;
                self.stays(*epoch, *run)
            }
            Some(Role::CatchingUp { epoch, .. }) => self.epoch == *epoch,
            _ => false,
        }
    }

    fn stays(&mut self, epoch: Epoch, run: Epoch) -> bool {
        let is_in_run = self.epoch >= run;
        self.epoch = epoch;
        is_in_run
    }
}
