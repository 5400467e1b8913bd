//! The cheapest flow, where all units weigh the same.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::classes::Classes;
use super::cost::{MarginalCost, Scale};
use super::fill::FillLevels;
use super::holdings::{Holding, Holdings};
use super::network::{ANY, Arc, MemberNode, Network, Node};
use super::roles::{MemberRole, Roles};
use super::{alike, cheapen, deal, level};
use crate::{Capacity, MemberIndex, Problem, ProblemMember};

/// The numbers of units of each class that each member keeps and that each kind or member gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) classes: Vec<ClassFlow>,
    /// By member: how many units it gets of those that its kind gets.
    pub(super) takes: Vec<u32>,
}

/// The units of one class.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClassFlow {
    /// In the order of the class's holdings: how many units the member keeps.
    pub(super) keeps: Vec<u32>,
    /// In the order of the class's kinds: how many units they get.
    pub(super) kinds: Vec<u32>,
    /// In the order of the class's members: how many units they get.
    pub(super) members: Vec<u32>,
}

/// The owner of each unit.
pub(super) fn place(problem: &Problem, roles: &Roles, classes: &Classes) -> Vec<Option<MemberIndex>> {
    let stock = Holdings::of(problem, roles, classes);
    let flow = solve(problem, roles, classes, &stock);
    deal::deal(problem, roles, classes, stock, flow)
}

/// The cheapest flow of the units in `stock`.
fn solve(problem: &Problem, roles: &Roles, classes: &Classes, stock: &Holdings) -> Flow {
    let member_nodes = member_nodes(problem, roles, stock);
    let alike = alike::flow(roles, classes, stock, &member_nodes);
    alike.unwrap_or_else(|| search(problem, roles, classes, stock, member_nodes))
}

/// The cheapest flow along a network, which there is also where members are alike.
pub(super) fn search(
    problem: &Problem,
    roles: &Roles,
    classes: &Classes,
    stock: &Holdings,
    member_nodes: Vec<MemberNode>,
) -> Flow {
    let mut solver = Solver::new(problem, roles, classes, stock, member_nodes);
    solver.start(stock);
    solver.settle();
    if solver.lift_shares() {
        solver.settle();
    }
    solver.flow()
}

/// The numbers of the arcs of one class.
struct ClassArcs {
    keeps: Vec<usize>,
    kinds: Vec<usize>,
    members: Vec<usize>,
    ownerless: usize,
}

struct Solver<'a> {
    roles: &'a Roles,
    classes: &'a Classes,
    network: Network,
    arcs: Vec<ClassArcs>,
    /// By member: the arc that leads to it from its kind.
    from_kind: Vec<Option<usize>>,
    ownerless: Node,
}

impl<'a> Solver<'a> {
    fn new(
        problem: &Problem,
        roles: &'a Roles,
        classes: &'a Classes,
        stock: &Holdings,
        member_nodes: Vec<MemberNode>,
    ) -> Self {
        let members = problem.members().len();
        let layout = NodeNumbers { ownerless: members, classes: classes.classes.len() };
        let mut pairs = Pairs(Vec::new());
        let arcs = (0..classes.classes.len())
            .map(|class| pairs.of_class(&layout, classes, class, &stock.classes[class].holdings))
            .collect();
        let from_kind = problem
            .member_indices()
            .map(|member| {
                let kind = classes.kind_of[member.index()]?;
                Some(pairs.add(layout.kind(kind), member.index(), ANY, 0))
            })
            .collect();
        let nodes = layout.kind(classes.kinds.len());
        let network = Network::new(nodes, member_nodes, &pairs.0);
        Self { roles, classes, network, arcs, from_kind, ownerless: members }
    }

    /// Keeps everything but what must go, and fills up with what is left, the classes with the fewest takers first.
    fn start(&mut self, stock: &Holdings) {
        for (class, held) in stock.classes.iter().enumerate() {
            for (holding, arc) in held.holdings.iter().zip(self.arcs[class].keeps.clone()) {
                self.network.push(arc, holding.units);
            }
        }
        let mut order: Vec<_> = (0..self.arcs.len())
            .map(|class| (self.classes.takers(&self.classes.classes[class]).count(), class))
            .collect();
        order.sort_unstable();
        self.close_to_the_full();
        for (_, class) in order {
            let pool = self.release(class, stock) + stock.classes[class].unowned_units();
            self.fill(class, pool, stock);
        }
    }

    /// Takes from members what they have too much of: all from those that give, and above the share from the
    /// others where all take alike, so that the first flow is the best one in the usual case. Returns how much.
    fn release(&mut self, class: usize, stock: &Holdings) -> u32 {
        let targets = self.targets(class, stock);
        let mut pool = 0;
        for (position, holding) in stock.classes[class].holdings.iter().enumerate() {
            let member_node = self.network.member_nodes[holding.owner.index()];
            let surplus = match self.roles.role(holding.owner) {
                MemberRole::Gives => holding.units,
                _ => member_node.load.saturating_sub(
                    targets.as_ref().map_or(member_node.limit, |of| of[holding.owner.index()]),
                ),
            };
            let released = surplus.min(holding.units);
            self.network.push(self.arcs[class].keeps[position] ^ 1, released);
            self.network.member_nodes[holding.owner.index()].load -= released;
            pool += released;
        }
        pool
    }

