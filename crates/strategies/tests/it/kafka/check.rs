//! Properties that hold for any result of the sticky rules.

use std::collections::{BTreeMap, BTreeSet};

use super::vector::{Outcome, Vector};

/// A topic's partition.
pub(crate) type Tp = (String, i32);

/// The owner of each partition; none twice.
pub(crate) fn owners(outcome: &Outcome) -> BTreeMap<Tp, &str> {
    let mut owners = BTreeMap::new();
    for (id, lists) in outcome {
        for (topic, list) in lists {
            for partition in list {
                let other = owners.insert((topic.clone(), *partition), id.as_str());
                assert_eq!(other, None, "{topic}-{partition} is also with {id}");
            }
        }
    }
    owners
}

/// The claimant of each partition in `vector`; none twice.
fn claims(vector: &Vector) -> BTreeMap<Tp, String> {
    let owned = vector.members.iter().map(|member| (member.id.clone(), member.owned.clone())).collect();
    owners(&owned).into_iter().map(|(tp, id)| (tp, id.to_owned())).collect()
}

pub(crate) fn load(outcome: &Outcome, id: &str) -> usize {
    outcome[id].iter().map(|(_, list)| list.len()).sum()
}

/// The most and the least that any member has.
pub(crate) fn span(outcome: &Outcome) -> (usize, usize) {
    let loads = outcome.keys().map(|id| load(outcome, id));
    (loads.clone().min().unwrap_or(0), loads.max().unwrap_or(0))
}

/// Everything that has a subscriber is with one, and nobody with two more than another has
/// anything that the other could have.
pub(crate) fn assert_valid(vector: &Vector, outcome: &Outcome) {
    let owners = owners(outcome);
    let members: Vec<_> = vector.members.iter().map(|member| member.id.as_str()).collect();
    assert!(outcome.keys().map(String::as_str).collect::<BTreeSet<_>>() == members.into_iter().collect());
    let mut given = 0;
    for topic in &vector.topics {
        let subscribed = vector.members.iter().filter(|member| member.topics.contains(&topic.0));
        let subscribers: BTreeSet<_> = subscribed.map(|member| member.id.as_str()).collect();
        let Some(least) = subscribers.iter().map(|id| load(outcome, id)).min() else { continue };
        let mut holders = BTreeSet::new();
        for partition in 0..topic.1.cast_signed() {
            let owner = owners.get(&(topic.0.clone(), partition)).copied();
            let owner = owner.unwrap_or_else(|| panic!("{}-{partition} is nobody's", topic.0));
            assert!(subscribers.contains(owner), "{owner} has {}-{partition}", topic.0);
            holders.insert(owner);
            given += 1;
        }
        let most = holders.iter().map(|id| load(outcome, id)).max().unwrap_or(0);
        assert!(most <= least + 1, "of {} one with {most} has some, another has {least}", topic.0);
    }
    assert_eq!(owners.len(), given, "something was given that does not exist");
}

/// The partitions that went from one member to another, by topic.
fn moved(vector: &Vector, outcome: &Outcome) -> BTreeSet<(String, String, String)> {
    let owners = owners(outcome);
    let from = claims(vector).into_iter();
    let moves = from.filter_map(|(tp, from)| {
        let to = *owners.get(&tp)?;
        (to != from).then(|| (tp.0, from, to.to_owned()))
    });
    moves.collect()
}

/// Of no topic did one member give something to another that gave it something of that topic.
pub(crate) fn assert_sticky(vector: &Vector, outcome: &Outcome) {
    let moved = moved(vector, outcome);
    for (topic, from, to) in &moved {
        let back = (topic.clone(), to.clone(), from.clone());
        assert!(!moved.contains(&back), "{from} and {to} exchanged partitions of {topic}");
    }
}

/// Of what members claim that exists, how much is with somebody else.
pub(crate) fn changed(vector: &Vector, outcome: &Outcome) -> usize {
    let owners = owners(outcome);
    claims(vector).iter().filter(|(tp, from)| owners.get(tp).is_some_and(|to| to != from)).count()
}

/// The fewest moves that bring members who may all have everything within one of each other.
pub(crate) fn fewest_moves(vector: &Vector) -> usize {
    let exists = |(topic, partition): &Tp| {
        vector.topics.iter().any(|known| known.0 == *topic && *partition < known.1.cast_signed())
    };
    let mut loads: BTreeMap<_, usize> = vector.members.iter().map(|member| (member.id.clone(), 0)).collect();
    for (_, id) in claims(vector).into_iter().filter(|(tp, _)| exists(tp)) {
        *loads.get_mut(&id).unwrap() += 1;
    }
    let all = vector.topics.iter().map(|topic| topic.1 as usize).sum::<usize>();
    let (share, larger) = (all / loads.len(), all % loads.len());
    let mut loads: Vec<_> = loads.into_values().collect();
    loads.sort_unstable_by(|a, b| b.cmp(a));
    let above = (0..).zip(&loads).map(|(rank, load)| load.saturating_sub(share + usize::from(rank < larger)));
    above.sum()
}

/// Rebalances until nobody lets go of anything; returns the last result, and in how many rounds
/// something changed. Nobody gets what another lets go of in the same round.
pub(crate) fn settle(mut vector: Vector) -> (Vector, Outcome, usize) {
    for round in 1..=4 {
        let outcome = vector.outcome();
        let owners = owners(&outcome);
        let claims = claims(&vector);
        for (tp, from) in &claims {
            let to = owners.get(tp);
            assert!(vector.assignor != "coop" || to.is_none_or(|to| to == from), "{tp:?}: {from} to {to:?}");
        }
        let lost = claims.iter().any(|(tp, from)| owners.get(tp) != Some(&from.as_str()));
        if !lost || vector.assignor != "coop" {
            return (vector, outcome, round);
        }
        vector = vector.after(&outcome);
    }
    panic!("does not settle: {vector:?}");
}

/// The outcomes that [`assert_valid`] refuses. Two members of `t=4`; `b` also subscribes to `u`.
#[test]
fn what_is_not_valid_is_seen() {
    let vector = super::notation::group("sticky", "t=4 u=1", "a{t} | b{t,u}");
    let refuses = |a: &[(&str, &[i32])], b: &[(&str, &[i32])]| {
        let lists = |of: &[(&str, &[i32])]| {
            of.iter().map(|(topic, list)| ((*topic).to_owned(), list.to_vec())).collect()
        };
        let outcome: Outcome = [("a".to_owned(), lists(a)), ("b".to_owned(), lists(b))].into();
        std::panic::catch_unwind(|| assert_valid(&vector, &outcome)).is_err()
    };
    assert!(!refuses(&[("t", &[0, 1, 2])], &[("t", &[3]), ("u", &[0])]));
    assert!(refuses(&[("t", &[0, 1])], &[("t", &[1, 2, 3]), ("u", &[0])]), "twice");
    assert!(refuses(&[("t", &[0, 1])], &[("t", &[3]), ("u", &[0])]), "nobody's");
    assert!(refuses(&[("t", &[0, 1]), ("u", &[0])], &[("t", &[2, 3])]), "not subscribed");
    assert!(refuses(&[("t", &[0])], &[("t", &[1, 2, 3]), ("u", &[0])]), "one move would help");
    assert!(refuses(&[("t", &[0, 1, 4])], &[("t", &[2, 3]), ("u", &[0])]), "does not exist");
}
