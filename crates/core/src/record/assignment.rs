//! The record of a partition's owner.

use serde::{Deserialize, Serialize};

use kafka_assigner_types::mode::Mode;

use super::{Extra, Stop, Version};
use crate::reason::Reason;
use kafka_assigner_types::id::{Epoch, HandoffId, Incarnation, Member, Offset};
use kafka_assigner_types::kv::{LeaseId, Revision};
use kafka_assigner_types::moment::WallMillis;
use kafka_assigner_types::name::MemberName;

/// `assignments/{topic}/{partition}`: the owner of one partition, with everything that fences it.
///
/// The record stays when nobody owns the partition, so that its epoch is not forgotten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// The version of the record.
    pub version: Version,
    /// The owner, or none.
    pub owner: Option<Owner>,
    /// The epochs of the grant; see [`held_epoch`](Self::held_epoch).
    #[serde(flatten)]
    pub epochs: GrantEpochs,
    /// The mode under which the owner was granted.
    pub mode: Mode,
    /// Set by a grant in another mode to the owner that it had, until that one has confirmed it by this token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switching: Option<HandoffId>,
    /// The longest time to live, in milliseconds, among the sessions that owned it before in `overlap`, since it was
    /// granted in a strict mode last; 0: there were none. Claims of theirs may still run: nobody waited for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outlived_ttl_ms: u64,
    /// The longest outage grace, in milliseconds, among those of them whose sessions ended without their word, or the time to
    /// live of one that was fenced where it is longer; in a strict
    /// mode, until its owner has confirmed the switch, that of the owner: it may not know that it has none any more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outlived_grace_ms: u64,
    /// The offset that was handed over at the start of the run; `None`: start at the committed one. A stored one that is
    /// negative counts as `None`.
    #[serde(default, deserialize_with = "super::offset_in_log", skip_serializing_if = "Option::is_none")]
    pub start: Option<Offset>,
    /// The revision in which its topic's record came into being, as it was when the run began; `None`: an older version
    /// granted it. With another one the topic was gone meanwhile, and the owner has forgotten what it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_since: Option<Revision>,
    /// The topic of which an owner is known to have committed an offset, by the revision in which its record came into being, as
    /// in [`topic_since`](Self::topic_since); `None`: of none. It is noted with the next grant, and grants keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_in: Option<Revision>,
    /// The gap that the move to the owner left, in milliseconds by the clocks of both, where both told its edges. It is
    /// known only after the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_ms: Option<u64>,
    /// The consumers that planning passes over for a while because a handoff to them failed; at most [`Avoid::MOST`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub avoid: Vec<Avoid>,
    /// The record before which an owner of it stopped last; `None`: none did, or it went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The offset of a record that owners pass over, as an operator has commanded. It stays over grants: nobody is known to
    /// have passed it over before one starts behind it.
    #[serde(default, deserialize_with = "super::offset_in_log", skip_serializing_if = "Option::is_none")]
    pub skip: Option<Offset>,
    /// The time of the grant.
    pub since: WallMillis,
    /// The reason of the grant.
    pub why: Reason,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

/// The epochs of a grant. Which of them may act is not told by their order in the record, so they are read through
/// [`Assignment`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GrantEpochs {
    /// The highest fencing token so far; rises with each grant.
    epoch: Epoch,
    /// The epoch of the first grant in the unbroken run of grants to this incarnation. A cancelled handoff
    /// keeps the run, every other grant starts one.
    run: Epoch,
    /// The epoch under which the owner holds it, where `epoch` is only reserved for the handoff that catches up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<Epoch>,
}

/// The owner of a partition in one of its sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The consumer's name.
    pub name: MemberName,
    /// Its session.
    pub incarnation: Incarnation,
    /// The session's lease, which outlives the right to act: nobody else acts before it has run down.
    pub lease: LeaseId,
    /// The lease's time to live in milliseconds.
    pub ttl_ms: u64,
    /// The time, in milliseconds from its last confirmation, for which it may go on in `overlap` while it hears that the store
    /// can't be reached. One that is not told may be the longest.
    #[serde(default = "super::longest_outage_grace_ms")]
    pub outage_grace_ms: u64,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

impl Owner {
    /// The owner without its lease.
    #[must_use]
    pub fn member(&self) -> Member {
        Member { name: self.name.clone(), incarnation: self.incarnation.clone() }
    }

    /// True if `member` is meant, in that very session.
    #[must_use]
    pub fn is(&self, member: &Member) -> bool {
        self.name == member.name && self.incarnation == member.incarnation
    }
}

/// A consumer that planning passes over for one unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Avoid {
    /// The consumer.
    pub consumer: MemberName,
    /// Its session; another one is not passed over.
    pub incarnation: Incarnation,
    /// The number of handoffs to it that failed in a row.
    pub failures: u32,
    /// The time for which it is passed over, in milliseconds from a leader's first sight of this record.
    pub for_ms: u64,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

