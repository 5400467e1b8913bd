//! The cheapest flow where all members that take can take everything: no search is needed.

use std::cmp::Reverse;

use super::classes::Classes;
use super::equal::{ClassFlow, Flow};
use super::fill::Vessels;
use super::network::Account;
use super::roles::{Role, Roles};
use super::stock::{ClassStock, Holding, Stock};
use crate::MemberIndex;

/// The cheapest flow, if there is but one class, all its takers take alike, and they have room for all its units.
///
/// Shares of which each next unit goes where it costs least are a best balance. Between shares with the same balance a
/// taker's differs by one unit at most, so those have the fewest moves in which takers come first that have that unit.
/// Who is above its share gives the surplus, and all that is nobody's then fills up the emptiest.
pub(super) fn flow(roles: &Roles, classes: &Classes, stock: &Stock, accounts: &[Account]) -> Option<Flow> {
    let ([class], [kind]) = (&*classes.classes, &*classes.kinds) else { return None };
    let takers = &kind.members;
    let is_full = |taker: &MemberIndex| accounts[taker.index()].load > accounts[taker.index()].limit;
    if class.kinds.is_empty() || !class.members.is_empty() || takers.iter().any(is_full) {
        return None;
    }
    let held = &stock.classes[0];
    let targets = targets(takers, held, &stock.settled, accounts);
    let mut released = vec![0; accounts.len()];
    for Holding { owner, units, .. } in &held.holdings {
        released[owner.index()] = match roles.role(*owner) {
            Role::Gives => *units,
            _ => accounts[owner.index()].load.saturating_sub(targets[owner.index()]).min(*units),
        };
    }
    let pool = held.unowned + released.iter().sum::<u32>();
    let after = |taker: &MemberIndex| {
        let account = accounts[taker.index()];
        Account { load: account.load - released[taker.index()], ..account }
    };
    let to_fill = Vessels::of(takers.iter().map(after));
    let shares = to_fill.shares(pool, |position, _| Reverse(stock.warm[takers[position].index()]));
    if shares.iter().sum::<u32>() < pool {
        return None;
    }
    let mut takes = vec![0; accounts.len()];
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
    held: &ClassStock,
    settled: &[u32],
    accounts: &[Account],
) -> Vec<u32> {
    let from_settled = |taker: &MemberIndex| {
        let (load, account) = (settled[taker.index()], accounts[taker.index()]);
        let most = if account.load > account.limit { account.limit } else { account.most };
        Account { load, most: most.max(load), ..account }
    };
    let units = held.unowned + held.holdings.iter().map(|holding| holding.units).sum::<u32>();
    let shares = Vessels::of(takers.iter().map(from_settled)).shares(units, |position, load| {
        Reverse(u64::from(accounts[takers[position].index()].load.saturating_sub(load)))
    });
    let mut targets = settled.to_vec();
    for (taker, share) in takers.iter().zip(shares) {
        targets[taker.index()] += share;
    }
    targets
}
