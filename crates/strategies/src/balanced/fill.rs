//! A first flow: each class fills up its emptiest takers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::{Add, Div, Sub};

use super::cost::{FlowCost, MarginalCost};
use super::network::MemberNode;

/// The members that are filled up, by position. In plain lists, so that several are looked at together where
/// all cost alike.
#[derive(Debug)]
pub(super) struct FillLevels {
    /// The number of units of each.
    loads: Vec<u32>,
    /// The most that each may come to have.
    most: Vec<u32>,
    /// The costs of units at each; only one if they are the same everywhere.
    marginal_costs: Vec<MarginalCost>,
}

impl FillLevels {
    /// Those of who has such `member_nodes`.
    pub(super) fn of(member_nodes: impl ExactSizeIterator<Item = MemberNode> + Clone) -> Self {
        let mut marginal_costs = member_nodes.clone().map(|member_node| member_node.marginal_cost);
        let first = marginal_costs.next();
        let differ = marginal_costs.any(|marginal_cost| Some(marginal_cost) != first);
        Self {
            loads: member_nodes.clone().map(|member_node| member_node.load).collect(),
            most: member_nodes.clone().map(|member_node| member_node.most).collect(),
            marginal_costs: if differ {
                member_nodes.map(|member_node| member_node.marginal_cost).collect()
            } else {
                Vec::from_iter(first)
            },
        }
    }

    /// The number of `units` that each gets: always the next to the one that it costs least, and of those that it costs
    /// the same to the one that comes first by `rank`, which is called with position and load so far. Less than `units`
    /// in all if there is no more room.
    pub(super) fn shares(&self, units: u32, rank: impl Fn(usize, u32) -> Reverse<u64>) -> Vec<u32> {
        match self.marginal_costs.len() {
            0 => Vec::new(),
            1 => self.shares_alike(units, rank),
            _ => self.shares_by_cost(units, rank),
        }
    }

    /// The shares where all cost alike: up to one height, and one more for those that come first.
    fn shares_alike(&self, units: u32, rank: impl Fn(usize, u32) -> Reverse<u64>) -> Vec<u32> {
        let height = self.height(units);
        let mut shares: Vec<u32> = self.levels().map(|(load, most)| up_to(load, most, height)).collect();
        let rest = (units - shares.iter().sum::<u32>()) as usize;
        if rest == 0 {
            return shares;
        }
        let is_next = |position: &usize| {
            self.loads[*position] + shares[*position] == height && height < self.most[*position]
        };
        let mut next = Vec::with_capacity(shares.len());
        next.extend((0..shares.len()).filter(is_next).map(|position| (rank(position, height), position)));
        if rest < next.len() {
            next.select_nth_unstable(rest);
        }
        next.into_iter().take(rest).for_each(|(_, position)| shares[position] += 1);
        shares
    }

    /// The highest load to which `units` fill up all.
    fn height(&self, units: u32) -> u32 {
        let each = |height| self.levels().map(move |(load, most)| u64::from(up_to(load, most, height)));
        let fits = |height: u32| each(height).sum::<u64>() <= u64::from(units);
        let loads: u64 = self.loads.iter().map(|load| u64::from(*load)).sum();
        let in_u32 = |height| u32::try_from(height).expect("units are counted in u32");
        let mean = in_u32((loads + u64::from(units)) / self.loads.len() as u64);
        if fits(mean) && !fits(mean + 1) {
            return mean;
        }
        let highest = self.loads.iter().max().copied().unwrap_or(0).saturating_add(units);
        in_u32(last_that(u64::from(highest), |height| fits(in_u32(height))))
    }

    /// The shares where costs differ. Most units at once, where that is worth the search for how many.
    fn shares_by_cost(&self, units: u32, rank: impl Fn(usize, u32) -> Reverse<u64>) -> Vec<u32> {
        let is_bulk = units as usize > 4 * self.loads.len();
        let mut shares = if is_bulk { self.bulk(units) } else { vec![0; self.loads.len()] };
        let next = |position: usize, share: u32| {
            let load = self.loads[position] + share;
            let cost = self.marginal_costs[position].of(load, u32::MAX);
            (load < self.most[position]).then(|| Reverse((cost, rank(position, load), position)))
        };
        let rest = units - shares.iter().sum::<u32>();
        let mut queue: BinaryHeap<_> =
            (0..shares.len()).filter_map(|position| next(position, shares[position])).collect();
        for _ in 0..rest {
            let Some(Reverse((_, _, position))) = queue.pop() else { break };
            shares[position] += 1;
            queue.extend(next(position, shares[position]));
        }
        shares
    }

    /// The shares at the highest cost such that all units that cost less are at most `units`.
    fn bulk(&self, units: u32) -> Vec<u32> {
        let below = |level: FlowCost| {
            let costs = self.levels().zip(&self.marginal_costs);
            costs.map(move |((load, most), marginal_cost)| up_to(load, most, marginal_cost.load_at(level)))
        };
        let fits = |level: FlowCost| below(level).map(u64::from).sum::<u64>() <= u64::from(units);
        let dearest = self.loads.iter().zip(&self.marginal_costs);
        let dearest =
            dearest.map(|(load, marginal_cost)| marginal_cost.of(load.saturating_add(units), u32::MAX)).max();
        below(last_that(dearest.unwrap_or(0), fits)).collect()
    }

    /// The load of each, and the most that it may have.
    fn levels(&self) -> impl Iterator<Item = (u32, u32)> {
        self.loads.iter().copied().zip(self.most.iter().copied())
    }
}

/// The number of units more up to a load of `height` for a member with `load`, of at most `most`.
fn up_to(load: u32, most: u32, height: u32) -> u32 {
    height.min(most).saturating_sub(load)
}

/// The last from zero to `high` that `fits`, as zero does and everything before one that does.
fn last_that<T>(high: T, fits: impl Fn(T) -> bool) -> T
where
    T: Copy + Ord + From<u8> + Add<Output = T> + Sub<Output = T> + Div<Output = T>,
{
    let (one, two) = (T::from(1), T::from(2));
    let (mut low, mut high) = (T::from(0), high);
    while low < high {
        let middle = high - (high - low) / two;
        if fits(middle) { low = middle } else { high = middle - one }
    }
    low
}
