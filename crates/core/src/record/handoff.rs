//! One attempt to move one unit.

use std::collections::BTreeSet;

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};

use kafka_assigner_types::mode::Mode;

use super::{Extra, Owner, Unreadable, Version, decode};
use crate::reason::{CancelReason, Reason};
use kafka_assigner_types::id::{Epoch, HandoffId, Member, Offset, TopicPartition};
use kafka_assigner_types::moment::WallMillis;
use kafka_assigner_types::name::MemberName;

/// The state of a handoff, in the order in which phases follow each other. `overlap` goes from `Ready` to `Complete`
/// at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The new owner builds its state while the old one works.
    Warming,
    /// The new owner has its state.
    Ready,
    /// Routers hold requests back and wait for the answers of those that they sent (`routed`).
    Freezing,
    /// The old owner finishes what it began and says where it stopped.
    Draining,
    /// Nobody acts: the new owner takes its fences and reads what is left of the log.
    CatchingUp,
    /// The assignment names the new owner; the old one lets go.
    Complete,
    /// The attempt is over without a move; for everybody it is as if there were none.
    Cancelled,
}

impl Phase {
    /// True if the unit counts as moved to its target: planned once, pinned, and within the budgets.
    #[must_use]
    pub const fn is_in_flight(self) -> bool {
        !matches!(self, Self::Complete | Self::Cancelled)
    }

    /// True if the old owner was asked to stop, or has stopped: then a cancel has to grant it the unit again.
    #[must_use]
    pub const fn stops_the_old_owner(self) -> bool {
        matches!(self, Self::Draining | Self::CatchingUp)
    }

    /// True if routers hold requests back.
    #[must_use]
    pub const fn holds_requests(self) -> bool {
        matches!(self, Self::Freezing | Self::Draining | Self::CatchingUp)
    }

    /// All phases, in their order.
    pub const ALL: [Self; 7] = [
        Self::Warming,
        Self::Ready,
        Self::Freezing,
        Self::Draining,
        Self::CatchingUp,
        Self::Complete,
        Self::Cancelled,
    ];
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Warming => "warming",
            Self::Ready => "ready",
            Self::Freezing => "freezing",
            Self::Draining => "draining",
            Self::CatchingUp => "catching up",
            Self::Complete => "complete",
            Self::Cancelled => "cancelled",
        })
    }
}

/// `handoffs/{topic}/{partition}`: the handoff itself at the unit's first partition, and a reference to it at
/// the unit's others.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum HandoffRecord {
    /// This partition belongs to the unit that another one leads.
    Reference(Reference),
    /// The handoff.
    Lead(Box<Handoff>),
}

/// The field that tells a reference from a handoff.
#[derive(Deserialize)]
struct LeadField {
    #[serde(default)]
    lead: Option<IgnoredAny>,
}

impl HandoffRecord {
    /// Reads a record as it is stored, at half the cost of [`decode`](super::decode()): the text is read twice, and no value is
    /// made in between.
    ///
    /// # Errors
    /// [`Unreadable`] as with `decode`.
    pub fn read(value: &[u8]) -> Result<Self, Unreadable> {
        match decode::<LeadField>(value)?.lead {
            Some(_) => decode(value).map(Self::Reference),
            None => decode(value).map(Self::Lead),
        }
    }
}

// By hand, since an untagged enum would hide what is wrong with the record.
impl<'de> Deserialize<'de> for HandoffRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let record = if value.get("lead").is_some() {
            serde_json::from_value(value).map(Self::Reference)
        } else {
            serde_json::from_value(value).map(Self::Lead)
        };
        record.map_err(D::Error::custom)
    }
}

/// The state of the handoff of a partition's unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// The version of the record.
    pub version: Version,
    /// The handoff.
    pub id: HandoffId,
    /// The partition with the record.
    pub lead: TopicPartition,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

impl Reference {
    /// A reference to the handoff `id` at `lead`.
    #[must_use]
    pub fn new(id: HandoffId, lead: TopicPartition) -> Self {
        Self { version: Version, id, lead, extra: Extra::new() }
    }
}

