//! Topics that lie as evenly over members as balance and moves allow: [`spread`].
//!
//! ```text
//!          takes one              has one more
//!  topic ───────────► member ────────────────────► ground
//!        ◄───────────        ◄────────────────────
//!          gives one              has one less
//! ```
//!
//! A placement is a number of units for each topic and member. All terms are convex in these numbers, so a placement
//! that no cycle along these arcs makes better is a best one.

use super::budget;
use super::cost::{FlowCost, MarginalCost, Scale};
use super::roles::{MemberRole, Roles};
use crate::{MemberIndex, Problem, TopicIndex, TopicSpread, UnitIndex};

/// The number of arcs that may be looked at where no move may be spent: a few milliseconds, as balance is reached
/// already and the numbers of units by topic are near the best.
const MOST_LOOKS: usize = 2_000_000;

/// The same where moves may be spent: about half a second, for a search that somebody asked for.
const MOST_LOOKS_WITH_MOVES: usize = 100_000_000;

/// The rounds of a search that must be within reach for it to start.
const FEWEST_ROUNDS: usize = 4;

/// Changes owners such that each topic lies as evenly as possible, without a worse balance and, unless the options say
/// otherwise, without one more move. Does nothing if units differ in weight, replicas have racks or copies are held:
/// those come before topics. A unit with bans or pins stays.
pub(super) fn spread(problem: &Problem, roles: &Roles, owners: &mut [Option<MemberIndex>]) {
    let with_moves = problem.options().spread_topics == TopicSpread::Moves;
    let looks = if with_moves { MOST_LOOKS_WITH_MOVES } else { MOST_LOOKS };
    let arcs = 2 * problem.topics().len() * problem.members().len();
    if problem.has_weights() || problem.has_replica_racks() || problem.has_standbys() {
        return;
    }
    if problem.topics().len() < 2 || arcs.saturating_mul(FEWEST_ROUNDS) > looks {
        return;
    }
    let mut grid = Grid::of(problem, roles, owners);
    if grid.is_even() {
        return;
    }
    let moves_left = if with_moves { budget::left(problem, roles, owners) } else { None };
    if (Search { with_moves, looks, moves_left, ..Search::new(&grid) }).run(&mut grid) {
        grid.carry_out(problem, owners);
    }
}

/// The units of one topic at one member.
#[derive(Clone, Copy, Debug, Default)]
struct TopicCell {
    /// True if the member may take units of the topic.
    is_open: bool,
    /// The number of units that stay whatever is done.
    kept: u32,
    /// The number of the others.
    free: u32,
    /// The number of units, free now, that the member owns today.
    had: u32,
}

/// A member that takes and gives.
#[derive(Clone, Copy, Debug)]
struct Column {
    member: MemberIndex,
    load: u32,
    limit: u32,
    /// The cost of its units in all, and of those of one topic: on one scale for all members, so that ties are ties.
    squares: MarginalCost,
}

/// Numbers of units by topic and member.
struct Grid {
    columns: Vec<Column>,
    /// By member: its column, if it has one.
    column_of: Vec<Option<usize>>,
    /// Topic after topic.
    cells: Vec<TopicCell>,
    /// By unit: true if its owner may change.
    is_free: Vec<bool>,
    /// True if members may come to have one unit more or less.
    loads_may_change: bool,
}

impl Grid {
    fn of(problem: &Problem, roles: &Roles, owners: &[Option<MemberIndex>]) -> Self {
        let columns = columns(problem, roles, owners);
        let mut column_of = vec![None; problem.members().len()];
        columns.iter().enumerate().for_each(|(at, column)| column_of[column.member.index()] = Some(at));
        let topics = problem.topics().len();
        let mut grid = Self {
            cells: vec![TopicCell::default(); topics * columns.len()],
            columns,
            column_of,
            is_free: vec![false; problem.units()],
            loads_may_change: !roles.is_rolling && problem.options().movement_budget.is_none(),
        };
        for topic in problem.topic_indices() {
            grid.open(problem, topic);
            problem.units_of(topic).for_each(|unit| grid.count(problem, roles, topic, unit, owners));
        }
        grid
    }

    fn open(&mut self, problem: &Problem, topic: TopicIndex) {
        for at in 0..self.columns.len() {
            let is_open = problem.is_subscribed(topic, self.columns[at].member);
            self.cell_mut(topic.index(), at).is_open = is_open;
        }
    }

    fn count(
        &mut self,
        problem: &Problem,
        roles: &Roles,
        topic: TopicIndex,
        unit: UnitIndex,
        owners: &[Option<MemberIndex>],
    ) {
        let Some(at) = owners[unit.index()].and_then(|owner| self.column_of[owner.index()]) else { return };
        let today = problem.current(unit).filter(|owner| problem.may_own(unit, *owner));
        let is_bound = problem.has_bans(unit);
        if is_bound || roles.keeper(problem, unit, today).is_some() {
            self.cell_mut(topic.index(), at).kept += 1;
            return;
        }
        self.is_free[unit.index()] = true;
        self.cell_mut(topic.index(), at).free += 1;
        if let Some(today) = today.and_then(|today| self.column_of[today.index()]) {
            self.cell_mut(topic.index(), today).had += 1;
        }
    }

