//! Equal shares: steps two to five where all active members may own the same units.

use crate::ledger::Ledger;
use crate::problem::{MemberIndex, MemberState, UnitIndex};

/// The origin of a collected unit, in the order in which units are placed if room is short.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// No member owns it.
    Nowhere,
    /// A draining member owns it.
    Draining,
    /// A member above its target owns it.
    Surplus,
}

/// Units that look for a new owner.
type OriginPool = Vec<(Origin, UnitIndex)>;

/// Gives each active member its target, as far as there are units.
pub(super) fn share(ledger: &mut Ledger<'_>) {
    let mut pool = collect(ledger);
    let targets = targets(ledger, pool.len());
    strip(ledger, &targets, &mut pool);
    fill(ledger, &targets, pool);
}

/// The units that no member owns or a draining member gives, of topics that some member can take.
fn collect(ledger: &Ledger<'_>) -> OriginPool {
    let problem = ledger.problem;
    let origin = |unit| match ledger.owner(unit) {
        None => Some(Origin::Nowhere),
        Some(_) => ledger
            .giver(unit)
            .filter(|owner| ledger.state(*owner) == MemberState::Draining)
            .map(|_| Origin::Draining),
    };
    let takeable = problem.topic_indices().filter(|topic| problem.takers_of(*topic).next().is_some());
    let units = takeable.flat_map(|topic| problem.units_of(topic));
    units.filter_map(|unit| Some((origin(unit)?, unit))).collect()
}

/// Moves what is above the targets into the pool, each member's highest units first. Their owners
/// stay on the ledger until some member takes them.
fn strip(ledger: &Ledger<'_>, targets: &[MemberTarget], pool: &mut OriginPool) {
    let mut surplus = vec![0; ledger.problem.members().len()];
    for target in targets {
        surplus[target.member.index()] = ledger.load(target.member).saturating_sub(target.units);
    }
    for unit in ledger.problem.unit_indices().rev() {
        let Some(owner) = ledger.giver(unit) else { continue };
        if surplus[owner.index()] > 0 {
            surplus[owner.index()] -= 1;
            pool.push((Origin::Surplus, unit));
        }
    }
}

/// Fills member after member up to its target with the pool's units in order.
fn fill(ledger: &mut Ledger<'_>, targets: &[MemberTarget], mut pool: OriginPool) {
    let room = |target: &MemberTarget| target.units.saturating_sub(ledger.load(target.member)) as usize;
    let places: Vec<MemberIndex> =
        targets.iter().flat_map(|target| std::iter::repeat_n(target.member, room(target))).collect();
    if pool.len() > places.len() {
        pool.sort_unstable();
        pool.truncate(places.len());
    }
    pool.sort_unstable_by_key(|(_, unit)| *unit);
    for ((_, unit), member) in pool.into_iter().zip(places) {
        ledger.give(unit, member);
    }
}

/// The number of units that an active member is to have.
struct MemberTarget {
    member: MemberIndex,
    units: u32,
    /// The units fixed to it: it cannot have less.
    least: u32,
    /// Its limit, or what is fixed to it if that is more.
    most: u32,
}

impl MemberTarget {
    fn at(&self, level: u32) -> u32 {
        level.clamp(self.least, self.most)
    }
}

/// The targets of the active members by id, if they share what they have and `collected` more.
fn targets(ledger: &Ledger<'_>, collected: usize) -> Vec<MemberTarget> {
    let mut targets = bounds(ledger);
    let kept: usize = targets.iter().map(|target| ledger.load(target.member) as usize).sum();
    let supply = kept + collected;
    let level = level(&targets, supply);
    for target in &mut targets {
        target.units = target.at(level);
    }
    let rest = supply - total(&targets, level);
    let mut more: Vec<_> = targets.iter_mut().filter(|target| target.at(level + 1) > target.units).collect();
    more.sort_by_key(|target| std::cmp::Reverse(ledger.load(target.member)));
    for target in more.into_iter().take(rest) {
        target.units += 1;
    }
    targets
}

/// The active members by id with what each must and may have.
fn bounds(ledger: &Ledger<'_>) -> Vec<MemberTarget> {
    let mut fixed = vec![0; ledger.problem.members().len()];
    for member in ledger.problem.unit_indices().filter_map(|unit| ledger.problem.fixed(unit)) {
        fixed[member.index()] += 1;
    }
    let bound = |member: MemberIndex| {
        let least = fixed[member.index()];
        MemberTarget { member, units: 0, least, most: ledger.limit(member).max(least) }
    };
    ledger.problem.active().map(bound).collect()
}

/// The highest level, at most `supply`, at which the members together have at most `supply`.
fn level(targets: &[MemberTarget], supply: usize) -> u32 {
    let (mut low, mut high) = (0, u32::try_from(supply).expect("units are counted in u32"));
    while low < high {
        let middle = high - (high - low) / 2;
        if total(targets, middle) <= supply {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

fn total(targets: &[MemberTarget], level: u32) -> usize {
    targets.iter().map(|target| target.at(level) as usize).sum()
}