/// The one record that tells how a unit's handoff stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Handoff {
    /// The version of the record.
    pub version: Version,
    /// The attempt.
    pub id: HandoffId,
    /// The partitions that move as one, sorted and never empty; the first is where this record lies.
    #[serde(deserialize_with = "some_partitions")]
    pub unit: Vec<TopicPartition>,
    /// The member that gives.
    pub old: Member,
    /// The member that takes.
    pub new: Member,
    /// The mode in which the attempt began, and in which it ends.
    pub mode: Mode,
    /// Its state.
    pub phase: Phase,
    /// From `Freezing` on: the routers that it does not wait for, since they kept the last freezes from ending.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub without: BTreeSet<MemberName>,
    /// The end that it waits for once the new owner is ready; `None` = none: then the old owner gives the unit up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaits: Option<Awaited>,
    /// True if the new owner catches up before it becomes the owner.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub catch_up: bool,
    /// From `Complete` on: the epochs under which the old owner held the unit's partitions, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub old_epochs: Vec<Epoch>,
    /// From `Complete` on, in `overlap`: the old owner with its lease, under which it works until it lets go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_owner: Option<Owner>,
    /// The partitions of which the new owner has said what this phase waits for. A unit of several goes on once it
    /// was said of all.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub said: BTreeSet<TopicPartition>,
    /// The same of the old owner: that no record is in the works there, that it has stopped, or that it let go.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub old_said: BTreeSet<TopicPartition>,
    /// True if the old owner did not stop in time, and was fenced of the unit in its registration: it has stopped once it has
    /// said so there, or once all the time is over for which its claims may run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_fenced: bool,
    /// The offsets at which the old owner stopped, of the partitions of which it knows.
    #[serde(default, deserialize_with = "final_offsets", skip_serializing_if = "Vec::is_empty")]
    pub stopped_at: Vec<FinalOffset>,
    /// The time at which the old owner handled its last record, by its own clock, where it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_at: Option<WallMillis>,
    /// Set once the new owner processes the whole unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<Taken>,
    /// Set when it is cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<CancelReason>,
    /// The time at which the attempt began.
    pub since: WallMillis,
    /// The reason of the move.
    pub why: Reason,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

/// The end that a handoff waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Awaited {
    /// That of the old owner's session: its process seems to be dead. The new owner warms up ahead of it.
    EndOfSession,
    /// One that this version does not know: nobody decides by it.
    #[serde(untagged)]
    Other(String),
}

/// A handoff of nothing would lie nowhere: it is as good as unreadable.
fn some_partitions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<TopicPartition>, D::Error> {
    let unit = Vec::<TopicPartition>::deserialize(deserializer)?;
    if unit.is_empty() { Err(D::Error::custom("a handoff of no partition")) } else { Ok(unit) }
}

/// Final offsets as they are stored; a negative one, which older versions recorded, is left out: it is not known.
fn final_offsets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<FinalOffset>, D::Error> {
    #[derive(Deserialize)]
    struct StoredOffset {
        at: TopicPartition,
        offset: i64,
    }
    let known =
        |last: StoredOffset| Some(FinalOffset { at: last.at, offset: Offset::new(last.offset).ok()? });
    Ok(Vec::<StoredOffset>::deserialize(deserializer)?.into_iter().filter_map(known).collect())
}

/// The offset at which the old owner of one partition stopped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FinalOffset {
    /// The partition.
    pub at: TopicPartition,
    /// The record after the last one that it finished.
    pub offset: Offset,
}

/// The new owner's report of when it began to process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Taken {
    /// The first record that it handled by itself, where there was one.
    #[serde(default, deserialize_with = "super::offset_in_log", skip_serializing_if = "Option::is_none")]
    pub first_offset: Option<Offset>,
    /// The time at which it handled that record or began to wait for one, by its own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_at: Option<WallMillis>,
    #[serde(flatten)]
    /// Fields that a newer writer added.
    pub extra: Extra,
}

impl Handoff {
    /// A handoff that begins.
    ///
    /// # Panics
    /// Where `unit` is empty: nothing can move.
    #[must_use]
    pub fn new(
        id: HandoffId,
        unit: Vec<TopicPartition>,
        (old, new): (Member, Member),
        mode: Mode,
        since: WallMillis,
        why: Reason,
    ) -> Self {
        assert!(!unit.is_empty(), "a unit has at least one partition");
        Self {
            version: Version,
            id,
            unit,
            old,
            new,
            mode,
            phase: Phase::Warming,
            without: BTreeSet::new(),
            awaits: None,
            catch_up: mode == Mode::Routed,
            old_epochs: Vec::new(),
            old_owner: None,
            said: BTreeSet::new(),
            old_said: BTreeSet::new(),
            is_fenced: false,
            stopped_at: Vec::new(),
            last_at: None,
            taken: None,
            cancelled: None,
            since,
            why,
            extra: Extra::new(),
        }
    }