    fn topics(&self) -> usize {
        self.cells.len().checked_div(self.columns.len()).unwrap_or(0)
    }

    fn cell(&self, topic: usize, column: usize) -> &TopicCell {
        &self.cells[topic * self.columns.len() + column]
    }

    fn cell_mut(&mut self, topic: usize, column: usize) -> &mut TopicCell {
        &mut self.cells[topic * self.columns.len() + column]
    }

    /// True if all members have one capacity, and no two that may take units of a topic differ by two of them.
    fn is_even(&self) -> bool {
        let is_even = |cells: &[TopicCell]| {
            let counts = || cells.iter().filter(|cell| cell.is_open).map(|cell| cell.kept + cell.free);
            counts().max().unwrap_or(0) - counts().min().unwrap_or(0) < 2
        };
        self.columns.is_empty()
            || (self.columns.windows(2).all(|pair| pair[0].squares == pair[1].squares)
                && self.cells.chunks(self.columns.len()).all(is_even))
    }

    /// Brings owners in line with the numbers, with as few moves as these allow.
    fn carry_out(&self, problem: &Problem, owners: &mut [Option<MemberIndex>]) {
        for topic in problem.topic_indices() {
            let columns = self.columns.len();
            let mut left: Vec<u32> =
                (0..columns).map(|column| self.cell(topic.index(), column).free).collect();
            let mut free: Vec<_> =
                problem.units_of(topic).filter(|unit| self.is_free[unit.index()]).collect();
            let mut take = |unit: UnitIndex, member: Option<MemberIndex>, owners: &mut [_]| {
                let column = member.and_then(|member| self.column_of[member.index()]);
                let Some(column) = column.filter(|column| left[*column] > 0) else { return false };
                left[column] -= 1;
                owners[unit.index()] = member;
                true
            };
            free.retain(|unit| !take(*unit, problem.current(*unit), owners));
            free.retain(|unit| !take(*unit, owners[unit.index()], owners));
            let takers = (0..columns).flat_map(|at| vec![at; left[at] as usize]);
            for (unit, column) in free.into_iter().zip(takers) {
                owners[unit.index()] = Some(self.columns[column].member);
            }
        }
    }
}

/// The members that take and give and are not above their limits.
fn columns(problem: &Problem, roles: &Roles, owners: &[Option<MemberIndex>]) -> Vec<Column> {
    let mut loads = vec![0_u32; problem.members().len()];
    owners.iter().flatten().for_each(|owner| loads[owner.index()] += 1);
    let scale = Scale::of(problem.members().iter().map(|member| member.capacity));
    let column = |member: MemberIndex| {
        let capacity = problem.member(member).capacity;
        Column {
            member,
            load: loads[member.index()],
            limit: problem.member(member).limit(),
            squares: MarginalCost::taking(capacity, scale),
        }
    };
    let takes = |member: &MemberIndex| roles.role(*member) == MemberRole::Takes;
    let columns = problem.member_indices().filter(takes).map(column);
    columns.filter(|column| column.load <= column.limit).collect()
}

/// Balance, and then moves and the squares of the topics' units, the more important of these two first.
type SpreadCost = [FlowCost; 3];

/// Bellman and Ford's search for cycles that cost less than nothing. Nodes are topics, members and the ground.
struct Search {
    topics: usize,
    ground: usize,
    distance: Vec<SpreadCost>,
    /// By node: the one that it was reached from last.
    before: Vec<Option<usize>>,
    with_moves: bool,
    looks: usize,
    /// The number of moves that may still be spent; `None` for any.
    moves_left: Option<u32>,
}

impl Search {
    fn new(grid: &Grid) -> Self {
        let topics = grid.topics();
        let ground = topics + grid.columns.len();
        let (distance, before) = (vec![[0; 3]; ground + 1], vec![None; ground + 1]);
        Self { topics, ground, distance, before, with_moves: false, looks: 0, moves_left: None }
    }

    /// Cancels cycles until there is none, or no look or move is left. Returns whether there was any.
    fn run(&mut self, grid: &mut Grid) -> bool {
        let mut any = false;
        while self.looks >= 2 * grid.cells.len() {
            self.looks -= 2 * grid.cells.len();
            if !self.round(grid) {
                break;
            }
            let cycles = self.cycles();
            if cycles.is_empty() {
                continue;
            }
            for cycle in cycles {
                if !self.may_pay(grid, &cycle) {
                    return any;
                }
                Self::cancel(self.topics, self.ground, grid, &cycle);
                any = true;
            }
            self.distance.fill([0; 3]);
            self.before.fill(None);
        }
        any
    }

