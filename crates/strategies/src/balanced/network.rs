//! Units as flow from the classes they are in to the members that own them.
//!
//! ```text
//!  class ──keep──► its owner            cost -1: a unit that does not move
//!    ├──────────► kind ──► member       one arc per kind, not one per member
//!    ├──────────► member                where not the whole kind can take it
//!    └──────────► no member
//! ```
//!
//! A class puts as many units into the network as it has. What a member gets is its load, and each
//! unit more costs it more than the one before, so the cheapest flow is the best balance.

use super::cost::{FlowCost, MarginalCost};

/// A node: a member, a class, a kind, or no member.
pub(super) type Node = usize;

/// Room for more units than there are.
pub(super) const ANY: u32 = u32::MAX >> 1;

/// An arc, with what may still flow along it. Arcs come in pairs: `arc ^ 1` leads back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) to: Node,
    /// The flow that may still be added.
    pub(super) room: u32,
    /// The cost of each unit along it.
    pub(super) cost: i32,
}

/// A member with its load, its limits and the costs of its units.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberNode {
    /// The number of its units.
    pub(super) load: u32,
    /// The number of units that it may have within its limit.
    pub(super) limit: u32,
    /// The most that it may come to have.
    pub(super) most: u32,
    /// The costs of its units.
    pub(super) marginal_cost: MarginalCost,
}

impl MemberNode {
    /// The cost of one unit more; `None` if it may not have it.
    pub(super) fn price(self) -> Option<FlowCost> {
        (self.load < self.most).then(|| self.marginal_cost.of(self.load, self.limit))
    }

    /// The saving of one unit less; `None` if it has none.
    pub(super) fn saving(self) -> Option<FlowCost> {
        Some(self.marginal_cost.of(self.load.checked_sub(1)?, self.limit))
    }
}

/// The network with the flow in it. Nodes are numbered members first.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) arcs: Vec<Arc>,
    /// By node: the arcs that leave it.
    first: Vec<u32>,
    leaving: Vec<u32>,
    /// By member, and last no member.
    pub(super) member_nodes: Vec<MemberNode>,
}

impl Network {
    /// The network of `nodes` nodes, among them first one for each of `member_nodes`, that `pairs` of
    /// arcs connect; each is told by where it starts and the arc that leads from there.
    pub(super) fn new(nodes: usize, member_nodes: Vec<MemberNode>, pairs: &[(Node, Arc)]) -> Self {
        let mut arcs = Vec::with_capacity(2 * pairs.len());
        let mut first = vec![0_u32; nodes + 1];
        for (from, arc) in pairs {
            arcs.push(*arc);
            arcs.push(Arc { to: *from, room: 0, cost: -arc.cost });
            first[from + 1] += 1;
            first[arc.to + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut leaving = vec![0; arcs.len()];
        for arc in 0..arcs.len() {
            let from = arcs[arc ^ 1].to;
            leaving[next[from] as usize] = u32::try_from(arc).expect("arcs are counted in u32");
            next[from] += 1;
        }
        Self { arcs, first, leaving, member_nodes }
    }

    pub(super) fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    /// The arcs that leave `node`.
    pub(super) fn leaving(&self, node: Node) -> impl Iterator<Item = usize> + '_ {
        let arcs = self.first[node] as usize..self.first[node + 1] as usize;
        self.leaving[arcs].iter().map(|arc| *arc as usize)
    }

    /// Lets any amount flow along `arc`.
    pub(super) fn open(&mut self, arc: usize) {
        self.arcs[arc].room = ANY;
    }

    /// The flow along `arc`, which is the first of its pair.
    pub(super) fn flow(&self, arc: usize) -> u32 {
        self.arcs[arc ^ 1].room
    }

    /// Lets `units` more flow along `arc`.
    pub(super) fn push(&mut self, arc: usize, units: u32) {
        self.arcs[arc].room -= units;
        self.arcs[arc ^ 1].room += units;
    }

    /// Shifts units along `path`, whose arcs differ, from `giver` to `taker`: at most `most`, as many as there is
    /// room for, and as long as each costs less than nothing in all. Returns how many it were.
    pub(super) fn shift(&mut self, path: &[usize], giver: Node, taker: Node, most: u32) -> u32 {
        let on_the_way: FlowCost = path.iter().map(|arc| FlowCost::from(self.arcs[*arc].cost)).sum();
        let units = self.worthwhile(giver, taker, on_the_way, self.room(path).min(most));
        path.iter().for_each(|arc| self.push(*arc, units));
        self.member_nodes[giver].load -= units;
        self.member_nodes[taker].load += units;
        units
    }

    /// Sends as many units as there is room for round `cycle`, whose arcs differ. Returns how many it were.
    pub(super) fn circulate(&mut self, cycle: &[usize]) -> u32 {
        let units = self.room(cycle);
        cycle.iter().for_each(|arc| self.push(*arc, units));
        units
    }

    fn room(&self, path: &[usize]) -> u32 {
        path.iter().map(|arc| self.arcs[*arc].room).min().unwrap_or(0)
    }

    /// The most units, up to `most`, of which the last still saves something.
    fn worthwhile(&self, giver: Node, taker: Node, on_the_way: FlowCost, most: u32) -> u32 {
        let (giver, taker) = (self.member_nodes[giver], self.member_nodes[taker]);
        let most = most.min(giver.load).min(taker.most.saturating_sub(taker.load));
        let saves = |nth: u32| {
            let given = giver.marginal_cost.of(giver.load - nth, giver.limit);
            let taken = taker.marginal_cost.of(taker.load + nth - 1, taker.limit);
            taken + on_the_way < given
        };
        let (mut low, mut high) = (0, most);
        while low < high {
            let middle = high - (high - low) / 2;
            if saves(middle) { low = middle } else { high = middle - 1 }
        }
        low
    }
}