    /// The partition where this record lies.
    #[must_use]
    pub fn lead(&self) -> &TopicPartition {
        self.unit.first().expect("a unit has at least one partition")
    }

    /// The epoch under which the old owner held `partition`; known from `Complete` on.
    #[must_use]
    pub fn old_epoch(&self, partition: &TopicPartition) -> Option<Epoch> {
        let position = self.unit.iter().position(|p| p == partition)?;
        self.old_epochs.get(position).copied()
    }

    /// The same attempt in another phase, of which nothing has been said yet.
    #[must_use]
    pub fn in_phase(&self, phase: Phase) -> Self {
        Self { phase, said: BTreeSet::new(), old_said: BTreeSet::new(), ..self.clone() }
    }

    /// The offset at which the old owner stopped in `partition`, where it said so. A stored one that is negative counts as
    /// unsaid.
    #[must_use]
    pub fn final_offset(&self, partition: &TopicPartition) -> Option<Offset> {
        self.stopped_at.iter().find(|last| last.at == *partition).map(|last| last.offset)
    }

    /// True if the new owner only prepares for the end of the old owner's session, which may go on.
    #[must_use]
    pub fn is_ahead(&self) -> bool {
        self.awaits == Some(Awaited::EndOfSession)
    }

    /// True if an owner of a unit whose requests are about to be held back, or are, ends the record in the works before.
    #[must_use]
    pub fn asks_for_rest(&self) -> bool {
        let is_early = matches!(self.phase, Phase::Ready | Phase::Freezing);
        is_early && self.mode == Mode::Routed && !self.is_ahead()
    }

    /// True if the old owner has said of the whole unit what the phase waits for.
    #[must_use]
    pub fn old_has_said_all(&self) -> bool {
        self.unit.iter().all(|at| self.old_said.contains(at))
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode;
    use super::*;
    use kafka_assigner_types::id::Incarnation;

    fn member(name: &str) -> Member {
        Member { name: name.parse().unwrap(), incarnation: Incarnation::new("1").unwrap() }
    }

    #[test]
    fn a_handoff_and_a_reference_to_it_read_back_as_what_they_were() {
        let lead = TopicPartition::new("t".parse().unwrap(), 1);
        let handoff = Handoff::new(
            HandoffId::new("h"),
            vec![lead.clone()],
            (member("a"), member("b")),
            Mode::Overlap,
            WallMillis(5),
            Reason::Unowned,
        );
        for record in [
            HandoffRecord::Lead(Box::new(handoff)),
            HandoffRecord::Reference(Reference::new(HandoffId::new("h"), lead)),
        ] {
            assert_eq!(decode::<HandoffRecord>(&encode(&record)).unwrap(), record);
            assert_eq!(HandoffRecord::read(&encode(&record)).unwrap(), record);
        }
    }

    /// An older version recorded whatever a client said.
    #[test]
    fn a_negative_final_offset_in_the_store_counts_as_not_known() {
        let at = |n| TopicPartition::new("t".parse().unwrap(), n);
        let parties = (member("a"), member("b"));
        let unit = vec![at(0), at(1)];
        let mut handoff =
            Handoff::new(HandoffId::new("h"), unit, parties, Mode::Exclusive, WallMillis(5), Reason::Unowned);
        let known = Offset::new(7).unwrap();
        handoff.stopped_at = [0, 1].map(|n| FinalOffset { at: at(n), offset: known }).to_vec();
        let mut stored = serde_json::to_value(&handoff).unwrap();
        stored["stopped_at"][0]["offset"] = (-1001).into();
        let handoff: Handoff = serde_json::from_value(stored).unwrap();
        assert_eq!(handoff.final_offset(&at(0)), None);
        assert_eq!(handoff.final_offset(&at(1)), Some(known));
    }
}
