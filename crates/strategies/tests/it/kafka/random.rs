//! Random groups: mixed, with racks, static members, conflicting claims of several generations.

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::subsequence;

use super::vector::{Member, OfTopic, Outcome, Topic, Vector};

/// The features of a group. All alike would hardly ever try a group with little.
#[derive(Clone, Copy, Debug)]
struct Kind {
    mixed: bool,
    racks: bool,
    statics: bool,
    conflicts: bool,
    large: bool,
}

pub(crate) const ASSIGNORS: [&str; 4] = ["range", "rr", "sticky", "coop"];

/// Groups of every kind, for any assignor.
pub(crate) fn any_group() -> impl Strategy<Value = Vector> {
    let assignor = proptest::sample::select(&ASSIGNORS[..]);
    (any::<[bool; 5]>(), assignor, any::<u16>()).prop_flat_map(
        |([mixed, racks, statics, conflicts, large], assignor, salt)| {
            group(Kind { mixed, racks, statics, conflicts, large }, assignor, salt)
        },
    )
}

/// Groups without racks in which nobody claims anything or all is as the assignor left it.
pub(crate) fn plain_group(assignor: &'static str) -> impl Strategy<Value = Vector> {
    (any::<[bool; 2]>(), any::<u16>()).prop_flat_map(move |([mixed, large], salt)| {
        let kind = Kind { mixed, racks: false, statics: false, conflicts: false, large };
        group(kind, assignor, salt)
    })
}

fn group(kind: Kind, assignor: &'static str, salt: u16) -> impl Strategy<Value = Vector> {
    let (topics, members) = if kind.large { (0..=9_usize, 1..=16_usize) } else { (0..=4, 1..=6) };
    (topics, members).prop_flat_map(move |(topics, members)| {
        let names: Vec<_> =
            (0..topics).map(|at| format!("topic-{}{at}", (at * 7 + salt as usize) % 10)).collect();
        let topics: Vec<_> = names.iter().map(|name| topic(kind, name.clone())).collect();
        let members: Vec<_> =
            (0..members).map(|at| member(kind, format!("c-{salt:x}-{at}"), names.clone())).collect();
        (topics, members).prop_map(move |(topics, members)| Vector {
            n: 0,
            assignor: assignor.to_owned(),
            topics,
            members,
            expect: Outcome::new(),
        })
    })
}

fn topic(kind: Kind, name: String) -> impl Strategy<Value = Topic> {
    (0..=7_u32).prop_flat_map(move |partitions| {
        let racks = subsequence(vec!["a", "b", "c"], 0..=2).prop_map(|racks| racks.concat());
        let racks = vec(racks, if kind.racks { partitions as usize } else { 0 });
        (Just(name.clone()), Just(partitions), racks)
            .prop_map(|(name, count, racks)| Topic(name, count, racks))
    })
}

fn member(kind: Kind, id: String, names: Vec<String>) -> impl Strategy<Value = Member> {
    let some = subsequence(names.clone(), 0..=names.len());
    let topics = if kind.mixed { some.boxed() } else { Just(names.clone()).boxed() };
    let claim = names.into_iter().map(|name| (Just(name), vec(-1..=8_i32, 0..=4)));
    let owned: Vec<_> = claim.collect();
    let instance = weighted(0.6, "[a-e][a-e]").prop_map(move |instance| instance.filter(|_| kind.statics));
    let rack = weighted(0.8, "[a-c]").prop_map(move |rack| rack.filter(|_| kind.racks));
    let generation = weighted(0.8, 0..=3_i32);
    (topics, owned, instance, rack, generation).prop_map(
        move |(topics, owned, instance, rack, generation)| Member {
            instance: instance.map(|instance| format!("{instance}-{id}")),
            id: id.clone(),
            rack,
            topics,
            owned: if kind.conflicts { distinct(owned) } else { Vec::new() },
            generation: generation.filter(|_| kind.conflicts),
        },
    )
}

/// No partition twice in one member's claims.
fn distinct(owned: Vec<OfTopic>) -> Vec<OfTopic> {
    let once = |(topic, mut partitions): OfTopic| {
        let all = partitions.clone();
        let mut at = 0;
        partitions.retain(|partition| {
            at += 1;
            !all[..at - 1].contains(partition)
        });
        (topic, partitions)
    };
    owned.into_iter().map(once).collect()
}
