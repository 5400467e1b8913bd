//! The offsets of what is owned: handed out, done, committed.
//!
//! Brokers do not check what a commit is about: with the right generation they take one for a partition that the member
//! does not own. So it is checked here, and a partition that is not owned has no place to commit from.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::moment::Moment;

use crate::membership::RequestNumbers;
use crate::{AnswerFailure, KafkaError, Membership, Reaction, RequestNumber, RetryWait};

/// A commit that is refused here, before a broker is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefusedCommit {
    /// The member does not own the partition any more, or never did.
    #[error("the partition is not owned")]
    NotOwned,
    /// The record was not handed out since the partition is owned, or since it was sought.
    #[error("the record was not handed out")]
    NotHandedOut,
}

/// A commit that is to be sent: the first offsets that are not done, by partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetCommit {
    /// The number with which its answer comes back.
    pub number: RequestNumber,
    /// The membership that owns all of these partitions.
    pub membership: Membership,
    /// The offsets; never empty.
    pub offsets: BTreeMap<TopicPartition, Offset>,
}

/// The offsets of one partition, each the first that is *not* handed out, done, committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PartitionOffsets {
    /// The number of seeks so far: what was sent before one says nothing of what is after it.
    seeks: u64,
    /// The first record that may count: the position of the last seek.
    from: Offset,
    handed_out: Offset,
    done: Offset,
    committed: Option<Offset>,
}

/// A commit that is under way.
#[derive(Debug, Clone)]
struct CommitFlight {
    number: RequestNumber,
    membership: Membership,
    /// With the seeks of each partition when it was sent.
    offsets: BTreeMap<TopicPartition, (Offset, u64)>,
}

/// The offsets of all partitions that a member owns, and the one commit that is under way.
///
/// Commits go out one after the other: two of them could change places on the way, and the older offset would stand.
#[derive(Debug, Clone, Default)]
pub struct CommitLedger {
    membership: Option<Membership>,
    partitions: BTreeMap<TopicPartition, PartitionOffsets>,
    flight: Option<CommitFlight>,
    not_before: Moment,
    numbers: RequestNumbers,
    wait: RetryWait,
}

impl CommitLedger {
    /// The membership with which commits go out from now on; `None` where none may go out. Partitions that stay keep their
    /// offsets.
    pub fn speak_as(&mut self, membership: Option<Membership>) {
        self.membership = membership;
    }

    /// The partition is owned, and read from `position`, which is committed; see [`commit_position`](Self::commit_position).
    pub fn own(&mut self, partition: TopicPartition, position: Offset) {
        let offsets = PartitionOffsets {
            seeks: 0,
            from: position,
            handed_out: position,
            done: position,
            committed: None,
        };
        self.partitions.entry(partition).or_insert(PartitionOffsets { committed: Some(position), ..offsets });
    }

    /// No commit says the position of the partition yet: it is committed itself, or, where records are done by then, with
    /// them. Of a partition that is not owned it changes nothing.
    pub fn commit_position(&mut self, partition: &TopicPartition) {
        if let Some(offsets) = self.partitions.get_mut(partition) {
            offsets.committed = None;
        }
    }

    /// The partitions are owned no more; nothing of them is committed after this.
    pub fn disown(&mut self, partitions: &BTreeSet<TopicPartition>) {
        self.partitions.retain(|partition, _| !partitions.contains(partition));
        if let Some(flight) = &mut self.flight {
            flight.offsets.retain(|partition, _| !partitions.contains(partition));
        }
    }

    /// The application has got the records up to `last`, included. False where the partition is not owned: then it must not
    /// get them.
    pub fn hand_out(&mut self, partition: &TopicPartition, last: Offset) -> bool {
        let offsets = self.partitions.get_mut(partition);
        offsets.map(|offsets| offsets.handed_out = offsets.handed_out.max(last.next())).is_some()
    }

    /// The application is done with all records up to `last`, included. What was done before is not undone by less.
    ///
    /// # Errors
    /// [`RefusedCommit`], by variant.
    pub fn done(&mut self, partition: &TopicPartition, last: Offset) -> Result<(), RefusedCommit> {
        let offsets = self.partitions.get_mut(partition).ok_or(RefusedCommit::NotOwned)?;
        if last < offsets.from || last >= offsets.handed_out {
            return Err(RefusedCommit::NotHandedOut);
        }
        offsets.done = offsets.done.max(last.next());
        Ok(())
    }