impl Avoid {
    /// The most entries that one assignment keeps; the oldest makes room. More consumers than this failing at
    /// one partition is the partition's fault, and then retrying the first one is right.
    pub const MOST: usize = 8;
    const FIRST_MS: u64 = 10_000;
    const LONGEST_MS: u64 = 600_000;
    /// The longest time after grants that were not begun.
    const LONGEST_GIVEN_UP_MS: u64 = 3_600_000;

    /// The backoff after `failures` failures in a row: 10 s, doubling up to 10 min.
    #[must_use]
    pub const fn backoff_ms(failures: u32) -> u64 {
        let doublings = if failures == 0 { 0 } else { failures - 1 };
        if doublings >= 6 { Self::LONGEST_MS } else { Self::FIRST_MS << doublings }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Assignment {
    /// The record of a partition whose owners are over, and whose highest epoch was `epoch`.
    #[must_use]
    pub fn without_owner(mode: Mode, epoch: Epoch) -> Self {
        let epochs = GrantEpochs { epoch, run: epoch, held: None };
        Self { epochs, ..Self::unowned(mode) }
    }

    /// The record of a partition that nobody has owned so far.
    #[must_use]
    pub fn unowned(mode: Mode) -> Self {
        Self {
            version: Version,
            owner: None,
            epochs: GrantEpochs::default(),
            mode,
            switching: None,
            outlived_ttl_ms: 0,
            outlived_grace_ms: 0,
            start: None,
            topic_since: None,
            committed_in: None,
            gap_ms: None,
            avoid: Vec::new(),
            stop: None,
            skip: None,
            since: WallMillis::default(),
            why: Reason::Unowned,
            extra: Extra::new(),
        }
    }

    /// The record after a grant to `owner`: a new run under `epoch`.
    #[must_use]
    pub fn granted(&self, owner: Owner, epoch: Epoch, mode: Mode, since: WallMillis, why: Reason) -> Self {
        Self {
            owner: Some(owner),
            epochs: GrantEpochs { epoch, run: epoch, held: None },
            mode,
            switching: None,
            outlived_ttl_ms: if mode.is_strict() { 0 } else { self.outlived_by_next() },
            outlived_grace_ms: if mode.is_strict() { 0 } else { self.outlived_grace_ms },
            start: None,
            gap_ms: None,
            since,
            why,
            ..self.going_on()
        }
    }

    /// The record as an operator's command about a partition that stands leaves it, if there is one: the mark goes, and
    /// owners pass the record over from now on where that was commanded. What was to be passed over before still is, but for
    /// the record of the command.
    #[must_use]
    pub fn going_on(&self) -> Self {
        let commanded = self.stop.as_ref().filter(|stop| stop.resumed.is_some());
        let stop = self.stop.clone().filter(|stop| stop.resumed.is_none());
        let before = self.skip.filter(|skip| commanded.is_none_or(|stop| stop.offset != *skip));
        Self { skip: commanded.and_then(Stop::skipped).or(before), stop, ..self.clone() }
    }

    /// The record of a run that starts at `start`. What was to be passed over before it has been.
    #[must_use]
    pub(crate) fn starting_at(self, start: Option<Offset>) -> Self {
        let skip = self.skip.filter(|skip| start.is_none_or(|start| *skip >= start));
        Self { start, skip, ..self }
    }

    /// The longest time to live among those whom the next owner outlives.
    fn outlived_by_next(&self) -> u64 {
        self.owner.as_ref().map_or(0, |owner| owner.ttl_ms).max(self.outlived_ttl_ms)
    }

    /// The record after the same owner was granted it again in another mode, which it has still to confirm by `token`.
    #[must_use]
    pub fn switched(&self, mode: Mode, epoch: Epoch, token: HandoffId) -> Self {
        let (outlived_ttl_ms, outlived_grace_ms) = match mode.is_strict() {
            true => (0, self.grace_of_owner()),
            false => (self.outlived_ttl_ms, self.outlived_grace_ms),
        };
        let switching = Some(token);
        Self { mode, switching, outlived_ttl_ms, outlived_grace_ms, ..self.renewed(epoch, None) }
    }

    /// The outage grace that its owner has, or may believe to have, in milliseconds.
    fn grace_of_owner(&self) -> u64 {
        match self.mode.is_strict() {
            true => self.outlived_grace_ms,
            false => self.owner.as_ref().map_or(0, |owner| owner.outage_grace_ms),
        }
    }

    /// The record after its owner has confirmed the switch to another mode.
    #[must_use]
    pub fn switch_confirmed(&self) -> Self {
        let outlived_grace_ms = if self.mode.is_strict() { 0 } else { self.outlived_grace_ms };
        Self { switching: None, outlived_grace_ms, ..self.clone() }
    }

    /// The record where one who owned it before may act on for `grace_ms`. In a strict mode nobody may: who owned it before
    /// was waited for.
    #[must_use]
    pub fn outliving(self, grace_ms: u64) -> Self {
        let outlived_grace_ms = self.outlived_grace_ms.max(grace_ms);
        if self.mode.is_strict() { self } else { Self { outlived_grace_ms, ..self } }
    }

    /// The record after the same owner was granted it again under `epoch`: its run goes on. A `start` is part of the
    /// run and stays, unless the owner has said meanwhile where it stopped.
    #[must_use]
    pub fn renewed(&self, epoch: Epoch, stopped_at: Option<Offset>) -> Self {
        let epochs = GrantEpochs { epoch, held: None, ..self.epochs };
        Self { epochs, start: stopped_at.or(self.start), ..self.clone() }
    }

    /// The record where a run of its owner begins with its epoch, at `start`.
    #[must_use]
    pub(crate) fn begun_anew(self, start: Option<Offset>) -> Self {
        let epochs = GrantEpochs { run: self.epochs.epoch, ..self.epochs };
        Self { epochs, ..self }.starting_at(start)
    }

    /// The record while `epoch` is reserved for the new owner, who catches up.
    #[must_use]
    pub fn reserving(&self, epoch: Epoch) -> Self {
        let epochs = GrantEpochs { epoch, held: Some(self.held_epoch()), ..self.epochs };
        Self { epochs, ..self.clone() }
    }

    /// True if an offset is known to have been committed before the grant, in the very topic for which it was granted.
    #[must_use]
    pub fn was_committed(&self) -> bool {
        self.committed_in.is_some() && self.committed_in == self.topic_since
    }

    /// The epoch under which its owner may act.
    #[must_use]
    pub fn held_epoch(&self) -> Epoch {
        self.epochs.held.unwrap_or(self.epochs.epoch)
    }

    /// The epoch that is reserved for the new owner, who catches up and may not act yet.
    #[must_use]
    pub fn reserved_epoch(&self) -> Option<Epoch> {
        self.epochs.held.map(|_| self.epochs.epoch)
    }

    /// The highest epoch that was given to anybody, held or reserved: the next one has to be above.
    #[must_use]
    pub const fn highest_epoch(&self) -> Epoch {
        self.epochs.epoch
    }

    /// The epoch of the first grant in the unbroken run of grants to its owner.
    #[must_use]
    pub const fn run(&self) -> Epoch {
        self.epochs.run
    }

    /// The record after one more handoff to `member` failed.
    #[must_use]
    pub fn avoiding(&self, member: &Member) -> Self {
        let mut next = self.clone();
        let failures = next.forget(member) + 1;
        if next.avoid.len() == Avoid::MOST {
            next.avoid.remove(0);
        }
        next.avoid.push(Avoid {
            consumer: member.name.clone(),
            incarnation: member.incarnation.clone(),
            failures,
            for_ms: Avoid::backoff_ms(failures),
            extra: Extra::new(),
        });
        next
    }

    /// The record after `old` had not begun it in time, `time_ms`, and another one has it. The old owner is passed over for as long,
    /// and longer each time, up to an hour. Whoever was passed over before still is: that somebody has it now does not show that
    /// they begin it.
    #[must_use]
    pub fn given_up_by(&self, old: &Member, time_ms: u64) -> Self {
        let mut next = self.avoiding(old);
        if let Some(last) = next.avoid.last_mut() {
            let longer = time_ms.saturating_mul(last.failures.into()).min(Avoid::LONGEST_GIVEN_UP_MS);
            last.for_ms = last.for_ms.max(longer);
        }
        next
    }

    /// Removes the entry for `member` and returns how often it had failed.
    fn forget(&mut self, member: &Member) -> u32 {
        let is_it = |a: &Avoid| a.consumer == member.name && a.incarnation == member.incarnation;
        let failures = self.avoid.iter().find(|a| is_it(a)).map_or(0, |a| a.failures);
        self.avoid.retain(|a| !is_it(a));
        failures
    }

    /// The record after a handoff to its owner went through: what failed before no longer counts.
    #[must_use]
    pub fn without_avoid(mut self) -> Self {
        self.avoid.clear();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_from_ten_seconds_to_ten_minutes() {
        let seconds: Vec<u64> = (1..=9).map(|n| Avoid::backoff_ms(n) / 1000).collect();
        assert_eq!(seconds, [10, 20, 40, 80, 160, 320, 600, 600, 600]);
    }

    /// An older version recorded whatever a client said.
    #[test]
    fn a_negative_start_in_the_store_counts_as_not_known() {
        let stored = |start: i64| {
            format!(
                r#"{{"version":1,"owner":null,"epoch":3,"run":3,"mode":"exclusive","start":{start},"since":0,"why":{{"kind":"unowned"}}}}"#
            )
        };
        let start = |start| crate::record::decode::<Assignment>(stored(start).as_bytes()).unwrap().start;
        assert_eq!(start(-1001), None);
        assert_eq!(start(0), Some(Offset::ZERO));
    }

    #[test]
    fn a_failing_member_is_counted_once_with_all_its_failures() {
        let member = Member { name: "a".parse().unwrap(), incarnation: Incarnation::new("i").unwrap() };
        let twice = Assignment::unowned(Mode::Overlap).avoiding(&member).avoiding(&member);
        assert_eq!(twice.avoid.len(), 1);
        assert_eq!((twice.avoid[0].failures, twice.avoid[0].for_ms), (2, 20_000));
    }
}
