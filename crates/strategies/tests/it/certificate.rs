//! Proof that no placement is better than that of `balanced`, where there are too many to try.
//!
//! A placement is the best if no cycle of members, each of whom hands one unit to the next, makes it better; one step
//! of the cycle may lead from who has one more in the end to who has one less. That is looked for unit by unit, without
//! the classes and kinds that `balanced` works with.

use kafka_assigner_strategies::{
    Balanced, MemberIndex, MemberState, Placement, Problem, Strategy as _, UnitIndex,
};
use proptest::prelude::*;

use crate::scenario::{Scenario, large_scenario};

/// Sums of squares count before moves.
const SQUARE: i64 = 1 << 20;
/// The least common multiple of the capacities that a scenario may have.
const COMMON: i64 = 12;
/// Nobody does that.
const NEVER: i64 = i64::MAX / 4;

struct Exchange<'a> {
    problem: &'a Problem,
    placement: Placement,
    load: Vec<i64>,
}

impl<'a> Exchange<'a> {
    fn of(problem: &'a Problem) -> Self {
        let placement = Balanced.assign(problem);
        let mut load = vec![0; problem.members().len()];
        placement.owner.iter().flatten().for_each(|owner| load[owner.index()] += 1);
        Self { problem, placement, load }
    }

    fn is_active(&self, member: MemberIndex) -> bool {
        self.problem.member(member).state == MemberState::Active
    }

    fn limit(&self, member: MemberIndex) -> i64 {
        i64::from(self.problem.member(member).max_partitions.unwrap_or(u32::MAX))
    }

    /// The current owner, if it may own the unit.
    fn holder(&self, unit: UnitIndex) -> Option<MemberIndex> {
        self.problem.current(unit).filter(|owner| self.problem.may_own(unit, *owner))
    }

    /// The cost in moves if `from` hands a unit to `to`: that of the cheapest of its units.
    fn hand(&self, from: MemberIndex, to: MemberIndex) -> i64 {
        let units = self.problem.unit_indices().filter(|unit| {
            let stays = self.holder(*unit) == Some(from) && self.problem.is_cooling(*unit);
            self.placement.owner[unit.index()] == Some(from)
                && self.problem.fixed(*unit).is_none()
                && !stays
                && self.problem.may_own(*unit, to)
        });
        let cost = |unit: UnitIndex| match self.holder(unit) {
            Some(holder) if holder == from => 1,
            Some(holder) if holder == to => -1,
            _ => 0,
        };
        units.map(cost).min().unwrap_or(NEVER)
    }

    fn square(&self, member: MemberIndex, load: i64) -> i64 {
        load * load * COMMON * 1_000 / i64::from(self.problem.member(member).capacity.thousandths())
    }

    /// The cost in balance if `member` has that many more.
    fn change(&self, member: MemberIndex, more: i64) -> i64 {
        let load = self.load[member.index()];
        SQUARE * (self.square(member, load + more) - self.square(member, load))
    }

    /// Members that take part: active, and not above their limits, where other rules apply.
    fn traders(&self) -> Vec<MemberIndex> {
        let trades = |member: &MemberIndex| {
            self.is_active(*member) && self.load[member.index()] <= self.limit(*member)
        };
        self.problem.member_indices().filter(trades).collect()
    }

    /// By pairs of traders, and last the ground through which loads change.
    fn costs(&self, traders: &[MemberIndex]) -> Vec<Vec<i64>> {
        let mut costs: Vec<Vec<i64>> = traders
            .iter()
            .map(|from| {
                let to = traders.iter().map(|to| if from == to { NEVER } else { self.hand(*from, *to) });
                let has_room = self.load[from.index()] < self.limit(*from);
                to.chain([if has_room { self.change(*from, 1) } else { NEVER }]).collect()
            })
            .collect();
        let gives = traders
            .iter()
            .map(|from| if self.load[from.index()] > 0 { self.change(*from, -1) } else { NEVER });
        costs.push(gives.chain([NEVER]).collect());
        costs
    }
}

/// True if some cycle costs less than nothing (Bellman and Ford).
fn has_negative_cycle(costs: &[Vec<i64>]) -> bool {
    let mut distance = vec![0_i64; costs.len()];
    for _ in 0..=costs.len() {
        let mut any = false;
        for (from, row) in costs.iter().enumerate() {
            for (to, cost) in row.iter().enumerate().filter(|(_, cost)| **cost < NEVER) {
                if distance[from] + cost < distance[to] {
                    distance[to] = distance[from] + cost;
                    any = true;
                }
            }
        }
        if !any {
            return false;
        }
    }
    true
}

fn is_best(scenario: &Scenario) -> bool {
    let problem = scenario.problem();
    let exchange = Exchange::of(&problem);
    !has_negative_cycle(&exchange.costs(&exchange.traders()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_exchange_makes_a_large_placement_better(scenario in large_scenario()) {
        prop_assert!(is_best(&scenario));
    }
}

#[test]
fn an_exchange_that_helps_is_found() {
    assert!(has_negative_cycle(&[vec![NEVER, 3], vec![-4, NEVER]]));
    assert!(!has_negative_cycle(&[vec![NEVER, 3], vec![-3, NEVER]]));
}
