//! Counts of moves, and of moves that were necessary.

use std::collections::BTreeMap;

use crate::holdings::Holdings;
use crate::input::Input;
use crate::output::{Partition, Share, Shares};

/// Partitions that leave a member. What nobody owned does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moves {
    /// The number of partitions that move.
    pub(crate) moves: usize,
    /// The number that has to move, if members are to have as many as they got: a member that had more cannot keep all
    /// of them. This is `Placement::moves_lower_bound` in names, for groups whose members may keep what they own.
    pub(crate) lower_bound: usize,
}

impl Moves {
    /// From what `input` says that members own to what `shares` gives them, now and later.
    pub(crate) fn between(input: &Input, shares: &Shares<'_>) -> Self {
        let owned = input.members.iter().map(|member| (&*member.id, &member.owned));
        let owned: BTreeMap<_, _> = owned.collect();
        let (mut moves, mut lower_bound) = (0, 0);
        for share in shares.iter() {
            let Some(had) = owned.get(&**share.member) else { continue };
            moves += had.len() - in_common(input, had, share);
            lower_bound += had.len().saturating_sub(share.partitions.len() + share.later.len());
        }
        Self { moves, lower_bound }
    }
}

fn in_common(input: &Input, had: &Holdings, share: &Share<'_>) -> usize {
    let mut had: Vec<(&str, u32)> =
        had.iter().map(|(topic, partition)| (&**input.name(topic), partition)).collect();
    had.sort_unstable();
    let is_old = |(topic, partition): &&Partition<'_>| had.binary_search(&(&***topic, *partition)).is_ok();
    share.partitions.iter().chain(&share.later).filter(is_old).count()
}

#[cfg(test)]
mod tests {
    use kafka_assigner_strategies::MemberIndex;

    use super::*;
    use crate::shape::{Shape, Subscriptions};

    fn group(owned: [&[u32]; 2]) -> Input {
        let shape =
            Shape { members: 2, partitions: 4, topics: 1, subscriptions: Subscriptions::All, racks: false };
        let mut input = Input::new(&shape, &[0, 1]);
        for (member, owned) in input.members.iter_mut().zip(owned) {
            member.owned = owned.iter().map(|partition| (0, *partition)).collect();
        }
        input
    }

    /// The moves if the second member has `now` and is to have `later`, and the first the rest.
    fn moves(owned: [&[u32]; 2], first: &[u32], now: &[u32], later: &[u32]) -> Moves {
        let input = group(owned);
        let named = |partitions: &[u32]| partitions.iter().map(|at| (&input.topics[0].name, *at)).collect();
        let mut shares = Shares::with_sizes(&input, [0, 0]);
        shares.of(MemberIndex::new(0)).partitions = named(first);
        let second = shares.of(MemberIndex::new(1));
        (second.partitions, second.later) = (named(now), named(later));
        Moves::between(&input, &shares)
    }

    #[test]
    fn what_nobody_had_does_not_move() {
        let fresh = moves([&[0], &[]], &[0, 1], &[2, 3], &[]);
        assert_eq!(fresh, Moves { moves: 0, lower_bound: 0 });
    }

    #[test]
    fn a_swap_moves_two_and_had_to_move_none() {
        let swap = moves([&[0, 1], &[2, 3]], &[0, 2], &[1, 3], &[]);
        assert_eq!(swap, Moves { moves: 2, lower_bound: 0 });
    }

    #[test]
    fn what_is_to_come_moves_too() {
        let withheld = moves([&[0, 1, 2, 3], &[]], &[0, 1], &[], &[2, 3]);
        assert_eq!(withheld, Moves { moves: 2, lower_bound: 2 });
    }
}
