//! Identities and counters, each a type of its own.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::kv::Revision;
use crate::name::{InvalidName, MemberName, TopicName};

/// One partition of one topic; ordered by topic, then number.
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
    /// The epoch of the next grant, written by somebody whose view stands at `view`.
    ///
    /// Taking the revision in keeps epochs rising over deleted groups and re-created topics, whose old
    /// epochs nobody remembers.
    #[must_use]
    pub const fn next(self, view: Revision) -> Self {
        let above = self.0 + 1;
        Self(if above > view.0 { above } else { view.0 })
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A Kafka offset: the next record to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offset(pub i64);

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
        assert_eq!(Epoch(7).next(Revision(3)), Epoch(8));
        assert_eq!(Epoch(0).next(Revision(41)), Epoch(41));
    }
}
