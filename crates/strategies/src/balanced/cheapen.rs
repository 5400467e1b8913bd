//! The fewest moves: cycles of units that change places so that all in all it costs less.

use super::cost::FlowCost;
use super::network::{Network, Node};

/// The number of arcs that may be looked at. A search takes a few times the number of arcs, and after a first flow that
/// is nearly the best there are few; this is about a quarter of a second, for problems made to be hard.
const MOST_LOOKS: usize = 50_000_000;

/// Lowers what the flow costs until no cycle does: then it is the cheapest there is (Klein, "A primal method for
/// minimal cost flows", 1967). Gives up at
/// its bound.
pub(super) fn cheapen(network: &mut Network) {
    let mut search = CycleSearch::new(network);
    let mut looks = 0;
    while looks < MOST_LOOKS {
        search.reset();
        loop {
            looks += network.arcs.len() + 2 * network.member_nodes.len();
            if !search.round(network) {
                return;
            }
            if search.cancel_cycles(network) {
                break;
            }
        }
    }
}

/// A step of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CycleStep {
    /// Along an arc.
    Arc(usize),
    /// To the ground: this member has one more.
    Take(Node),
    /// From the ground: this member has one less.
    Give(Node),
}

/// Bellman and Ford's search for cycles that cost less than nothing, from all nodes at once. One more node, the
/// ground, closes the ways from members that give to members that take.
struct CycleSearch {
    ground: Node,
    distance: Vec<FlowCost>,
    /// By node: the step by which it was reached last.
    reached: Vec<Option<CycleStep>>,
}

impl CycleSearch {
    fn new(network: &Network) -> Self {
        let ground = network.nodes();
        Self { ground, distance: vec![0; ground + 1], reached: vec![None; ground + 1] }
    }

    fn reset(&mut self) {
        self.distance.fill(0);
        self.reached.fill(None);
    }

    /// Looks along every arc once. Returns whether any node is nearer than it was known to be.
    fn round(&mut self, network: &Network) -> bool {
        let mut any = false;
        for member in 0..network.member_nodes.len() {
            if let Some(cost) = network.member_nodes[member].price() {
                any |= self.look(member, self.ground, cost, CycleStep::Take(member));
            }
        }
        for member in 0..network.member_nodes.len() {
            if let Some(saved) = network.member_nodes[member].saving() {
                any |= self.look(self.ground, member, -saved, CycleStep::Give(member));
            }
        }
        for (number, arc) in network.arcs.iter().enumerate() {
            if arc.room > 0 {
                let from = network.arcs[number ^ 1].to;
                any |= self.look(from, arc.to, FlowCost::from(arc.cost), CycleStep::Arc(number));
            }
        }
        any
    }

    fn look(&mut self, from: Node, to: Node, cost: FlowCost, step: CycleStep) -> bool {
        let distance = self.distance[from] + cost;
        let is_nearer = distance < self.distance[to];
        if is_nearer {
            self.distance[to] = distance;
            self.reached[to] = Some(step);
        }
        is_nearer
    }

    fn before(&self, network: &Network, node: Node) -> Option<Node> {
        Some(match self.reached[node]? {
            CycleStep::Arc(arc) => network.arcs[arc ^ 1].to,
            CycleStep::Take(member) => member,
            CycleStep::Give(_) => self.ground,
        })
    }

    /// Sends units round every cycle among the steps by which nodes were reached. Returns whether there was one.
    fn cancel_cycles(&mut self, network: &mut Network) -> bool {
        const UNSEEN: usize = usize::MAX;
        let mut seen_from = vec![UNSEEN; self.reached.len()];
        let mut any = false;
        for start in 0..self.reached.len() {
            let mut node = start;
            while seen_from[node] == UNSEEN {
                seen_from[node] = start;
                let Some(before) = self.before(network, node) else { break };
                node = before;
            }
            if seen_from[node] == start && self.reached[node].is_some() {
                any |= self.cancel(network, node);
            }
        }
        any
    }

    /// Sends units round the cycle that `node` is on, if it is on one.
    fn cancel(&self, network: &mut Network, node: Node) -> bool {
        let mut steps = Vec::new();
        let mut at = node;
        loop {
            let Some(step) = self.reached[at] else { return false };
            steps.push(step);
            at = self.before(network, at).expect("it was reached");
            if at == node {
                break;
            }
        }
        let (mut path, mut giver, mut taker) = (Vec::new(), None, None);
        for step in steps {
            match step {
                CycleStep::Arc(arc) => path.push(arc),
                CycleStep::Give(member) => giver = Some(member),
                CycleStep::Take(member) => taker = Some(member),
            }
        }
        match giver.zip(taker) {
            Some((giver, taker)) => network.shift(&path, giver, taker, u32::MAX) > 0,
            None => network.circulate(&path) > 0,
        }
    }
}
