//! Sets that lie spread, gathered with the fewest partitions moved: [`gather`].

use super::unit_table::UnitTable;
use crate::problem::{MemberIndex, Problem, UnitIndex};

/// The most pairs of a unit and a member that are looked at, about a quarter of a second's worth. Larger groups are
/// gathered with as few moves as the strategy finds, which takes the member with most of a unit for its owner.
const MOST_LOOKS: usize = 20_000_000;

/// A cost: balance first, then the number of partitions that move.
type PathCost = i128;

/// The smallest difference in balance, above any number of moves.
const BALANCE: PathCost = 1 << 32;

/// The largest common multiple of capacities with which ties in balance are exact; beyond it slopes are rounded.
const LARGEST_SCALE: u128 = 1 << 40;

/// Moves units round cycles and along paths of members for as long as that needs fewer moves, or balances better.
///
/// For units of one size this finds the fewest moves that there are at the best balance: each better placement differs
/// by cycles and paths of members, one of which costs less than nothing by itself (Klein, "A primal method for minimal
/// cost flows", 1967). Does nothing where no unit lies spread, or where rules that it does not know have a say:
/// weights, a movement budget, or members of several generations.
pub(super) fn gather(table: &mut UnitTable<'_>, by_capacity: bool) {
    if !is_spread(table) || !knows_all(table.units) {
        return;
    }
    let mut search = PathSearch::new(table, by_capacity);
    while search.looks < MOST_LOOKS && search.improve(table) {}
}

fn is_spread(table: &UnitTable<'_>) -> bool {
    let is_in_part = |unit: UnitIndex| match table.parts.of_unit(unit) {
        [] => false,
        [(_, count)] => *count < table.size(unit),
        _ => true,
    };
    table.layout.units().any(|unit| table.is_free(unit) && is_in_part(unit))
}

fn knows_all(units: &Problem) -> bool {
    let mut generations = units.active().map(|member| units.member(member).generation);
    let first = generations.next();
    units.options().movement_budget.is_none()
        && !units.has_weights()
        && generations.all(|generation| Some(generation) == first)
}

/// The partitions of `unit` that move if `member` owns it.
fn moves(table: &UnitTable<'_>, unit: UnitIndex, member: MemberIndex) -> PathCost {
    let others = table.parts.of_unit(unit).iter().filter(|(owner, _)| *owner != member);
    others.map(|(_, count)| PathCost::from(*count)).sum()
}

/// A step from one node to another. Nodes are members, and last the ground, over which a path closes to a cycle.
#[derive(Clone, Copy, Debug)]
struct PathStep {
    from: usize,
    /// The unit that moves, if the step leads from a member to a member.
    unit: Option<UnitIndex>,
}

struct PathSearch {
    looks: usize,
    members: Vec<MemberIndex>,
    /// By member: what one more unit costs than half the one before, in the smallest differences in balance.
    slopes: Vec<PathCost>,
    size: u32,
}

impl PathSearch {
    fn new(table: &UnitTable<'_>, by_capacity: bool) -> Self {
        let members: Vec<_> = table.units.active().collect();
        let capacity = |member: &MemberIndex| match by_capacity {
            true => u128::from(table.units.member(*member).capacity.thousandths()),
            false => 1,
        };
        let capacities: Vec<u128> = members.iter().map(capacity).collect();
        let scale = scale(&capacities);
        let slope =
            |capacity: &u128| PathCost::try_from(scale / capacity).expect("a scale has some forty bits");
        let slopes = capacities.iter().map(slope).collect();
        let size = table.layout.sizes().0;
        Self { looks: 0, members, slopes, size }
    }

    /// Follows one cycle that costs less than nothing. Returns whether there was one.
    fn improve(&mut self, table: &mut UnitTable<'_>) -> bool {
        let arcs = self.arcs(table);
        let Some(cycle) = self.negative_cycle(&arcs) else { return false };
        let moves: Vec<_> =
            cycle.iter().filter_map(|(step, to)| Some((step.unit?, self.members[*to]))).collect();
        moves.iter().for_each(|(unit, _)| table.put(*unit, None));
        moves.iter().for_each(|(unit, to)| table.put(*unit, Some(*to)));
        true
    }

