//! The cheapest flow where all members that take can take everything: no search is needed.

use std::cmp::Reverse;

use super::classes::Classes;
use super::equal::{ClassFlow, Flow};
use super::fill::FillLevels;
use super::holdings::{ClassHoldings, Holding, Holdings};
use super::network::MemberNode;
use super::roles::{MemberRole, Roles};
use crate::MemberIndex;

/// The cheapest flow, if there is but one class, all its takers take alike, and they have room for all its units.
///
/// Shares of which each next unit goes where it costs least are a best balance. Between shares with the same balance a
/// taker's differs by one unit at most, so those have the fewest moves in which takers come first that have that unit.
/// Who is above its share gives the surplus, and all that has no owner then fills up the emptiest.
pub(super) fn flow(
    roles: &Roles,
    classes: &Classes,
    stock: &Holdings,
    member_nodes: &[MemberNode],
) -> Option<Flow> {
    let ([class], [kind]) = (&*classes.classes, &*classes.kinds) else { return None };
    let takers = &kind.members;
    let is_full = |taker: &MemberIndex| member_nodes[taker.index()].load > member_nodes[taker.index()].limit;
    if class.kinds.is_empty() || !class.members.is_empty() || takers.iter().any(is_full) {
        return None;
    }
    let held = &stock.classes[0];
    let targets = targets(takers, held, &stock.settled, member_nodes);
    let mut released = vec![0; member_nodes.len()];
    for Holding { owner, units, .. } in &held.holdings {
        released[owner.index()] = match roles.role(*owner) {
            MemberRole::Gives => *units,
            _ => member_nodes[owner.index()].load.saturating_sub(targets[owner.index()]).min(*units),
        };
    }
    let pool = held.unowned_units() + released.iter().sum::<u32>();
    let after = |taker: &MemberIndex| {
        let member_node = member_nodes[taker.index()];
        MemberNode { load: member_node.load - released[taker.index()], ..member_node }
    };
    let to_fill = FillLevels::of(takers.iter().map(after));
    let shares = to_fill.shares(pool, |position, _| Reverse(stock.warm[takers[position].index()]));
    if shares.iter().sum::<u32>() < pool {
        return None;
    }
    let mut takes = vec![0; classes.kind_of.len()];
    for (taker, share) in takers.iter().zip(shares) {
        let back = share.min(released[taker.index()]);
        released[taker.index()] -= back;
        takes[taker.index()] = share - back;
    }
    let keeps = held.holdings.iter().map(|held| held.units - released[held.owner.index()]).collect();
    Some(Flow {
        classes: vec![ClassFlow { keeps, kinds: vec![takes.iter().sum()], members: Vec::new() }],
        takes,
    })
}

/// By member how many units each of `takers` is to have; `held` is all there is to be placed on top of what is
/// `settled`.
pub(super) fn targets(
    takers: &[MemberIndex],
    held: &ClassHoldings,
    settled: &[u32],
    member_nodes: &[MemberNode],
) -> Vec<u32> {
    let from_settled = |taker: &MemberIndex| {
        let (load, member_node) = (settled[taker.index()], member_nodes[taker.index()]);
        let most = if member_node.load > member_node.limit { member_node.limit } else { member_node.most };
        MemberNode { load, most: most.max(load), ..member_node }
    };
    let units = held.unowned_units() + held.holdings.iter().map(|holding| holding.units).sum::<u32>();
    let shares = FillLevels::of(takers.iter().map(from_settled)).shares(units, |position, load| {
        Reverse(u64::from(member_nodes[takers[position].index()].load.saturating_sub(load)))
    });
    let mut targets = settled.to_vec();
    for (taker, share) in takers.iter().zip(shares) {
        targets[taker.index()] += share;
    }
    targets
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::balanced::equal;
    use crate::{MemberSpec, Place, Problem};

    /// Topics of so many partitions; by unit the number of its owner, which is no member from `members` on.
    fn problem(members: usize, topics: &[u32], owners: &[usize]) -> Problem {
        let mut builder = Problem::builder();
        let topics = (0..).zip(topics).map(|(at, size)| (builder.topic(format!("t{at}"), *size), *size));
        let topics: Vec<_> = topics.collect();
        let members: Vec<_> =
            (0..members).map(|at| builder.member(MemberSpec::new(format!("m{at:02}")))).collect();
        let units = topics.iter().flat_map(|(topic, size)| (0..*size).map(|partition| (*topic, partition)));
        for ((topic, partition), owner) in units.zip(owners) {
            members.get(*owner).into_iter().for_each(|owner| builder.current(topic, partition, *owner));
        }
        builder.build().unwrap()
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_cheapest_flow(
            members in 1..12_usize,
            topics in vec(0..40_u32, 0..4),
            owners in vec(0..14_usize, 120),
        ) {
            let problem = problem(members, &topics, &owners);
            let roles = Roles::of(&problem);
            let classes = Classes::of(&problem, &roles, Place::Owner);
            let stock = Holdings::of(&problem, &roles, &classes);
            let member_nodes = equal::member_nodes(&problem, &roles, &stock);
            if let Some(flow) = flow(&roles, &classes, &stock, &member_nodes) {
                prop_assert_eq!(flow, equal::search(&problem, &roles, &classes, &stock, member_nodes));
            } else {
                prop_assert_eq!(problem.units(), 0);
            }
        }
    }
}