    /// By member what each is to have, if there is but one class and all its takers take alike.
    fn targets(&self, class: usize, stock: &Holdings) -> Option<Vec<u32>> {
        if self.classes.classes.len() > 1
            || self.classes.kinds.len() > 1
            || !self.classes.classes[class].members.is_empty()
        {
            return None;
        }
        let of_class = &self.classes.classes[class];
        let takers: Vec<_> = self.classes.takers(of_class).collect();
        Some(alike::targets(&takers, &stock.classes[class], &stock.settled, &self.network.member_nodes))
    }

    /// Spreads `pool` units of `class` over its takers, and the rest over those that had some, or no member.
    fn fill(&mut self, class: usize, pool: u32, stock: &Holdings) {
        let of_class = &self.classes.classes[class];
        let member_nodes = &self.network.member_nodes;
        let has_room = |taker: &Node| member_nodes[*taker].load < member_nodes[*taker].limit;
        let takers: Vec<Node> =
            self.classes.takers(of_class).map(MemberIndex::index).filter(has_room).collect();
        let to_fill = FillLevels::of(takers.iter().map(|taker| member_nodes[*taker]));
        let shares = to_fill.shares(pool, |position, _| Reverse(stock.warm[takers[position]]));
        let own: FxHashMap<Node, usize> =
            self.arcs[class].keeps.iter().map(|keep| (self.network.arcs[*keep].to, *keep)).collect();
        let mut rest = pool;
        for (taker, share) in takers.into_iter().zip(shares) {
            self.give(class, taker, share, own.get(&taker).copied());
            rest -= share;
        }
        for (position, holding) in stock.classes[class].holdings.iter().enumerate() {
            let keep = self.arcs[class].keeps[position];
            let back = self.network.arcs[keep].room.min(rest);
            self.network.push(keep, back);
            self.network.member_nodes[holding.owner.index()].load += back;
            rest -= back;
        }
        self.network.push(self.arcs[class].ownerless, rest);
        self.network.member_nodes[self.ownerless].load += rest;
    }

    /// Lets `taker` have `units` more of `class`: first what it had, along `own`, and was released.
    fn give(&mut self, class: usize, taker: Node, units: u32, own: Option<usize>) {
        let arcs = &self.arcs[class];
        let back = own.map_or(0, |keep| self.network.arcs[keep].room.min(units));
        if let Some(keep) = own {
            self.network.push(keep, back);
        }
        let of_class = &self.classes.classes[class];
        let by_kind = self.classes.kind_of[taker]
            .and_then(|kind| of_class.kinds.binary_search(&kind).ok())
            .map(|position| [arcs.kinds[position], self.from_kind[taker].expect("it has a kind")]);
        let new = units - back;
        match by_kind {
            Some(path) => path.iter().for_each(|arc| self.network.push(*arc, new)),
            None => {
                let position = of_class.members.binary_search(&MemberIndex::new(taker));
                self.network.push(arcs.members[position.expect("it takes the class")], new);
            }
        }
        self.network.member_nodes[taker].load += units;
    }

    /// Finds the best balance, then the fewest moves. Members that were over their limits take nothing until they
    /// no longer are; then there may be something better.
    fn settle(&mut self) {
        loop {
            level::level(&mut self.network);
            if !self.open_to_the_relieved() {
                break;
            }
        }
        cheapen::cheapen(&mut self.network);
    }

    /// Lets members that are over their limits take nothing.
    fn close_to_the_full(&mut self) {
        for member in 0..self.ownerless {
            let member_node = self.network.member_nodes[member];
            if member_node.load > member_node.limit {
                self.ways_to(member).into_iter().for_each(|arc| self.network.arcs[arc].room = 0);
            }
        }
    }

    /// Lets those take that were over their limits and no longer are. Returns whether there are any.
    fn open_to_the_relieved(&mut self) -> bool {
        let mut any = false;
        for member in 0..self.ownerless {
            let member_node = &mut self.network.member_nodes[member];
            if member_node.most > member_node.limit && member_node.load <= member_node.limit {
                member_node.most = member_node.limit;
                any = true;
                self.ways_to(member).into_iter().for_each(|arc| self.network.open(arc));
            }
        }
        any
    }

    /// The arcs along which `member` takes.
    fn ways_to(&self, member: Node) -> Vec<usize> {
        let directly = self.arcs.iter().zip(&self.classes.classes).filter_map(|(arcs, class)| {
            let position = class.members.binary_search(&MemberIndex::new(member)).ok()?;
            Some(arcs.members[position])
        });
        directly.chain(self.from_kind[member]).collect()
    }

