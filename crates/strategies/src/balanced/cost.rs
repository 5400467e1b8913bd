//! The cost of a unit at a member: the order of the objective's terms, as one number.

use crate::Capacity;

/// A cost. Each term of the objective is a power of two so far above the ones after it that none of
/// them can outweigh it. From the last to the first: moves, balance, members of an older generation
/// that take, limits exceeded, draining members that keep, and units that no member owns.
pub(super) type FlowCost = i128;

/// The smallest difference in balance. A path has fewer moves than there are nodes, of which there
/// are fewer than this.
const BALANCE: FlowCost = 1 << 32;
/// Above any difference in balance: 2²⁵ half-units on the smallest capacity.
const OUTDATED: FlowCost = BALANCE << 66;
const OVER_LIMIT: FlowCost = OUTDATED << 2;
const DRAINING: FlowCost = OVER_LIMIT << 2;
const WITHOUT_OWNER: FlowCost = DRAINING << 2;

/// Turns capacities into slopes: what the next unit costs rises by that much with each unit. A slope is this over the
/// capacity in thousandths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale(u128);

impl Scale {
    /// The steepest slope: that of the smallest capacity, if slopes have to be rounded.
    const MOST: u128 = 1 << 40;

    /// A scale for members of these capacities: their least common multiple, so that slopes are exact and ties
    /// are ties, unless a slope would be steeper than [`MOST`](Self::MOST). Otherwise slopes are rounded down, by
    /// less than one: the part by which a slope is too small is less than the capacity's ratio to the smallest in
    /// 2⁴⁰.
    pub(super) fn of(capacities: impl Iterator<Item = Capacity>) -> Self {
        let (mut common, mut smallest, mut last) = (Some(1), u32::MAX, None);
        // Most are like the one before.
        for capacity in capacities.filter(|capacity| last.replace(*capacity) != Some(*capacity)) {
            smallest = smallest.min(capacity.thousandths());
            common = common.and_then(|common| Self::multiple(common, capacity));
        }
        let most = Self::MOST * u128::from(smallest);
        Self(common.filter(|common| *common <= most).unwrap_or(most))
    }

    /// The least common multiple of `common` and the capacity, if it might be a scale.
    fn multiple(common: u128, capacity: Capacity) -> Option<u128> {
        let thousandths = u128::from(capacity.thousandths());
        if common.is_multiple_of(thousandths) {
            return Some(common);
        }
        let multiple = common / gcd(common, thousandths) * thousandths;
        (multiple <= Self::MOST * u128::from(u32::MAX)).then_some(multiple)
    }

    /// In the smallest differences in balance.
    fn slope(self, capacity: Capacity) -> u64 {
        let slope = self.0 / u128::from(capacity.thousandths());
        u64::try_from(slope).expect("no slope is steeper than the steepest")
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The costs of one unit after the other at a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MarginalCost {
    each: Each,
    /// By how many of the smallest differences in balance each unit costs more than half the one before.
    slope: u64,
}

/// The cost of each unit beside that of balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Each {
    Nothing,
    Outdated,
    Draining,
    Unowned,
}

impl Each {
    fn cost(self) -> FlowCost {
        match self {
            Self::Nothing => 0,
            Self::Outdated => OUTDATED,
            Self::Draining => DRAINING,
            Self::Unowned => WITHOUT_OWNER,
        }
    }
}

impl MarginalCost {
    /// The marginal cost at a member of `capacity` that takes: it makes the sum of squared loads over capacities
    /// the balance, as the differences between squares are the odd numbers.
    pub(super) fn taking(capacity: Capacity, scale: Scale) -> Self {
        Self { each: Each::Nothing, slope: scale.slope(capacity) }
    }

    /// The marginal cost at a member of an older generation.
    pub(super) fn taking_last(capacity: Capacity, scale: Scale) -> Self {
        Self { each: Each::Outdated, ..Self::taking(capacity, scale) }
    }

    /// The marginal cost at a member that gives.
    pub(super) const GIVING: Self = Self { each: Each::Draining, slope: 0 };
    /// The marginal cost of having no owner.
    pub(super) const UNOWNED: Self = Self { each: Each::Unowned, slope: 0 };

