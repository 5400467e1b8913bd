//! The cheapest flow where all members that take can take everything: no search is needed.

use std::cmp::Reverse;

use super::classes::Classes;
use super::equal::{ClassFlow, Flow};
use super::fill;
use super::network::{Account, Node};
use super::roles::{Role, Roles};
use super::stock::{ClassStock, Holding, Stock};

/// The cheapest flow, if there is but one class, all its takers take alike, and they have room for all its units.
///
/// Shares of which each next unit goes where it costs least are a best balance. Between shares with the same balance a
/// taker's differs by one unit at most, so those have the fewest moves in which takers come first that have that unit.
/// Who is above its share gives the surplus, and all that is nobody's then fills up the emptiest.
pub(super) fn flow(roles: &Roles, classes: &Classes, stock: &Stock, accounts: &[Account]) -> Option<Flow> {
    let ([class], [kind]) = (&*classes.classes, &*classes.kinds) else { return None };
    let is_full = |taker: &Node| accounts[*taker].load > accounts[*taker].limit;
    let takers: Vec<Node> = kind.members.iter().map(|member| member.index()).collect();
    if class.kinds.is_empty() || !class.members.is_empty() || takers.iter().any(is_full) {
        return None;
    }
    let held = &stock.classes[0];
    let targets = targets(&takers, held, &stock.settled, accounts);
    let mut loads: Vec<u32> = accounts.iter().map(|account| account.load).collect();
    let mut released = vec![0; accounts.len()];
    for Holding { owner, units } in &held.holdings {
        let surplus = match roles.role(*owner) {
            Role::Gives => *units,
            _ => loads[owner.index()].saturating_sub(targets[owner.index()]).min(*units),
        };
        loads[owner.index()] -= surplus;
        released[owner.index()] = surplus;
    }
    let pool = held.unowned + released.iter().sum::<u32>();
    let to_fill = takers.iter().map(|taker| (*taker, Account { load: loads[*taker], ..accounts[*taker] }));
    let shares = fill::shares(&to_fill.collect::<Vec<_>>(), pool, |taker, _| Reverse(stock.warm[taker]));
    if shares.iter().sum::<u32>() < pool {
        return None;
    }
    let mut takes = vec![0; accounts.len()];
    for (taker, share) in takers.into_iter().zip(shares) {
        let back = share.min(released[taker]);
        released[taker] -= back;
        takes[taker] = share - back;
    }
    let keeps = held.holdings.iter().map(|held| held.units - released[held.owner.index()]).collect();
    Some(Flow {
        classes: vec![ClassFlow { keeps, kinds: vec![takes.iter().sum()], members: Vec::new() }],
        takes,
    })
}

/// By member how many units each taker is to have; `held` is all there is to be placed on top of what is `settled`.
pub(super) fn targets(takers: &[Node], held: &ClassStock, settled: &[u32], accounts: &[Account]) -> Vec<u32> {
    let from_settled = |taker: &Node| {
        let (load, account) = (settled[*taker], accounts[*taker]);
        let most = if account.load > account.limit { account.limit } else { account.most };
        (*taker, Account { load, most: most.max(load), ..account })
    };
    let from_settled: Vec<_> = takers.iter().map(from_settled).collect();
    let units = held.unowned + held.holdings.iter().map(|holding| holding.units).sum::<u32>();
    let spares = |taker: Node, load: u32| Reverse(u64::from(accounts[taker].load.saturating_sub(load)));
    let shares = fill::shares(&from_settled, units, spares);
    let mut targets = settled.to_vec();
    for (taker, share) in takers.iter().zip(shares) {
        targets[*taker] += share;
    }
    targets
}