    /// Lets members take more than their share of a rolling deployment if units have no owner otherwise. Returns
    /// whether that makes a difference.
    fn lift_shares(&mut self) -> bool {
        if !self.roles.is_rolling || self.network.member_nodes[self.ownerless].load == 0 {
            return false;
        }
        for member_node in &mut self.network.member_nodes[..self.ownerless] {
            member_node.most = member_node.most.max(member_node.limit);
        }
        true
    }

    fn flow(&self) -> Flow {
        let flow = |arcs: &Vec<usize>| arcs.iter().map(|arc| self.network.flow(*arc)).collect();
        let classes = self
            .arcs
            .iter()
            .map(|arcs| ClassFlow {
                keeps: flow(&arcs.keeps),
                kinds: flow(&arcs.kinds),
                members: flow(&arcs.members),
            })
            .collect();
        let takes = self.from_kind.iter().map(|arc| arc.map_or(0, |arc| self.network.flow(arc))).collect();
        Flow { classes, takes }
    }
}

/// The numbers of the nodes: members, then the node of units without an owner, classes and kinds.
struct NodeNumbers {
    ownerless: Node,
    classes: usize,
}

impl NodeNumbers {
    fn class(&self, class: usize) -> Node {
        self.ownerless + 1 + class
    }

    fn kind(&self, kind: usize) -> Node {
        self.class(self.classes) + kind
    }
}

/// The arcs of a network to be.
struct Pairs(Vec<(Node, Arc)>);

impl Pairs {
    /// Adds a pair; returns the number of its first arc.
    fn add(&mut self, from: Node, to: Node, room: u32, cost: i32) -> usize {
        self.0.push((from, Arc { to, room, cost }));
        2 * self.0.len() - 2
    }

    fn of_class(
        &mut self,
        layout: &NodeNumbers,
        classes: &Classes,
        number: usize,
        holdings: &[Holding],
    ) -> ClassArcs {
        let (class, from) = (&classes.classes[number], layout.class(number));
        // A unit that stays is a move less.
        let keeps = holdings.iter().map(|held| self.add(from, held.owner.index(), held.units, -1)).collect();
        let kinds = class.kinds.iter().map(|kind| self.add(from, layout.kind(*kind), ANY, 0)).collect();
        let members = class.members.iter().map(|member| self.add(from, member.index(), ANY, 0)).collect();
        ClassArcs { keeps, kinds, members, ownerless: self.add(from, layout.ownerless, ANY, 0) }
    }
}

/// The loads and limits of each member before anything moves, and last of the node of units without an owner.
pub(super) fn member_nodes(problem: &Problem, roles: &Roles, stock: &Holdings) -> Vec<MemberNode> {
    let shares = NewestShares::of(problem, roles);
    let scale = Scale::of(problem.members().iter().map(|member| member.capacity));
    // Most members are like the one before.
    let mut known = (Capacity::ONE, MarginalCost::taking(Capacity::ONE, scale));
    let mut marginal_cost = |capacity: Capacity| {
        if capacity != known.0 {
            known = (capacity, MarginalCost::taking(capacity, scale));
        }
        known.1
    };
    let member_node = |member: MemberIndex| {
        let load = stock.loads[member.index()];
        let ProblemMember { max_partitions, capacity, .. } = problem.member(member);
        let limit = max_partitions.unwrap_or(ANY);
        match roles.role(member) {
            MemberRole::Takes => {
                let most = limit.min(shares.of_member(*capacity)).max(load);
                MemberNode { load, limit, most, marginal_cost: marginal_cost(*capacity) }
            }
            MemberRole::TakesLast => {
                let most = limit.max(load);
                MemberNode {
                    load,
                    limit: most,
                    most,
                    marginal_cost: MarginalCost::taking_last(*capacity, scale),
                }
            }
            MemberRole::Keeps | MemberRole::Gives => {
                MemberNode { load, limit: ANY, most: load, marginal_cost: MarginalCost::GIVING }
            }
        }
    };
    let ownerless = MemberNode { load: 0, limit: ANY, most: ANY, marginal_cost: MarginalCost::UNOWNED };
    problem.member_indices().map(member_node).chain([ownerless]).collect()
}

/// The most that a member of the newest generation gets while others are active: its share once it has replaced them.
struct NewestShares {
    units: u64,
    /// Of all that are active; zero where there is one generation and no such bound.
    capacities: u64,
}

impl NewestShares {
    fn of(problem: &Problem, roles: &Roles) -> Self {
        let capacity = |member| u64::from(problem.member(member).capacity.thousandths());
        let capacities = if roles.is_rolling { problem.active().map(capacity).sum() } else { 0 };
        Self { units: problem.units() as u64, capacities }
    }

    fn of_member(&self, capacity: Capacity) -> u32 {
        if self.capacities == 0 {
            return ANY;
        }
        let share = (self.units * u64::from(capacity.thousandths())).div_ceil(self.capacities);
        u32::try_from(share).map_or(ANY, |share| share.min(ANY))
    }
}
