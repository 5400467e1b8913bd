//! The cheapest flow, where all units weigh the same.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::classes::Classes;
use super::cost::{Scale, Toll};
use super::fill::Vessels;
use super::network::{ANY, Account, Arc, Network, Node};
use super::roles::{Role, Roles};
use super::stock::{Holding, Stock};
use super::{alike, cheapen, deal, level};
use crate::{Capacity, Member, MemberIndex, Problem};

/// How many units of each class each member keeps and each kind or member gets.
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
    let stock = Stock::of(problem, roles, classes);
    let flow = solve(problem, roles, classes, &stock);
    deal::deal(problem, classes, stock, flow)
}

/// The cheapest flow of the units in `stock`.
fn solve(problem: &Problem, roles: &Roles, classes: &Classes, stock: &Stock) -> Flow {
    let accounts = accounts(problem, roles, stock);
    let alike = alike::flow(roles, classes, stock, &accounts);
    alike.unwrap_or_else(|| search(problem, roles, classes, stock, accounts))
}

/// The cheapest flow along a network, which there is also where members are alike.
pub(super) fn search(
    problem: &Problem,
    roles: &Roles,
    classes: &Classes,
    stock: &Stock,
    accounts: Vec<Account>,
) -> Flow {
    let mut solver = Solver::new(problem, roles, classes, stock, accounts);
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
    nobody: usize,
}

struct Solver<'a> {
    roles: &'a Roles,
    classes: &'a Classes,
    network: Network,
    arcs: Vec<ClassArcs>,
    /// By member: the arc that leads to it from its kind.
    from_kind: Vec<Option<usize>>,
    nobody: Node,
}

impl<'a> Solver<'a> {
    fn new(
        problem: &Problem,
        roles: &'a Roles,
        classes: &'a Classes,
        stock: &Stock,
        accounts: Vec<Account>,
    ) -> Self {
        let members = problem.members().len();
        let layout = Layout { nobody: members, classes: classes.classes.len() };
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
        let network = Network::new(nodes, accounts, &pairs.0);
        Self { roles, classes, network, arcs, from_kind, nobody: members }
    }

