//! A first flow: each class fills up its emptiest takers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cost::Cost;
use super::network::{Account, Node};

/// How much each of `takers` gets of `units`: always the next to whom it costs least, and of those to whom it costs
/// the same who comes first by `rank`, which is asked with the load so far. Less than `units` in all if no more may be had.
pub(super) fn shares(
    takers: &[(Node, Account)],
    units: u32,
    rank: impl Fn(Node, u32) -> Reverse<u64>,
) -> Vec<u32> {
    // Most units at once, where that is worth the search for how many.
    let is_bulk = units as usize > 4 * takers.len();
    let mut shares = if is_bulk { bulk(takers, units) } else { vec![0; takers.len()] };
    let next = |position: usize, share: u32| {
        let (node, account) = takers[position];
        let load = account.load + share;
        let cost = Account { load, ..account }.price()?;
        Some(Reverse((cost, rank(node, load), position)))
    };
    let rest = units - shares.iter().sum::<u32>();
    if rest == 0 {
        return shares;
    }
    let mut queue: BinaryHeap<_> =
        (0..takers.len()).filter_map(|position| next(position, shares[position])).collect();
    for _ in 0..rest {
        let Some(Reverse((_, _, position))) = queue.pop() else { break };
        shares[position] += 1;
        queue.extend(next(position, shares[position]));
    }
    shares
}

/// The shares at the highest cost such that all units that cost less are at most `units`.
fn bulk(takers: &[(Node, Account)], units: u32) -> Vec<u32> {
    let Some((_, Account { toll, .. })) = takers.first() else { return Vec::new() };
    if takers.iter().all(|(_, account)| account.toll == *toll) {
        let height = height(takers, units);
        return takers.iter().map(|(_, account)| up_to(account, height)).collect();
    }
    let level = level(takers, units);
    takers.iter().map(|(_, account)| below(account, level)).collect()
}

/// The same where all cost alike: the highest load to which `units` fill up all takers.
fn height(takers: &[(Node, Account)], units: u32) -> u32 {
    let total =
        |height: u32| takers.iter().map(|(_, account)| u64::from(up_to(account, height))).sum::<u64>();
    let fits = |height: u32| total(height) <= u64::from(units);
    let loads: u64 = takers.iter().map(|(_, account)| u64::from(account.load)).sum();
    let mean = (loads + u64::from(units)) / takers.len() as u64;
    let mean = u32::try_from(mean).expect("units are counted in u32");
    if fits(mean) && !fits(mean + 1) {
        return mean;
    }
    let highest = takers.iter().map(|(_, account)| account.load).max().unwrap_or(0);
    let (mut low, mut high) = (0, highest.saturating_add(units));
    while low < high {
        let middle = high - (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

/// How many more `account` may have up to a load of `height`.
fn up_to(account: &Account, height: u32) -> u32 {
    height.min(account.most).saturating_sub(account.load)
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
