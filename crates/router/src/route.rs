//! The route of one partition.

use std::sync::Arc;

use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::RouteState;
use kafka_assigner_session::named;
use kafka_assigner_types::digest::RouteKey;
use kafka_assigner_types::id::{Epoch, HandoffId, TopicPartition};

/// The owner that requests for a partition are sent to, with its epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteTarget {
    /// The owner.
    pub owner: PartitionOwner,
    /// Its epoch, which each request has to carry: an owner refuses any other.
    pub epoch: Epoch,
}

/// The owner of a partition; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PartitionOwner {
    /// The consumer's name.
    pub name: Arc<str>,
    /// Its session: another one is another owner.
    pub incarnation: Arc<str>,
    /// The address for requests that it registered; empty = it registered none.
    pub endpoint: Arc<str>,
}

/// The route of a partition: its requests are sent, or held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionRoute {
    /// Send them to the owner.
    Open(RouteTarget),
    /// Hold them back, and acknowledge the handoff once no request is in flight.
    Stash(HandoffId),
    /// Hold them back: the partition has no registered owner.
    Unowned,
}

impl PartitionRoute {
    /// Reads a route. One that this version does not know, or that lacks what it needs, holds requests back and
    /// acknowledges nothing; one of a name that no partition can have is `None`.
    pub(crate) fn read(wire: v1::Route) -> Option<(TopicPartition, Self)> {
        let at = named(&wire.topic, wire.partition)?;
        let route = match (wire.state(), wire.owner) {
            (RouteState::Open, Some(owner)) if wire.epoch > 0 => {
                Self::Open(RouteTarget { owner: owner.into(), epoch: Epoch(wire.epoch) })
            }
            (RouteState::Stash, _) if !wire.handoff_id.is_empty() => {
                Self::Stash(HandoffId::new(&wire.handoff_id))
            }
            _ => Self::Unowned,
        };
        Some((at, route))
    }
}

impl PartitionRoute {
    /// The route as digests see it.
    pub(crate) fn key(&self) -> RouteKey<'_> {
        match self {
            Self::Open(RouteTarget { owner, epoch }) => RouteKey::Open {
                epoch: *epoch,
                owner: &owner.name,
                incarnation: &owner.incarnation,
                endpoint: &owner.endpoint,
            },
            Self::Stash(handoff) => RouteKey::Stash(handoff),
            Self::Unowned => RouteKey::Unowned,
        }
    }
}

impl From<v1::RouteOwner> for PartitionOwner {
    fn from(wire: v1::RouteOwner) -> Self {
        Self {
            name: wire.consumer_name.into(),
            incarnation: wire.incarnation.into(),
            endpoint: wire.endpoint.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> v1::Route {
        let owner =
            v1::RouteOwner { consumer_name: "c".into(), incarnation: "i".into(), endpoint: "e".into() };
        let state = RouteState::Open.into();
        v1::Route { topic: "t".into(), owner: Some(owner), epoch: 7, state, ..v1::Route::default() }
    }

    #[test]
    fn an_open_route_names_its_owner() {
        let (at, route) = PartitionRoute::read(open()).expect("a partition");
        assert_eq!(at.to_string(), "t/0");
        let PartitionRoute::Open(target) = route else { panic!("{route:?}") };
        assert_eq!((&*target.owner.name, &*target.owner.endpoint, target.epoch), ("c", "e", Epoch(7)));
    }

    // Fails closed: never a guess at an owner, never an acknowledgement of nothing.
    #[test]
    fn what_is_not_understood_holds_requests_back() {
        for wire in [
            v1::Route { state: 99, ..open() },
            v1::Route { owner: None, ..open() },
            v1::Route { epoch: 0, ..open() },
            v1::Route { state: RouteState::Stash.into(), ..open() },
            v1::Route { state: RouteState::Unspecified.into(), ..open() },
        ] {
            assert_eq!(PartitionRoute::read(wire).map(|(_, route)| route), Some(PartitionRoute::Unowned));
        }
    }
}