    /// Keeps everything but what must go, and fills up with what is left, the classes with the fewest takers first.
    fn start(&mut self, stock: &Stock) {
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
            let pool = self.release(class, stock) + stock.classes[class].unowned;
            self.fill(class, pool, stock);
        }
    }

    /// Takes from members what they have too much of: all from those that give, and above the share from the
    /// others where all take alike, so that the first flow is the best one in the usual case. Returns how much.
    fn release(&mut self, class: usize, stock: &Stock) -> u32 {
        let targets = self.targets(class, stock);
        let mut pool = 0;
        for (position, holding) in stock.classes[class].holdings.iter().enumerate() {
            let account = self.network.accounts[holding.owner.index()];
            let surplus = match self.roles.role(holding.owner) {
                Role::Gives => holding.units,
                _ => account
                    .load
                    .saturating_sub(targets.as_ref().map_or(account.limit, |of| of[holding.owner.index()])),
            };
            let released = surplus.min(holding.units);
            self.network.push(self.arcs[class].keeps[position] ^ 1, released);
            self.network.accounts[holding.owner.index()].load -= released;
            pool += released;
        }
        pool
    }

    /// By member what each is to have, if there is but one class and all its takers take alike.
    fn targets(&self, class: usize, stock: &Stock) -> Option<Vec<u32>> {
        if self.classes.classes.len() > 1
            || self.classes.kinds.len() > 1
            || !self.classes.classes[class].members.is_empty()
        {
            return None;
        }
        let of_class = &self.classes.classes[class];
        let takers: Vec<_> = self.classes.takers(of_class).collect();
        Some(alike::targets(&takers, &stock.classes[class], &stock.settled, &self.network.accounts))
    }

    /// Spreads `pool` units of `class` over its takers, and the rest over those that had some, or nobody.
    fn fill(&mut self, class: usize, pool: u32, stock: &Stock) {
        let of_class = &self.classes.classes[class];
        let accounts = &self.network.accounts;
        let has_room = |taker: &Node| accounts[*taker].load < accounts[*taker].limit;
        let takers: Vec<Node> =
            self.classes.takers(of_class).map(MemberIndex::index).filter(has_room).collect();
        let to_fill = Vessels::of(takers.iter().map(|taker| accounts[*taker]));
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
            self.network.accounts[holding.owner.index()].load += back;
            rest -= back;
        }
        self.network.push(self.arcs[class].nobody, rest);
        self.network.accounts[self.nobody].load += rest;
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
        self.network.accounts[taker].load += units;
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
        for member in 0..self.nobody {
            let account = self.network.accounts[member];
            if account.load > account.limit {
                self.ways_to(member).into_iter().for_each(|arc| self.network.arcs[arc].room = 0);
            }
        }
    }

    /// Lets those take that were over their limits and no longer are. Returns whether there are any.
    fn open_to_the_relieved(&mut self) -> bool {
        let mut any = false;
        for member in 0..self.nobody {
            let account = &mut self.network.accounts[member];
            if account.most > account.limit && account.load <= account.limit {
                account.most = account.limit;
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

    /// Lets members take more than their share of a rolling deployment if units are nobody's otherwise. Returns
    /// whether that makes a difference.
    fn lift_shares(&mut self) -> bool {
        if !self.roles.is_rolling || self.network.accounts[self.nobody].load == 0 {
            return false;
        }
        for account in &mut self.network.accounts[..self.nobody] {
            account.most = account.most.max(account.limit);
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

/// Where nodes are: members, then nobody, classes and kinds.
struct Layout {
    nobody: Node,
    classes: usize,
}

impl Layout {
    fn class(&self, class: usize) -> Node {
        self.nobody + 1 + class
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
        layout: &Layout,
        classes: &Classes,
        number: usize,
        holdings: &[Holding],
    ) -> ClassArcs {
        let (class, from) = (&classes.classes[number], layout.class(number));
        // What stays is a move less.
        let keeps = holdings.iter().map(|held| self.add(from, held.owner.index(), held.units, -1)).collect();
        let kinds = class.kinds.iter().map(|kind| self.add(from, layout.kind(*kind), ANY, 0)).collect();
        let members = class.members.iter().map(|member| self.add(from, member.index(), ANY, 0)).collect();
        ClassArcs { keeps, kinds, members, nobody: self.add(from, layout.nobody, ANY, 0) }
    }
}

/// What each member has before anything moves and may come to have, and last nobody.
pub(super) fn accounts(problem: &Problem, roles: &Roles, stock: &Stock) -> Vec<Account> {
    let shares = Shares::of(problem, roles);
    let scale = Scale::of(problem.members().iter().map(|member| member.capacity));
    // Most members are like the one before.
    let mut known = (Capacity::ONE, Toll::taking(Capacity::ONE, scale));
    let mut toll = |capacity: Capacity| {
        if capacity != known.0 {
            known = (capacity, Toll::taking(capacity, scale));
        }
        known.1
    };
    let account = |member: MemberIndex| {
        let load = stock.loads[member.index()];
        let Member { max_partitions, capacity, .. } = problem.member(member);
        let limit = max_partitions.unwrap_or(ANY);
        match roles.role(member) {
            Role::Takes => {
                let most = limit.min(shares.of_member(*capacity)).max(load);
                Account { load, limit, most, toll: toll(*capacity) }
            }
            Role::TakesLast => {
                let most = limit.max(load);
                Account { load, limit: most, most, toll: Toll::taking_last(*capacity, scale) }
            }
            Role::Keeps | Role::Gives => Account { load, limit: ANY, most: load, toll: Toll::GIVING },
        }
    };
    let nobody = Account { load: 0, limit: ANY, most: ANY, toll: Toll::NOBODY };
    problem.member_indices().map(account).chain([nobody]).collect()
}

/// What a member of the newest generation gets at most while others are active: its share once it has replaced them.
struct Shares {
    units: u64,
    /// Of all that are active; zero where there is one generation and no such bound.
    capacities: u64,
}

impl Shares {
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
