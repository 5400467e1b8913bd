//! The commands on a router's stream, read as updates of the routing table.

use std::collections::BTreeSet;

use kafka_assigner_proto::v1::route_command::Command;
use kafka_assigner_proto::v1::{RouteChange, RouteCommand, RouteTable};
use kafka_assigner_session::{Dialect, Heard, MessageBody, ToldItems, named};
use kafka_assigner_types::id::TopicPartition;

use crate::route::PartitionRoute;

/// A change of the routing table, read from one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RouteUpdate {
    /// The whole table. A partition that is not listed does not exist, except for one that can't be decided just
    /// now, which stays as it is.
    All { routes: Vec<(TopicPartition, PartitionRoute)>, undecided: BTreeSet<TopicPartition> },
    /// The routes that changed, and the partitions that were removed.
    Some { routes: Vec<(TopicPartition, PartitionRoute)>, removed: Vec<TopicPartition> },
}

/// The dialect of routers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RouterDialect {}

impl Dialect for RouterDialect {
    type Command = RouteCommand;
    type Snapshot = RouteTable;
    type News = RouteUpdate;

    fn hear(command: RouteCommand) -> Heard<RouteTable, RouteUpdate> {
        let RouteCommand { cluster_id, revision, command } = command;
        let what = match command {
            Some(Command::Table(mut part)) => {
                let session = part.session.take().unwrap_or_default();
                MessageBody::Snapshot { session, more: part.more, part }
            }
            Some(Command::Change(change)) => MessageBody::News(some(change)),
            Some(Command::GoAway(go_away)) => MessageBody::GoAway(go_away),
            Some(Command::Fenced(fenced)) => MessageBody::Fenced(fenced),
            Some(Command::OutOfTouch(_)) => MessageBody::OutOfTouch,
            None => MessageBody::Nothing,
        };
        Heard { cluster_id, revision, what }
    }

    fn append(whole: &mut RouteTable, mut part: RouteTable) {
        whole.routes.append(&mut part.routes);
        whole.undecided.append(&mut part.undecided);
    }

    fn news(whole: RouteTable) -> RouteUpdate {
        let undecided = whole.undecided.into_iter();
        RouteUpdate::All {
            routes: whole.routes.into_iter().filter_map(PartitionRoute::read).collect(),
            undecided: undecided.filter_map(|at| named(&at.topic, at.partition)).collect(),
        }
    }

    fn note(news: &RouteUpdate, told: &mut ToldItems) {
        let routes = match news {
            RouteUpdate::All { routes, undecided } => {
                told.clear(undecided);
                routes
            }
            RouteUpdate::Some { routes, removed } => {
                removed.iter().for_each(|at| told.take(at, None));
                routes
            }
        };
        for (at, route) in routes {
            told.take(at, Some(route.key().of_partition(at)));
        }
    }
}

fn some(change: RouteChange) -> RouteUpdate {
    let removed = change.removed.into_iter();
    RouteUpdate::Some {
        routes: change.routes.into_iter().filter_map(PartitionRoute::read).collect(),
        removed: removed.filter_map(|at| named(&at.topic, at.partition)).collect(),
    }
}
