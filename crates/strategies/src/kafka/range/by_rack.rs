//! Partitions for members nearby, as far as the sizes of the shares allow (KIP-881).

use rustc_hash::FxHashMap;

use super::super::Group;
use super::share::Share;
use super::{OrderedAudiences, Owned};
use crate::{RackIndex, TopicIndex};

/// True if racks make a difference for any topic.
pub(super) fn is_needed(group: &Group) -> bool {
    group.served_topics().any(|topic| matter(group, topic))
}

fn matter(group: &Group, topic: TopicIndex) -> bool {
    group.racks.matter(group.audience(topic).members.iter().copied(), group.units_of(topic))
}

pub(super) fn assign(group: &Group, ordered: &OrderedAudiences<'_>, owned: &mut Owned) {
    for topics in alike(group) {
        let members = ordered.of_topic(group, topics[0]);
        let mut shares: Vec<_> = topics.iter().map(|topic| Share::of(group, *topic, members)).collect();
        match shares.as_mut_slice() {
            [share] if !matter(group, topics[0]) => {
                share.give_runs(|member, unit| owned[member.index()].push(unit));
                continue;
            }
            [share] => give_nearby(group, share, owned),
            shares => give_together(group, shares, owned),
        }
        for share in &mut shares {
            share.give_runs(|member, unit| owned[member.index()].push(unit));
        }
    }
}

/// The served topics, together if they have the same subscribers and as many partitions.
fn alike(group: &Group) -> Vec<Vec<TopicIndex>> {
    let mut set_of = FxHashMap::default();
    let mut sets: Vec<Vec<TopicIndex>> = Vec::new();
    for topic in group.served_topics() {
        let key = (&group.audience(topic).classes, group.partitions(topic));
        let set = *set_of.entry(key).or_insert_with(|| {
            sets.push(Vec::new());
            sets.len() - 1
        });
        sets[set].push(topic);
    }
    sets
}

/// The positions of members, by the number of their rack plus one; those without one first.
fn by_rack(group: &Group, share: &Share<'_>) -> Vec<Vec<usize>> {
    let mut positions = vec![Vec::new(); group.racks.count() + 1];
    for (position, member) in share.members.iter().enumerate() {
        positions[place_of(group.racks.of_member(*member))].push(position);
    }
    positions
}

fn place_of(rack: Option<RackIndex>) -> usize {
    rack.map_or(0, |rack| rack.index() + 1)
}

/// Gives partition number after partition number of all topics at once to the first member that
/// is near all of them and has room in all topics.
fn give_together(group: &Group, shares: &mut [Share<'_>], owned: &mut Owned) {
    let waiting = by_rack(group, &shares[0]);
    let mut next = vec![0; waiting.len()];
    for partition in 0..shares[0].partitions() {
        let near_all = |rack: &RackIndex| {
            shares.iter().all(|share| group.racks.of_unit(share.unit(partition)).contains(rack))
        };
        let racks = group.racks.of_unit(shares[0].unit(partition)).iter().filter(|rack| near_all(rack));
        let places = racks.map(|rack| place_of(Some(*rack))).chain([0]);
        let first = places.filter_map(|place| first_with_room(shares, &waiting[place], &mut next[place]));
        let Some(position) = first.min() else { continue };
        for share in &mut *shares {
            share.give(position, &[partition]);
            owned[share.members[position].index()].push(share.unit(partition));
        }
    }
}

/// The first of `waiting`, from `next` on, that has room in all topics. Who has none never will.
fn first_with_room(shares: &[Share<'_>], waiting: &[usize], next: &mut usize) -> Option<usize> {
    while let Some(position) = waiting.get(*next) {
        if shares.iter().all(|share| share.room(*position) > 0) {
            return Some(*position);
        }
        *next += 1;
    }
    None
}

/// Gives each member in order the first partitions near it, as many as it has room for.
fn give_nearby(group: &Group, share: &mut Share<'_>, owned: &mut Owned) {
    let mut next = vec![0; group.racks.count() + 1];
    for (position, member) in share.members.iter().enumerate() {
        let next = &mut next[place_of(group.racks.of_member(*member))];
        let mut nearby = Vec::new();
        while nearby.len() < share.room(position) as usize && *next < share.partitions() {
            let fits = !share.is_given(*next) && group.racks.fit(*member, share.unit(*next));
            nearby.extend(fits.then_some(*next));
            *next += 1;
        }
        share.give(position, &nearby);
        owned[member.index()].extend(nearby.iter().map(|partition| share.unit(*partition)));
    }
}
