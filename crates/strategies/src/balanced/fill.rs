//! A first flow: each class fills up its emptiest takers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cost::Cost;
use super::network::{Account, Node};

/// How much each of `takers` gets of `units`: always the next to whom it costs least, and of those to whom it costs
/// the same who comes first by `rank`. Less than `units` in all if no more may be had.
pub(super) fn shares(
    takers: &[(Node, Account)],
    units: u32,
    rank: impl Fn(Node) -> Reverse<u64>,
) -> Vec<u32> {
    // Most units at once, where that is worth the search for how many.
    let bulk = if units as usize > 4 * takers.len() { level(takers, units) } else { 0 };
    let mut shares: Vec<u32> = takers.iter().map(|(_, account)| below(account, bulk)).collect();
    let next = |position: usize, share: u32| {
        let (node, account) = takers[position];
        let cost = Account { load: account.load + share, ..account }.price()?;
        Some(Reverse((cost, rank(node), position)))
    };
    let rest = units - shares.iter().sum::<u32>();
    let mut queue: BinaryHeap<_> =
        (0..takers.len()).filter_map(|position| next(position, shares[position])).collect();
    for _ in 0..rest {
        let Some(Reverse((_, _, position))) = queue.pop() else { break };
        shares[position] += 1;
        queue.extend(next(position, shares[position]));
    }
    shares
}

/// The highest cost such that all units that cost less are at most `units`.
fn level(takers: &[(Node, Account)], units: u32) -> Cost {
    let total = |level: Cost| takers.iter().map(|(_, account)| u64::from(below(account, level))).sum::<u64>();
    let dearest =
        |(_, account): &(Node, Account)| account.toll.of(account.load.saturating_add(units), u32::MAX);
    let (mut low, mut high) = (0, takers.iter().map(dearest).max().unwrap_or(0));
    while low < high {
        let middle = high - (high - low) / 2;
        if total(middle) <= u64::from(units) { low = middle } else { high = middle - 1 }
    }
    low
}

/// How many more `account` may have at less than `level` each.
fn below(account: &Account, level: Cost) -> u32 {
    let room = account.most.saturating_sub(account.load);
    account.toll.load_at(level).saturating_sub(account.load).min(room)
}