    /// The application reads on from `position`, which is the only way back. That alone commits nothing.
    ///
    /// # Errors
    /// [`RefusedCommit::NotOwned`].
    pub fn seek(&mut self, partition: &TopicPartition, position: Offset) -> Result<(), RefusedCommit> {
        let offsets = self.partitions.get_mut(partition).ok_or(RefusedCommit::NotOwned)?;
        offsets.seeks += 1;
        (offsets.from, offsets.handed_out, offsets.done) = (position, position, position);
        offsets.committed = Some(position);
        Ok(())
    }

    /// True where everything that is done is committed.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.flight.is_none() && self.open().next().is_none()
    }

    /// True where everything that is done of these partitions is committed, and no commit of them is under way.
    #[must_use]
    pub fn has_settled(&self, partitions: &BTreeSet<TopicPartition>) -> bool {
        let is_open = |partition| {
            let offsets = self.partitions.get(partition);
            offsets.is_some_and(|offsets| offsets.committed != Some(offsets.done))
        };
        let flight = self.flight.as_ref();
        let is_under_way = |partition| flight.is_some_and(|flight| flight.offsets.contains_key(partition));
        !partitions.iter().any(|partition| is_open(partition) || is_under_way(partition))
    }

    /// The next commit, where one is due and none is under way.
    pub fn serve(&mut self, now: Moment) -> Option<OffsetCommit> {
        if self.flight.is_some() || now < self.not_before {
            return None;
        }
        let membership = self.membership.clone()?;
        let open: BTreeMap<_, _> =
            self.open().map(|(partition, open)| (partition.clone(), (open.done, open.seeks))).collect();
        if open.is_empty() {
            return None;
        }
        let number = self.numbers.deal();
        let offsets = open.iter().map(|(partition, (offset, _))| (partition.clone(), *offset)).collect();
        self.flight = Some(CommitFlight { number, membership: membership.clone(), offsets: open });
        Some(OffsetCommit { number, membership, offsets })
    }

    /// The time at which [`serve`](Self::serve) may have a commit; `None`: something else comes first.
    #[must_use]
    pub fn next_step(&self) -> Option<Moment> {
        let is_due = self.flight.is_none() && self.membership.is_some() && self.open().next().is_some();
        is_due.then_some(self.not_before)
    }

    fn open(&self) -> impl Iterator<Item = (&TopicPartition, &PartitionOffsets)> {
        self.partitions.iter().filter(|(_, offsets)| offsets.committed != Some(offsets.done))
    }

    /// Takes the answer to a commit: the error of each partition. Returns what the member has to do about it; an answer for
    /// another membership than today's asks for nothing.
    pub fn answered(
        &mut self,
        number: RequestNumber,
        answer: Result<&BTreeMap<TopicPartition, KafkaError>, AnswerFailure>,
        now: Moment,
    ) -> Reaction {
        let Some(flight) = self.flight.take_if(|flight| flight.number == number) else {
            return Reaction::Done;
        };
        let Ok(errors) = answer else {
            self.not_before = now + self.wait.failed();
            return Reaction::FindCoordinator;
        };
        let mut worst = Reaction::Done;
        for (partition, (offset, seeks)) in flight.offsets {
            // One that is missing in the answer is not committed; another broker would not know more.
            let reaction = errors.get(&partition).copied().map_or(Reaction::Retry, Reaction::to_commit);
            self.settle(&partition, offset, seeks, reaction);
            worst = graver(worst, reaction);
        }
        let is_current = self.membership.as_ref() == Some(&flight.membership);
        if worst == Reaction::Done {
            self.wait.succeeded();
        } else {
            self.not_before = now + self.wait.failed();
        }
        if is_current { worst } else { Reaction::Done }
    }

    /// Takes the outcome of one partition. A commit that fails for good is not tried again; a later offset is.
    fn settle(&mut self, partition: &TopicPartition, offset: Offset, seeks: u64, reaction: Reaction) {
        let is_over = matches!(reaction, Reaction::Done | Reaction::Fail);
        let offsets = self.partitions.get_mut(partition).filter(|offsets| offsets.seeks == seeks);
        if let Some(offsets) = offsets.filter(|_| is_over) {
            offsets.committed = Some(offset);
        }
    }
}

/// The reaction that asks for more.
const fn graver(one: Reaction, other: Reaction) -> Reaction {
    const fn weight(reaction: Reaction) -> u8 {
        match reaction {
            Reaction::Done => 0,
            Reaction::Retry | Reaction::AdoptId => 1,
            Reaction::FindCoordinator => 2,
            Reaction::Rejoin => 3,
            Reaction::Fail => 4,
            Reaction::ForgetGeneration => 5,
            Reaction::ForgetMember => 6,
        }
    }
    if weight(other) > weight(one) { other } else { one }
}

#[cfg(test)]
#[path = "commits_test.rs"]
mod commits_test;
