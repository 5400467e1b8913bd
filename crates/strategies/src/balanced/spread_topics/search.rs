//! The search for changes that spread topics better: [`Search`].

use super::grid::Grid;
use crate::balanced::cost::FlowCost;

/// Balance, and then moves and the squares of the topics' units, the more important of these two first.
type SpreadCost = [FlowCost; 3];

/// Bellman and Ford's search for cycles that cost less than nothing. Nodes are topics, members and the ground.
pub(super) struct Search {
    topics: usize,
    ground: usize,
    distance: Vec<SpreadCost>,
    /// By node: the one that it was reached from last.
    before: Vec<Option<usize>>,
    /// True if moves may be spent.
    with_moves: bool,
    /// The number of arcs that may still be looked at.
    looks: usize,
    /// The number of moves that may still be spent; `None` for any.
    moves_left: Option<u32>,
}

impl Search {
    pub(super) fn new(grid: &Grid, with_moves: bool, looks: usize, moves_left: Option<u32>) -> Self {
        let topics = grid.topics();
        let ground = topics + grid.columns.len();
        let (distance, before) = (vec![[0; 3]; ground + 1], vec![None; ground + 1]);
        Self { topics, ground, distance, before, with_moves, looks, moves_left }
    }

    /// Cancels cycles until there is none, or no look or move is left. Returns whether there was any.
    pub(super) fn run(&mut self, grid: &mut Grid) -> bool {
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

    /// The number of arcs that may still be looked at.
    pub(super) const fn looks_left(&self) -> usize {
        self.looks
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
