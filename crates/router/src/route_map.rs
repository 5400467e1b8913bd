//! The routing table, and the steps that lead from one state of it to the next.
//!
//! Pure: updates are its input, steps its output. It is level-triggered: only the last route of a partition
//! counts, so a repeated or merged message leads to the same state.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use kafka_assigner_types::id::{HandoffId, TopicPartition};
use kafka_assigner_types::name::TopicName;
use rustc_hash::FxHashMap;

use crate::dialect::RouteUpdate;
use crate::route::{PartitionRoute, RouteTarget};

/// A step that follows for one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RouteStep {
    /// Send nothing more, and hold new requests back.
    Stop(TopicPartition),
    /// Wait until no request is in flight, for the acknowledgement of this handoff. Follows a stop.
    Drain(TopicPartition, HandoffId),
    /// Send to this owner: first the held requests, then new ones.
    Switch(TopicPartition, RouteTarget),
    /// The partition does not exist any more.
    Remove(TopicPartition),
}

/// The routes of all partitions; closed at first.
#[derive(Debug, Default)]
pub(crate) struct RouteMap {
    is_open: bool,
    routes: FxHashMap<TopicPartition, PartitionRoute>,
    /// The numbers of each topic's partitions.
    topics: FxHashMap<TopicName, BTreeSet<u32>>,
}

impl RouteMap {
    /// The route of a partition; `None` while the table is closed, and for a partition that does not exist. One lookup
    /// in a hash table.
    pub(crate) fn get(&self, at: &TopicPartition) -> Option<&PartitionRoute> {
        if self.is_open { self.routes.get(at) } else { None }
    }

    /// Returns true if the table may be used.
    pub(crate) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// A topic's name, and the number of its partitions: one more than the highest id. `None` = there is no such topic.
    pub(crate) fn topic(&self, topic: &str) -> Option<(&TopicName, NonZeroU32)> {
        let (name, numbers) = self.topics.get_key_value(topic)?;
        Some((name, NonZeroU32::MIN.saturating_add(*numbers.last()?)))
    }

    /// Applies an update and returns the steps that follow. Only an open table switches: see [`open`](Self::open).
    pub(crate) fn apply(&mut self, update: RouteUpdate) -> Vec<RouteStep> {
        let mut steps = Vec::new();
        match update {
            RouteUpdate::All { routes, undecided } => self.replace(routes, &undecided, &mut steps),
            RouteUpdate::Some { routes, removed } => {
                for at in removed {
                    self.remove(at, &mut steps);
                }
                for (at, route) in routes {
                    self.set(at, route, &mut steps);
                }
            }
        }
        steps
    }

    /// Stops everything until it is opened again. Routes stay known.
    pub(crate) fn close(&mut self) -> Vec<RouteStep> {
        if !std::mem::replace(&mut self.is_open, false) {
            return Vec::new();
        }
        let sends = |at: &TopicPartition| matches!(self.routes.get(at), Some(PartitionRoute::Open(_)));
        self.partitions().into_iter().filter(sends).map(RouteStep::Stop).collect()
    }

    /// Opens the table, with the routes that are known.
    pub(crate) fn open(&mut self) -> Vec<RouteStep> {
        self.is_open = true;
        let switch = |at: TopicPartition| match self.routes.get(&at) {
            Some(PartitionRoute::Open(target)) => Some(RouteStep::Switch(at, target.clone())),
            _ => None,
        };
        self.partitions().into_iter().filter_map(switch).collect()
    }

    /// Closes the table and marks every partition as unowned: an owner may be gone when the next session begins.
    pub(crate) fn forget(&mut self) -> Vec<RouteStep> {
        let steps = self.close();
        for route in self.routes.values_mut() {
            *route = PartitionRoute::Unowned;
        }
        steps
    }

    fn replace(
        &mut self,
        routes: Vec<(TopicPartition, PartitionRoute)>,
        undecided: &BTreeSet<TopicPartition>,
        steps: &mut Vec<RouteStep>,
    ) {
        let listed: BTreeSet<_> = routes.iter().map(|(at, _)| at.clone()).collect();
        for gone in self.partitions().into_iter().filter(|at| !listed.contains(at) && !undecided.contains(at))
        {
            self.remove(gone, steps);
        }
        for at in undecided.iter().filter(|at| !self.routes.contains_key(*at)).cloned().collect::<Vec<_>>() {
            self.set(at, PartitionRoute::Unowned, steps);
        }
        for (at, route) in routes {
            self.set(at, route, steps);
        }
    }

    fn set(&mut self, at: TopicPartition, route: PartitionRoute, steps: &mut Vec<RouteStep>) {
        let known = self.routes.insert(at.clone(), route.clone());
        self.count(&at);
        if known.as_ref() == Some(&route) {
            return;
        }
        match route {
            PartitionRoute::Open(target) if self.is_open => steps.push(RouteStep::Switch(at, target)),
            PartitionRoute::Open(_) => {}
            PartitionRoute::Unowned => steps.push(RouteStep::Stop(at)),
            PartitionRoute::Stash(handoff) => {
                steps.extend([RouteStep::Stop(at.clone()), RouteStep::Drain(at, handoff)]);
            }
        }
    }

    fn remove(&mut self, at: TopicPartition, steps: &mut Vec<RouteStep>) {
        if self.routes.remove(&at).is_some() {
            if let Some(numbers) = self.topics.get_mut(&at.topic) {
                numbers.remove(&at.partition);
            }
            steps.push(RouteStep::Remove(at));
        }
    }

    fn count(&mut self, at: &TopicPartition) {
        self.topics.entry(at.topic.clone()).or_default().insert(at.partition);
    }

    /// In order, so that a run repeats exactly.
    fn partitions(&self) -> BTreeSet<TopicPartition> {
        self.routes.keys().cloned().collect()
    }
}

#[cfg(test)]
#[path = "route_map_test.rs"]
mod route_map_test;