    /// Looks along every arc once. Returns whether any node is nearer than it was known to be.
    fn round(&mut self, grid: &Grid) -> bool {
        let mut any = false;
        for topic in 0..self.topics {
            for column in 0..grid.columns.len() {
                any |= self.look(grid, topic, self.topics + column);
                any |= self.look(grid, self.topics + column, topic);
            }
        }
        for column in self.topics..self.ground {
            any |= self.look(grid, column, self.ground);
            any |= self.look(grid, self.ground, column);
        }
        any
    }

    fn look(&mut self, grid: &Grid, from: usize, to: usize) -> bool {
        let Some(cost) = self.cost(grid, from, to) else { return false };
        let distance = sum(self.distance[from], cost);
        let is_nearer = distance < self.distance[to];
        if is_nearer {
            self.distance[to] = distance;
            self.before[to] = Some(from);
        }
        is_nearer
    }

    /// The cost of the arc between two nodes, if there is one.
    fn cost(&self, grid: &Grid, from: usize, to: usize) -> Option<SpreadCost> {
        if to == self.ground {
            let column = &grid.columns[from - self.topics];
            let may = grid.loads_may_change && column.load < column.limit;
            return may.then(|| [column.squares.of(column.load, u32::MAX), 0, 0]);
        }
        if from == self.ground {
            let column = &grid.columns[to - self.topics];
            let may = grid.loads_may_change && column.load > 0;
            return may.then(|| [-column.squares.of(column.load - 1, u32::MAX), 0, 0]);
        }
        if from < self.topics { self.taking(grid, from, to) } else { self.giving(grid, to, from) }
    }

    /// The cost of one more unit of `topic` at the member of `node`.
    fn taking(&self, grid: &Grid, topic: usize, node: usize) -> Option<SpreadCost> {
        let column = node - self.topics;
        let cell = grid.cell(topic, column);
        let square = grid.columns[column].squares.of(cell.kept + cell.free, u32::MAX);
        cell.is_open.then(|| self.in_order(-FlowCost::from(cell.free < cell.had), square))
    }

    /// The cost of one unit less.
    fn giving(&self, grid: &Grid, topic: usize, node: usize) -> Option<SpreadCost> {
        let column = node - self.topics;
        let cell = grid.cell(topic, column);
        let before = (cell.kept + cell.free).checked_sub(1)?;
        let square = grid.columns[column].squares.of(before, u32::MAX);
        (cell.free > 0).then(|| self.in_order(FlowCost::from(cell.free <= cell.had), -square))
    }

    const fn in_order(&self, moves: FlowCost, squares: FlowCost) -> SpreadCost {
        if self.with_moves { [0, squares, moves] } else { [0, moves, squares] }
    }

    /// The cycles among the steps by which nodes were reached. No two of them share a node.
    fn cycles(&self) -> Vec<Vec<usize>> {
        let mut seen_from = vec![usize::MAX; self.before.len()];
        let mut cycles = Vec::new();
        for start in 0..self.before.len() {
            let mut node = start;
            while seen_from[node] == usize::MAX {
                seen_from[node] = start;
                let Some(before) = self.before[node] else { break };
                node = before;
            }
            if seen_from[node] == start && self.before[node].is_some() {
                cycles.extend(self.cycle(node));
            }
        }
        cycles
    }

    /// The nodes of the cycle that `start` is on, each after the one that it was reached from.
    fn cycle(&self, start: usize) -> Option<Vec<usize>> {
        let mut nodes = vec![start];
        let mut at = self.before[start]?;
        while at != start {
            nodes.push(at);
            at = self.before[at]?;
        }
        nodes.reverse();
        Some(nodes)
    }

    /// Takes the moves of the cycle off those that are left. False if there are not as many.
    fn may_pay(&mut self, grid: &Grid, cycle: &[usize]) -> bool {
        let Some(left) = self.moves_left else { return true };
        let costs = steps(cycle).filter_map(|(from, to)| self.cost(grid, from, to));
        let moves = costs.map(|cost| cost[2]).sum::<FlowCost>();
        let after = u32::try_from(FlowCost::from(left) - moves).ok();
        self.moves_left = after.or(Some(left));
        after.is_some()
    }

    /// Sends one unit round the cycle.
    fn cancel(topics: usize, ground: usize, grid: &mut Grid, cycle: &[usize]) {
        for (from, to) in steps(cycle) {
            if to == ground {
                grid.columns[from - topics].load += 1;
            } else if from == ground {
                grid.columns[to - topics].load -= 1;
            } else if from < topics {
                grid.cell_mut(from, to - topics).free += 1;
            } else {
                grid.cell_mut(to, from - topics).free -= 1;
            }
        }
    }
}

/// The steps of a cycle, from node to node.
fn steps(cycle: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    cycle.iter().copied().zip(cycle.iter().copied().cycle().skip(1))
}

fn sum(a: SpreadCost, b: SpreadCost) -> SpreadCost {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}
