//! Identities and counters, each a type of its own.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::name::{InvalidName, MemberName, TopicName};

/// One partition of one topic; ordered by topic, then number. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TopicPartition {
    /// The topic.
    pub topic: TopicName,
    /// The partition's number, from 0.
    pub partition: u32,
}

impl TopicPartition {
    /// The partition `partition` of `topic`.
    #[must_use]
    pub const fn new(topic: TopicName, partition: u32) -> Self {
        Self { topic, partition }
    }

    /// The partition `number` of `topic`, as Kafka's protocol, its clients and the service's wire name it.
    ///
    /// # Errors
    ///
    /// [`InvalidPartition`], by variant.
    pub fn from_kafka(topic: &str, number: i32) -> Result<Self, InvalidPartition> {
        let partition = u32::try_from(number).map_err(|_| InvalidPartition::Negative(number))?;
        Ok(Self::try_from((topic, partition))?)
    }

    /// The partition's number in Kafka's signed type. A number that Kafka can't have counts as its largest.
    #[must_use]
    pub fn kafka_number(&self) -> i32 {
        i32::try_from(self.partition).unwrap_or(i32::MAX)
    }
}

/// The partition of that number (from 0) of the topic of that name.
impl TryFrom<(&str, u32)> for TopicPartition {
    type Error = InvalidName;

    fn try_from((topic, partition): (&str, u32)) -> Result<Self, InvalidName> {
        Ok(Self { topic: TopicName::new(topic)?, partition })
    }
}

/// A name from outside that no partition has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPartition {
    /// The topic's name breaks the rule for names.
    #[error(transparent)]
    Topic(#[from] InvalidName),
    /// The number is negative.
    #[error("partition = {0} is refused: it must not be negative")]
    Negative(i32),
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic, self.partition)
    }
}

/// A partition's fencing token: rises whenever the owner or its incarnation changes, and never falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The epoch of the next grant: above this one, and not below `floor`.
    #[must_use]
    pub const fn next(self, floor: u64) -> Self {
        let above = self.0 + 1;
        Self(if above > floor { above } else { floor })
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An offset of a Kafka partition: a record's place in the log, from 0. As a position, it is that of the next record.
///
/// Never negative. Clients of Kafka use negative numbers for "end", "beginning" and "unknown": none of them is a place,
/// and what is not known is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Offset(i64);

/// A number that is no offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is refused: it must not be negative")]
pub struct InvalidOffset(pub i64);

impl Offset {
    /// The beginning of every log.
    pub const ZERO: Self = Self(0);

    /// Checks a number from outside.
    ///
    /// # Errors
    ///
    /// [`InvalidOffset`] if it is negative.
    pub const fn new(number: i64) -> Result<Self, InvalidOffset> {
        if number < 0 { Err(InvalidOffset(number)) } else { Ok(Self(number)) }
    }

    /// The offset as a number, not negative.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The offset after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The offset before this one; `None` at the beginning.
    #[must_use]
    pub const fn before(self) -> Option<Self> {
        if self.0 == 0 { None } else { Some(Self(self.0 - 1)) }
    }

    /// The number of offsets from `earlier` (included) to this one (excluded); 0 where it is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        if self.0 > earlier.0 { self.0.abs_diff(earlier.0) } else { 0 }
    }
}

impl TryFrom<i64> for Offset {
    type Error = InvalidOffset;

    fn try_from(number: i64) -> Result<Self, InvalidOffset> {
        Self::new(number)
    }
}

impl From<Offset> for i64 {
    fn from(offset: Offset) -> Self {
        offset.0
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names one session of a consumer or router; chosen at random by whoever opens it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(Arc<str>);

impl Incarnation {
    /// Checks an incarnation from the network: it obeys the rule for names.
    ///
    /// # Errors
    /// [`InvalidName`] of the kind `incarnation`, by the rule for a member's name.
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        let name = MemberName::new(text).map_err(|error| InvalidName { kind: "incarnation", ..error })?;
        Ok(Self(name.shared()))
    }

    /// The incarnation as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names one attempt to move one unit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HandoffId(Arc<str>);

impl HandoffId {
    /// An id as it came from a record or the network; it is only ever compared.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HandoffId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for HandoffId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

/// Deals out the ids of one planning pass: a random number that the driver brings, and a counter.
#[derive(Debug)]
pub struct HandoffIds {
    nonce: u64,
    next: u32,
}

impl HandoffIds {
    /// Ids that start with `nonce`, which must be random and new for each pass.
    #[must_use]
    pub const fn new(nonce: u64) -> Self {
        Self { nonce, next: 0 }
    }

    /// The next id.
    pub fn deal(&mut self) -> HandoffId {
        self.next += 1;
        HandoffId::new(&format!("{:016x}-{}", self.nonce, self.next))
    }
}

/// A member in one of its sessions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: MemberName,
    /// The session that is meant.
    pub incarnation: Incarnation,
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.incarnation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_rises_above_the_last_one_and_above_what_nobody_remembers() {
        assert_eq!(Epoch(7).next(3), Epoch(8));
        assert_eq!(Epoch(0).next(41), Epoch(41));
    }

    #[test]
    fn a_negative_offset_is_refused_with_its_value_and_the_rule() {
        assert_eq!(Offset::new(0), Ok(Offset::ZERO));
        let refused = Offset::new(-1001).unwrap_err().to_string();
        assert_eq!(refused, "-1001 is refused: it must not be negative");
        assert!(serde_json::from_str::<Offset>("-1").unwrap_err().to_string().contains("negative"));
        assert_eq!(serde_json::to_string(&Offset::new(7).unwrap()).unwrap(), "7");
    }

    #[test]
    fn offsets_count_from_the_beginning_of_the_log() {
        let (two, five) = (Offset::new(2).unwrap(), Offset::new(5).unwrap());
        assert_eq!((five.since(two), two.since(five)), (3, 0));
        assert_eq!((Offset::ZERO.before(), two.next().before()), (None, Some(two)));
    }

    #[test]
    fn a_partition_from_outside_has_a_name_by_the_rule_and_a_number_from_0() {
        let at = TopicPartition::from_kafka("t", 3).unwrap();
        assert_eq!((at.to_string().as_str(), at.kafka_number()), ("t/3", 3));
        assert_eq!(TopicPartition::from_kafka("t", -1), Err(InvalidPartition::Negative(-1)));
        assert!(matches!(TopicPartition::from_kafka("a/b", 0), Err(InvalidPartition::Topic(_))));
    }
}
