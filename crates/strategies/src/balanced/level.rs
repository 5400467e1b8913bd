//! The best balance: units flow from members to whom they cost more to members to whom they cost less, as long
//! as there is a way.

use std::cmp::Reverse;

use super::cost::FlowCost;
use super::network::{Network, Node};

/// Brings the flow to the best balance.
///
/// A flow along which no member can shift a unit to some member to whom it costs less is a best one: costs are convex
/// and arcs are all alike in balance, so that every way to a better flow begins with such a shift. (Harvey,
/// Ladner, Lovász, Tamir: "Semi-matchings for bipartite graphs and load balancing", 2006.)
///
/// It ends, as each shift lowers the sum of all costs by at least one unit of balance.
pub(super) fn level(network: &mut Network) {
    while pass(network) {}
}

/// Lets every member that has a way to a cheaper one shift along it. Returns whether any did.
fn pass(network: &mut Network) -> bool {
    let ways = Ways::find(network);
    let mut givers: Vec<(Reverse<FlowCost>, Node)> = (0..network.member_nodes.len())
        .filter_map(|giver| Some((Reverse(network.member_nodes[giver].saving()?), giver)))
        .collect();
    givers.sort_unstable();
    let means = ways.means(network);
    let mut any = false;
    for (Reverse(saved), giver) in givers {
        let Some(taker) = ways.end[giver] else { continue };
        let is_cheaper = network.member_nodes[taker].price().is_some_and(|cost| cost < saved);
        if taker != giver && is_cheaper {
            let path = ways.path(network, giver);
            let surplus = network.member_nodes[giver].load.saturating_sub(means[taker]);
            any |= network.shift(&path, giver, taker, surplus.max(1)) > 0;
        }
    }
    any
}

/// From each node the way to the cheapest taker that it reaches.
struct Ways {
    /// By node: the arc to go along.
    next: Vec<Option<u32>>,
    /// By node: where the way ends.
    end: Vec<Option<Node>>,
}

impl Ways {
    /// Goes back from the takers, the cheapest first.
    fn find(network: &Network) -> Self {
        let nodes = network.nodes();
        let mut ways = Self { next: vec![None; nodes], end: vec![None; nodes] };
        let mut takers: Vec<(FlowCost, Node)> = (0..network.member_nodes.len())
            .filter_map(|taker| Some((network.member_nodes[taker].price()?, taker)))
            .collect();
        takers.sort_unstable();
        let mut queue = Vec::new();
        for (_, taker) in takers {
            if ways.end[taker].is_none() {
                ways.end[taker] = Some(taker);
                queue.push(taker);
                ways.spread(network, taker, &mut queue);
            }
        }
        ways
    }

    /// Breadth first, so that ways are short and move few units.
    fn spread(&mut self, network: &Network, taker: Node, queue: &mut Vec<Node>) {
        let mut at = 0;
        while let Some(node) = queue.get(at).copied() {
            at += 1;
            for back in network.leaving(node) {
                let (arc, from) = (back ^ 1, network.arcs[back].to);
                if self.end[from].is_none() && network.arcs[arc].room > 0 {
                    self.end[from] = Some(taker);
                    self.next[from] = Some(u32::try_from(arc).expect("arcs are counted in u32"));
                    queue.push(from);
                }
            }
        }
        queue.clear();
    }

    /// By taker the mean load, rounded up, of the members that have a way to it. A giver that went below it would
    /// have to take again.
    fn means(&self, network: &Network) -> Vec<u32> {
        let mut sums = vec![(0_u64, 0_u64); network.member_nodes.len()];
        for (member, member_node) in network.member_nodes.iter().enumerate() {
            if let Some(taker) = self.end[member].filter(|_| member_node.price().is_some()) {
                sums[taker].0 += u64::from(member_node.load);
                sums[taker].1 += 1;
            }
        }
        let mean = |(load, members): &(u64, u64)| load.div_ceil((*members).max(1));
        sums.iter().map(|sum| u32::try_from(mean(sum)).expect("a mean is no more than the largest")).collect()
    }

    fn path(&self, network: &Network, from: Node) -> Vec<usize> {
        let mut path = Vec::new();
        let mut node = from;
        while let Some(arc) = self.next[node] {
            path.push(arc as usize);
            node = network.arcs[arc as usize].to;
        }
        path
    }
}