    /// The cost of one more unit at a member with `load` units, of at most `limit`.
    pub(super) fn of(self, load: u32, limit: u32) -> FlowCost {
        let over = if load >= limit { OVER_LIMIT } else { 0 };
        self.each.cost() + over + self.slope() * FlowCost::from(2 * u64::from(load) + 1)
    }

    /// The load at which one more first costs at least `cost`; for a marginal cost that rises.
    pub(super) fn load_at(self, cost: FlowCost) -> u32 {
        let slope = self.slope();
        let slopes = (cost - self.each.cost() + slope - 1).div_euclid(slope);
        u32::try_from(slopes.div_euclid(2).max(0)).unwrap_or(u32::MAX)
    }

    fn slope(self) -> FlowCost {
        FlowCost::from(self.slope) * BALANCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUGH: Scale = Scale(Scale::MOST);

    fn capacity(value: f64) -> Capacity {
        Capacity::new(value).unwrap()
    }

    #[test]
    fn the_worst_of_each_term_is_less_than_the_least_of_the_one_before() {
        let most = u32::try_from(crate::Problem::MAX_UNITS).unwrap();
        let smallest = capacity(Capacity::MIN);
        assert!(MarginalCost::taking(smallest, ROUGH).of(most, u32::MAX) < OUTDATED);
        assert!(MarginalCost::taking_last(smallest, ROUGH).of(most, u32::MAX) < OVER_LIMIT);
        assert!(
            MarginalCost::taking_last(smallest, ROUGH).of(most, 0) < MarginalCost::GIVING.of(0, u32::MAX)
        );
        assert!(MarginalCost::GIVING.of(most, 0) < MarginalCost::UNOWNED.of(0, u32::MAX));
        assert!(ROUGH.slope(capacity(Capacity::MAX)) > 0);
    }

    #[test]
    fn members_that_are_as_full_for_their_capacity_cost_the_same() {
        let scale = Scale::of([1.0, 3.0, 7.5].map(capacity).into_iter());
        let cost = |value, load| MarginalCost::taking(capacity(value), scale).of(load, u32::MAX);
        assert_eq!(cost(1.0, 0), cost(3.0, 1));
        assert_eq!(cost(3.0, 7), cost(7.5, 18) * 75 / 74);
    }

    #[test]
    fn capacities_without_a_small_multiple_are_rounded() {
        let odd = [999.983, 999.979, 999.961, 999.959].map(capacity);
        assert_eq!(Scale::of(odd.into_iter()).0, Scale::MOST * 999_959);
    }

    #[test]
    fn a_rounded_slope_is_too_small_by_less_than_the_ratio_to_the_smallest_capacity_in_two_to_the_fortieth() {
        let odd = [Capacity::MIN, 0.997, 31.607, 999.983, 999_983.0, Capacity::MAX].map(capacity);
        for smallest in 0..odd.len() {
            let some = &odd[smallest..];
            let scale = Scale::of(some.iter().copied());
            for each in some {
                let thousandths = u128::from(each.thousandths());
                let short = scale.0 - u128::from(scale.slope(*each)) * thousandths;
                let smallest = u128::from(some[0].thousandths());
                // As parts of the scale: short / scale < (thousandths / smallest) / 2⁴⁰.
                assert!(short * smallest * (1 << 40) < scale.0 * thousandths, "{each:?}");
            }
        }
    }

    #[test]
    fn no_slope_is_steeper_than_the_terms_before_allow() {
        for odd in [[0.001, 0.997, 999_983.0], [999_983.0, 999_979.0, 1_000_000.0], [0.001, 0.002, 0.003]] {
            let capacities = odd.map(capacity);
            let scale = Scale::of(capacities.into_iter());
            assert!(capacities.iter().all(|each| u128::from(scale.slope(*each)) <= Scale::MOST));
        }
    }

    #[test]
    fn the_load_at_a_cost_is_the_first_at_which_one_more_costs_that_much() {
        for value in [0.5, 1.0, 3.0] {
            let marginal_cost = MarginalCost::taking(capacity(value), ROUGH);
            for load in [0, 1, 7, 1_000] {
                let cost = marginal_cost.of(load, u32::MAX);
                assert_eq!(marginal_cost.load_at(cost), load);
                assert_eq!(marginal_cost.load_at(cost + 1), load + 1);
                assert_eq!(marginal_cost.load_at(cost - 1), load);
            }
        }
    }
}
