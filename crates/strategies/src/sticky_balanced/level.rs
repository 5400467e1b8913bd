//! Single moves that help, until there are none: where members may own different units.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::ledger::Ledger;
use crate::problem::{MemberIndex, TopicIndex, UnitIndex};

/// The members that give.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GiverKind {
    /// Those that have more than their limit, draining members thus as long as they have anything.
    Excess,
    /// Those that have at least two more than who takes.
    Surplus,
}

/// Places what no member owns, relieves who has too much, and levels, until no single move helps.
///
/// It ends: each move lowers, in this order, the number of units that no member owns, the number
/// above limits, or the sum of the squared loads, and raises none of those before it.
pub(super) fn settle(ledger: &mut Ledger<'_>) {
    loop {
        place_unowned(ledger);
        shift(ledger, GiverKind::Excess);
        if shift(ledger, GiverKind::Surplus) == 0 {
            return;
        }
    }
}

/// Gives what no member owns to the emptiest who may own it, topics with the fewest takers first.
fn place_unowned(ledger: &mut Ledger<'_>) {
    let mut topics: Vec<TopicIndex> = ledger.problem.topic_indices().collect();
    topics.sort_by_cached_key(|topic| ledger.problem.takers_of(*topic).count());
    for topic in topics {
        let unowned: Vec<_> =
            ledger.problem.units_of(topic).filter(|unit| ledger.owner(*unit).is_none()).collect();
        if !unowned.is_empty() {
            place(ledger, topic, unowned);
        }
    }
}

fn place(ledger: &mut Ledger<'_>, topic: TopicIndex, units: Vec<UnitIndex>) {
    let open = ledger.problem.takers_of(topic).filter(|member| ledger.has_room(*member));
    let mut takers: BinaryHeap<_> = open.map(|member| Reverse((ledger.load(member), member))).collect();
    let mut banned = Vec::new();
    for unit in units {
        while let Some(Reverse((load, member))) = takers.pop() {
            if ledger.problem.is_banned(unit, member) {
                banned.push(Reverse((load, member)));
                continue;
            }
            ledger.give(unit, member);
            if ledger.has_room(member) {
                takers.push(Reverse((load + 1, member)));
            }
            break;
        }
        takers.extend(banned.drain(..));
    }
}

/// One pass over all topics; returns how many units moved.
fn shift(ledger: &mut Ledger<'_>, giving: GiverKind) -> usize {
    let topics = ledger.problem.topic_indices();
    topics.map(|topic| Exchange::of(ledger, topic, giving).map_or(0, Exchange::run)).sum()
}

/// The members that can give and take units of one topic, ordered by how much they have.
struct Exchange<'l, 'p> {
    ledger: &'l mut Ledger<'p>,
    giving: GiverKind,
    /// By giver the units that it has left to give, ascending.
    stock: BTreeMap<MemberIndex, Vec<UnitIndex>>,
    givers: BTreeSet<(u32, MemberIndex)>,
    takers: BTreeSet<(u32, MemberIndex)>,
}

impl<'l, 'p> Exchange<'l, 'p> {
    /// `None` if the loads alone show that nothing can move.
    fn of(ledger: &'l mut Ledger<'p>, topic: TopicIndex, giving: GiverKind) -> Option<Self> {
        let open = ledger.problem.takers_of(topic).filter(|member| ledger.has_room(*member));
        let takers: Vec<_> = open.map(|member| (ledger.load(member), member)).collect();
        let emptiest = takers.iter().min()?.0;
        let mut stock: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for unit in ledger.problem.units_of(topic) {
            let giver = ledger.giver(unit).filter(|giver| gives(ledger, giving, *giver, emptiest));
            if let Some(giver) = giver {
                stock.entry(giver).or_default().push(unit);
            }
        }
        let givers: BTreeSet<_> = stock.keys().map(|giver| (ledger.load(*giver), *giver)).collect();
        let takers = takers.into_iter().collect();
        (!givers.is_empty()).then_some(Self { ledger, giving, stock, givers, takers })
    }

    /// Lets the fullest give to the emptiest, as long as that helps; returns how many units moved.
    fn run(mut self) -> usize {
        let mut moved = 0;
        while let Some((_, giver)) = self.givers.pop_last() {
            if let Some((at, taker)) = self.offer(giver) {
                self.pass_on(giver, at, taker);
                moved += 1;
            }
        }
        moved
    }

    /// The highest unit of `giver` that some member takes, as its place in stock, and who does.
    fn offer(&self, giver: MemberIndex) -> Option<(usize, MemberIndex)> {
        let units = self.stock[&giver].iter().enumerate().rev();
        units.filter_map(|(at, unit)| Some((at, self.taker(giver, *unit)?))).next()
    }

    /// The emptiest member that helps by taking `unit` from `giver`.
    fn taker(&self, giver: MemberIndex, unit: UnitIndex) -> Option<MemberIndex> {
        let helpful = |load: u32| gives(self.ledger, self.giving, giver, load);
        let mut takers = self.takers.iter().take_while(|(load, _)| helpful(*load)).map(|(_, taker)| *taker);
        takers.find(|taker| !self.ledger.problem.is_banned(unit, *taker))
    }

    fn pass_on(&mut self, giver: MemberIndex, at: usize, taker: MemberIndex) {
        let before = [giver, taker].map(|member| (self.ledger.load(member), member));
        let unit = self.stock.get_mut(&giver).expect("a giver has stock").remove(at);
        self.ledger.give(unit, taker);
        for entry in before {
            self.takers.remove(&entry);
            self.givers.remove(&entry);
        }
        for member in [giver, taker] {
            self.enter(member);
        }
    }

    /// Lists `member` under its present load.
    fn enter(&mut self, member: MemberIndex) {
        let entry = (self.ledger.load(member), member);
        if self.ledger.has_room(member) {
            self.takers.insert(entry);
        }
        if self.stock.get(&member).is_some_and(|units| !units.is_empty()) {
            self.givers.insert(entry);
        }
    }
}

/// True if it helps that `giver` gives to a member that has room and `load` units.
fn gives(ledger: &Ledger<'_>, giving: GiverKind, giver: MemberIndex, load: u32) -> bool {
    match giving {
        GiverKind::Excess => ledger.load(giver) > ledger.limit(giver),
        GiverKind::Surplus => ledger.load(giver) >= load + 2,
    }
}