    /// The cheapest arc for each pair of nodes that has one, with its end and its cost.
    fn arcs(&mut self, table: &UnitTable<'_>) -> Vec<(PathStep, usize, PathCost)> {
        let count = self.members.len();
        let mut best: Vec<Option<(PathCost, UnitIndex)>> = vec![None; count * count];
        let mut gives = vec![false; count];
        for unit in table.layout.units().filter(|unit| table.is_free(*unit)) {
            let Some(from) = table.owner(unit).and_then(|owner| self.members.binary_search(&owner).ok())
            else {
                continue;
            };
            gives[from] = true;
            self.looks += count;
            let stays = moves(table, unit, self.members[from]);
            for (to, member) in self.members.iter().enumerate().filter(|(to, _)| *to != from) {
                if table.may_take(unit, *member) && table.load(*member) <= table.limit(*member) {
                    let arc = (moves(table, unit, *member) - stays, unit);
                    let known = &mut best[from * count + to];
                    *known = Some(known.map_or(arc, |known| known.min(arc)));
                }
            }
        }
        let pairs = best.into_iter().enumerate().filter_map(|(pair, arc)| {
            let (cost, unit) = arc?;
            Some((PathStep { from: pair / count, unit: Some(unit) }, pair % count, cost))
        });
        pairs.chain((0..count).flat_map(|at| self.ends(table, at, gives[at]))).collect()
    }

    /// The arcs between a member and the ground: it ends up with one unit more, or with one less.
    fn ends(&self, table: &UnitTable<'_>, at: usize, gives: bool) -> Vec<(PathStep, usize, PathCost)> {
        let ground = self.members.len();
        let (load, limit) = (table.load(self.members[at]), table.limit(self.members[at]));
        let price = |units: u32| PathCost::from(2 * units + 1) * self.slopes[at] * BALANCE;
        let units = load / self.size;
        let takes =
            (load + self.size <= limit).then(|| (PathStep { from: at, unit: None }, ground, price(units)));
        let gives = gives && units > 0;
        let gives =
            gives.then(|| (PathStep { from: ground, unit: None }, at, -price(units.saturating_sub(1))));
        takes.into_iter().chain(gives).collect()
    }

    /// The steps of a cycle that costs less than nothing, each with where it leads (Bellman and Ford).
    fn negative_cycle(&mut self, arcs: &[(PathStep, usize, PathCost)]) -> Option<Vec<(PathStep, usize)>> {
        let nodes = self.members.len() + 1;
        let mut distance = vec![0; nodes];
        let mut reached: Vec<Option<PathStep>> = vec![None; nodes];
        let mut last = None;
        for _ in 0..nodes {
            last = None;
            self.looks += arcs.len();
            for (step, to, cost) in arcs {
                if distance[step.from] + cost < distance[*to] {
                    distance[*to] = distance[step.from] + cost;
                    reached[*to] = Some(*step);
                    last = Some(*to);
                }
            }
            last?;
        }
        Some(cycle(&reached, last?))
    }
}

/// The cycle to which the steps lead back from `node`.
fn cycle(reached: &[Option<PathStep>], node: usize) -> Vec<(PathStep, usize)> {
    let before = |node: usize| reached[node].expect("what lies before a cycle was reached");
    let on_cycle = (0..reached.len()).fold(node, |at, _| before(at).from);
    let mut steps = Vec::new();
    let mut at = on_cycle;
    loop {
        let step = before(at);
        steps.push((step, at));
        at = step.from;
        if at == on_cycle {
            return steps;
        }
    }
}

/// The least common multiple of the capacities, or if that is large, a multiple of the smallest that is large enough.
fn scale(capacities: &[u128]) -> u128 {
    let smallest = capacities.iter().min().copied().unwrap_or(1);
    let most = LARGEST_SCALE * smallest;
    let multiple = capacities.iter().try_fold(1_u128, |common, capacity| {
        let multiple = common / gcd(common, *capacity) * capacity;
        (multiple <= most).then_some(multiple)
    });
    multiple.unwrap_or(most)
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
