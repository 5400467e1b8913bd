//! The routes that one stream was told, and what it has to be told next.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_core::counts::partitions;
use kafka_assigner_core::route::{Route, is_undecided, route};
use kafka_assigner_core::state::{GroupState, Scope};
use kafka_assigner_proto::v1::route_command::Command;
use kafka_assigner_proto::v1::{
    self, RemovedRoute, RouteChange, RouteOwner, RouteState, RouteTable, SessionInfo, UndecidedPartition,
};
use kafka_assigner_types::id::TopicPartition;

use crate::convert::wire_partition;

/// The most routes of one command: with the longest names below gRPC's usual 4 MiB.
const MOST_ROUTES: usize = 5_000;

/// All routes that a stream was told.
#[derive(Debug)]
pub(super) struct SentRoutes(BTreeMap<TopicPartition, Route>);

/// The routes that changed.
#[derive(Debug, Default)]
struct RouteChanges {
    routes: Vec<v1::Route>,
    removed: Vec<RemovedRoute>,
}

impl SentRoutes {
    /// The table of `state`, and the commands that tell it to somebody who knows nothing.
    pub(super) fn open(state: &GroupState, session: &SessionInfo) -> (Self, Vec<Command>) {
        let known = |at: TopicPartition| route(state, &at).map(|route| (at, route));
        let table = Self(partitions(state, None).filter_map(known).collect());
        let routes = table.0.iter().map(|(at, route)| wire(at, route)).collect();
        let unknown = partitions(state, None).filter(|at| is_undecided(state, at));
        let unknown: BTreeSet<TopicPartition> = unknown.chain(state.unreadable().iter().cloned()).collect();
        let undecided = unknown.iter().map(undecided).collect();
        let parts = parts(session, routes, undecided).into_iter().map(Command::Table).collect();
        (table, parts)
    }

    /// Brings the table up to `state` as far as `scope` reaches, and returns what has to be told. What can't be decided
    /// stays as it is.
    pub(super) fn follow(&mut self, state: &GroupState, scope: &Scope) -> Vec<Command> {
        let mut news = RouteChanges::default();
        match scope {
            Scope::Partitions(named) => named.iter().for_each(|at| self.follow_one(state, at, &mut news)),
            Scope::Everything => {
                let all: BTreeSet<TopicPartition> =
                    self.0.keys().cloned().chain(partitions(state, None)).collect();
                all.iter().for_each(|at| self.follow_one(state, at, &mut news));
            }
        }
        news.commands()
    }

    fn follow_one(&mut self, state: &GroupState, at: &TopicPartition, news: &mut RouteChanges) {
        match route(state, at) {
            Some(next) if self.0.get(at) != Some(&next) => {
                news.routes.push(wire(at, &next));
                self.0.insert(at.clone(), next);
            }
            None if !is_undecided(state, at) && self.0.remove(at).is_some() => {
                let (topic, partition) = (at.topic.to_string(), wire_partition(at.partition));
                news.removed.push(RemovedRoute { topic, partition });
            }
            _ => {}
        }
    }

    /// True if it says what `state` says, wherever that can be decided.
    pub(super) fn is_up_to_date(&self, state: &GroupState) -> bool {
        let is_told =
            |at: &TopicPartition| route(state, at).is_none_or(|route| self.0.get(at) == Some(&route));
        state.assignments().keys().all(is_told)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl RouteChanges {
    fn commands(self) -> Vec<Command> {
        let routes = self
            .routes
            .chunks(MOST_ROUTES)
            .map(|routes| RouteChange { routes: routes.to_vec(), removed: Vec::new() });
        let removed = self
            .removed
            .chunks(MOST_ROUTES)
            .map(|removed| RouteChange { routes: Vec::new(), removed: removed.to_vec() });
        routes.chain(removed).map(Command::Change).collect()
    }
}

/// A table in parts, of which all but the last say that there are more.
fn parts(
    session: &SessionInfo,
    routes: Vec<v1::Route>,
    undecided: Vec<UndecidedPartition>,
) -> Vec<RouteTable> {
    let last = (routes.len() + undecided.len()).div_ceil(MOST_ROUTES).max(1);
    let (mut routes, mut undecided) = (routes.into_iter(), undecided.into_iter());
    let part = |number: usize| {
        let routes: Vec<v1::Route> = routes.by_ref().take(MOST_ROUTES).collect();
        let undecided = undecided.by_ref().take(MOST_ROUTES - routes.len()).collect();
        RouteTable { session: Some(session.clone()), routes, undecided, more: number < last }
    };
    (1..=last).map(part).collect()
}

fn wire(at: &TopicPartition, route: &Route) -> v1::Route {
    let mut shown = v1::Route {
        topic: at.topic.to_string(),
        partition: wire_partition(at.partition),
        ..v1::Route::default()
    };
    match route {
        Route::Open { owner, endpoint, epoch } => {
            shown.set_state(RouteState::Open);
            shown.epoch = epoch.0;
            shown.owner = Some(RouteOwner {
                consumer_name: owner.name.to_string(),
                incarnation: owner.incarnation.to_string(),
                endpoint: endpoint.clone(),
            });
        }
        Route::Stash { handoff } => {
            shown.set_state(RouteState::Stash);
            shown.handoff_id = handoff.to_string();
        }
        Route::Unowned => shown.set_state(RouteState::Unowned),
    }
    shown
}

fn undecided(at: &TopicPartition) -> UndecidedPartition {
    UndecidedPartition { topic: at.topic.to_string(), partition: wire_partition(at.partition) }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_core::test_group::{TestGroup, tp};

    use super::*;

    fn sizes(commands: &[Command]) -> Vec<(usize, usize)> {
        let size = |command: &Command| match command {
            Command::Table(table) => (table.routes.len(), usize::from(table.more)),
            Command::Change(change) => (change.routes.len(), change.removed.len()),
            other => panic!("{other:?}"),
        };
        commands.iter().map(size).collect()
    }

    #[test]
    fn a_large_table_comes_in_parts_of_bounded_size() {
        let mut lab = TestGroup::with_topics(&[("t", 12_000)]);
        lab.join("a");
        lab.settle();
        let (table, commands) = SentRoutes::open(&lab.state, &SessionInfo::default());
        assert_eq!(sizes(&commands), [(5_000, 1), (5_000, 1), (2_000, 0)]);
        assert!(table.is_up_to_date(&lab.state));
        assert_eq!(table.len(), 12_000);
    }

    #[test]
    fn an_empty_table_is_told_too() {
        let lab = TestGroup::with_topics(&[]);
        assert_eq!(sizes(&SentRoutes::open(&lab.state, &SessionInfo::default()).1), [(0, 0)]);
    }

    #[test]
    fn only_what_changed_is_told_and_nothing_twice() {
        let mut lab = TestGroup::with_topics(&[("t", 3)]);
        lab.join("a");
        lab.settle();
        let (mut table, _) = SentRoutes::open(&lab.state, &SessionInfo::default());
        let mut one = Scope::default();
        one.extend([tp("t", 1)]);
        lab.crash("a");
        assert_eq!(sizes(&table.follow(&lab.state, &one)), [(1, 0)]);
        assert_eq!(sizes(&table.follow(&lab.state, &Scope::Everything)), [(2, 0)]);
        assert_eq!(sizes(&table.follow(&lab.state, &Scope::Everything)), []);
        assert!(table.is_up_to_date(&lab.state));
        lab.topic("t", 1);
        lab.settle();
        assert_eq!(sizes(&table.follow(&lab.state, &Scope::Everything)), [(0, 2)]);
    }
}
