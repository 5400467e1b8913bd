//! The data with which consumers and routers register.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::key::{Key, decode_partition};
use crate::reason::FenceReason;
use crate::record::{Consumer, Router, Standing};
use crate::state::{Entry, GroupState, SharedMap};
use kafka_assigner_types::id::{Epoch, Incarnation, TopicPartition};
use kafka_assigner_types::moment::millis;
use kafka_assigner_types::name::MemberName;

/// The record of one session, which hangs on the session's lease.
pub trait Registration: Serialize + DeserializeOwned {
    /// The kind of member, as messages call it.
    const KIND: &'static str;

    /// The key at which the session of `name` is registered.
    fn key(name: &MemberName) -> Key;

    /// All registrations of this kind that a view shows, by name.
    fn registered(state: &GroupState) -> &SharedMap<MemberName, Entry<Self>>;

    /// The session.
    fn incarnation(&self) -> &Incarnation;

    /// The caller that opened it; empty: it had no name.
    fn caller(&self) -> &str;

    /// The reason why it is being ended by force, where it is.
    fn ending(&self) -> Option<FenceReason>;

    /// The session's time to live.
    fn ttl(&self) -> Duration;

    /// The same registration with the time to live that the store granted.
    #[must_use]
    fn with_ttl(self, ttl: Duration) -> Self;

    /// The same registration without the mark that its process seems to be dead; `None` where it has none.
    fn unmarked(&self) -> Option<Self>;

    /// The partitions that it is fenced of, each with the highest epoch that is.
    fn fenced(&self) -> impl Iterator<Item = (TopicPartition, Epoch)>;

    /// The same registration after its client said that it has dropped `dropped`; `None` where it is fenced of none of these.
    fn unfenced(&self, dropped: &[(TopicPartition, Epoch)]) -> Option<Self>;
}

impl Registration for Consumer {
    const KIND: &'static str = "consumer";

    fn key(name: &MemberName) -> Key {
        Key::Consumer(name.clone())
    }

    fn registered(state: &GroupState) -> &SharedMap<MemberName, Entry<Self>> {
        state.consumers()
    }

    fn incarnation(&self) -> &Incarnation {
        &self.incarnation
    }

    fn caller(&self) -> &str {
        &self.caller
    }

    fn ending(&self) -> Option<FenceReason> {
        match &self.standing {
            Standing::Ending(reason) => Some(reason.clone()),
            Standing::Active | Standing::Draining => None,
        }
    }

    fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl_ms)
    }

    fn with_ttl(self, ttl: Duration) -> Self {
        Self { ttl_ms: millis(ttl), ..self }
    }

    fn unmarked(&self) -> Option<Self> {
        self.suspected.is_some().then(|| Self { suspected: None, ..self.clone() })
    }

    fn fenced(&self) -> impl Iterator<Item = (TopicPartition, Epoch)> {
        self.fenced.iter().filter_map(|(at, epoch)| Some((decode_partition(at)?, *epoch)))
    }

    /// A fence of a later grant than the one that was dropped stays.
    fn unfenced(&self, dropped: &[(TopicPartition, Epoch)]) -> Option<Self> {
        let is_dropped = |at: &str, fenced: Epoch| {
            dropped.iter().any(|(dropped, epoch)| *epoch >= fenced && dropped.to_string() == at)
        };
        let mut next = self.clone();
        next.fenced.retain(|at, epoch| !is_dropped(at, *epoch));
        (next.fenced.len() < self.fenced.len()).then_some(next)
    }
}

/// A router's registration is written once in its session, since its revision tells which freezes wait for it. So
/// nothing marks it as ending: the session ends with it.
impl Registration for Router {
    const KIND: &'static str = "router";

    fn key(name: &MemberName) -> Key {
        Key::Router(name.clone())
    }

    fn registered(state: &GroupState) -> &SharedMap<MemberName, Entry<Self>> {
        state.routers()
    }

    fn incarnation(&self) -> &Incarnation {
        &self.incarnation
    }

    fn caller(&self) -> &str {
        &self.caller
    }

    fn ending(&self) -> Option<FenceReason> {
        None
    }

    fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl_ms)
    }

    fn with_ttl(self, ttl: Duration) -> Self {
        Self { ttl_ms: millis(ttl), ..self }
    }

    fn unmarked(&self) -> Option<Self> {
        None
    }

    fn fenced(&self) -> impl Iterator<Item = (TopicPartition, Epoch)> {
        std::iter::empty()
    }

    fn unfenced(&self, _: &[(TopicPartition, Epoch)]) -> Option<Self> {
        None
    }
}
