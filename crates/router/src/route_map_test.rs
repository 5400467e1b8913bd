use kafka_assigner_types::id::Epoch;

use super::*;
use crate::route::PartitionOwner;

fn at(partition: u32) -> TopicPartition {
    TopicPartition::try_from(("t", partition)).expect("a valid name")
}

fn target(name: &str, epoch: u64) -> RouteTarget {
    let owner = PartitionOwner { name: name.into(), incarnation: "i".into(), endpoint: "e".into() };
    RouteTarget { owner, epoch: Epoch(epoch) }
}

fn open(name: &str, epoch: u64) -> PartitionRoute {
    PartitionRoute::Open(target(name, epoch))
}

fn stash(handoff: &str) -> PartitionRoute {
    PartitionRoute::Stash(HandoffId::new(handoff))
}

fn size(routes: &RouteMap, topic: &str) -> Option<u32> {
    routes.topic(topic).map(|(_, size)| size.get())
}

fn all(routes: &[(u32, PartitionRoute)], undecided: &[u32]) -> RouteUpdate {
    RouteUpdate::All {
        routes: routes.iter().map(|(partition, route)| (at(*partition), route.clone())).collect(),
        undecided: undecided.iter().map(|partition| at(*partition)).collect(),
    }
}

fn some(routes: &[(u32, PartitionRoute)], removed: &[u32]) -> RouteUpdate {
    RouteUpdate::Some {
        routes: routes.iter().map(|(partition, route)| (at(*partition), route.clone())).collect(),
        removed: removed.iter().map(|partition| at(*partition)).collect(),
    }
}

/// With partition 0 at owner "a" in epoch 5.
fn routes() -> RouteMap {
    let mut routes = RouteMap::default();
    assert_eq!(routes.get(&at(0)), None, "closed until loaded");
    assert_eq!(routes.apply(all(&[(0, open("a", 5))], &[])), [], "not before it is opened");
    assert_eq!(routes.open(), [RouteStep::Switch(at(0), target("a", 5))]);
    routes
}

#[test]
fn h21_a_router_that_joins_during_freezing_holds_requests_from_the_first_table_on() {
    let mut routes = RouteMap::default();
    let steps = routes.apply(all(&[(0, stash("h"))], &[]));
    assert_eq!(steps, [RouteStep::Stop(at(0)), RouteStep::Drain(at(0), HandoffId::new("h"))]);
}

#[test]
fn h22_a_vanished_handoff_sends_nothing_to_a_dead_owner_and_everything_to_the_winner() {
    let mut routes = routes();
    routes.apply(some(&[(0, stash("h"))], &[]));
    assert_eq!(routes.apply(some(&[(0, PartitionRoute::Unowned)], &[])), [RouteStep::Stop(at(0))]);
    let steps = routes.apply(some(&[(0, open("b", 9))], &[]));
    assert_eq!(steps, [RouteStep::Switch(at(0), target("b", 9))]);
}

#[test]
fn h25_a_cancelled_handoff_leads_back_to_the_living_owner() {
    let mut routes = routes();
    routes.apply(some(&[(0, stash("h"))], &[]));
    let steps = routes.apply(some(&[(0, open("a", 7))], &[]));
    assert_eq!(steps, [RouteStep::Switch(at(0), target("a", 7))]);
}

// The end of the handoff was not delivered; the next whole table names the owner of the partition.
#[test]
fn h26_a_missed_end_of_a_handoff_is_made_up_for_by_the_next_table() {
    let mut routes = routes();
    routes.apply(some(&[(0, stash("h"))], &[]));
    let steps = routes.apply(all(&[(0, open("a", 5))], &[]));
    assert_eq!(steps, [RouteStep::Switch(at(0), target("a", 5))]);
}

#[test]
fn h32_a_settled_partition_starts_no_drain() {
    let mut routes = routes();
    assert_eq!(routes.apply(all(&[(0, open("a", 5))], &[])), []);
    routes.apply(some(&[(0, stash("h"))], &[]));
    assert_eq!(routes.apply(all(&[(0, stash("h"))], &[])), [], "it is drained already, or being drained");
}

#[test]
fn the_next_handoff_is_drained_by_itself() {
    let mut routes = routes();
    routes.apply(some(&[(0, stash("h"))], &[]));
    let steps = routes.apply(some(&[(0, stash("next"))], &[]));
    assert_eq!(steps, [RouteStep::Stop(at(0)), RouteStep::Drain(at(0), HandoffId::new("next"))]);
}

#[test]
fn what_a_table_does_not_list_is_gone_unless_it_is_undecided() {
    let mut routes = routes();
    routes.apply(some(&[(1, open("a", 5)), (2, open("a", 5))], &[]));
    assert_eq!(routes.apply(all(&[(0, open("a", 5))], &[2])), [RouteStep::Remove(at(1))]);
    assert_eq!(routes.get(&at(2)), Some(&open("a", 5)));
    assert_eq!(routes.apply(some(&[], &[2])), [RouteStep::Remove(at(2))]);
}

#[test]
fn an_undecided_partition_that_nothing_is_known_of_holds_requests() {
    let mut routes = RouteMap::default();
    assert_eq!(routes.apply(all(&[], &[4])), [RouteStep::Stop(at(4))]);
    assert_eq!(routes.open(), []);
    assert_eq!(routes.get(&at(4)), Some(&PartitionRoute::Unowned));
}

#[test]
fn a_closed_table_says_nothing_and_goes_on_where_it_was() {
    let mut routes = routes();
    assert_eq!(routes.close(), [RouteStep::Stop(at(0))]);
    assert_eq!(routes.get(&at(0)), None);
    assert_eq!(routes.close(), [], "once is enough");
    routes.apply(some(&[(1, open("b", 6))], &[]));
    assert_eq!(
        routes.open(),
        [RouteStep::Switch(at(0), target("a", 5)), RouteStep::Switch(at(1), target("b", 6))]
    );
}

// The owner of an undecided partition may be gone when the next session begins.
#[test]
fn a_lost_session_takes_its_owners_with_it() {
    let mut routes = routes();
    assert_eq!(routes.forget(), [RouteStep::Stop(at(0))]);
    assert_eq!((routes.apply(all(&[], &[0])), routes.open()), (Vec::new(), Vec::new()));
    assert_eq!(routes.get(&at(0)), Some(&PartitionRoute::Unowned));
}

#[test]
fn a_topic_is_as_large_as_its_last_partition() {
    let mut routes = routes();
    routes.apply(some(&[(7, PartitionRoute::Unowned)], &[]));
    assert_eq!(size(&routes, "t"), Some(8));
    routes.apply(some(&[], &[7]));
    assert_eq!((size(&routes, "t"), size(&routes, "other")), (Some(1), None));
}
