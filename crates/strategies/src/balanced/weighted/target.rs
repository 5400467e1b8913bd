//! Levels that count as balanced: [`LevelRange`].

use super::scales::{Level, LoosePool, ONE, Scales};
use crate::UnitIndex;

/// The levels that count as balanced in one component.
#[derive(Clone, Copy, Debug)]
pub(super) struct LevelRange {
    /// The mean, without what no placement can even out.
    mean: Level,
    /// In thousandths of the mean.
    tolerance: Level,
}

impl LevelRange {
    /// The highest level at which a member counts as balanced whose heaviest unit alone brings it to `heaviest`.
    pub(super) fn high(self, heaviest: Level) -> Level {
        let level = self.mean.max(heaviest);
        level + level * self.tolerance / 1_000
    }

    /// The lowest level at which a member counts as balanced.
    pub(super) fn low(self) -> Level {
        self.mean - self.mean * self.tolerance / 1_000
    }

    /// By how much a trade must lower a level: a quarter of what is tolerated, so that no unit moves for less than
    /// any member would notice.
    pub(super) fn worthwhile(self) -> Level {
        self.mean * self.tolerance / 4_000
    }
}

/// By component its target, once every member has what it may keep and `pool` is to be placed.
pub(super) fn of_components(scales: &Scales<'_>, pool: &LoosePool) -> Vec<LevelRange> {
    let mut totals: Vec<u128> = scales.components.members.iter().map(|_| 0).collect();
    for (total, members) in totals.iter_mut().zip(&scales.components.members) {
        *total = members.iter().map(|member| u128::from(scales.carried(*member))).sum();
    }
    for (unit, _) in pool {
        if let Some(component) = scales.components.of_class(scales.class_of[unit.index()]) {
            totals[component] += u128::from(scales.weight(*unit));
        }
    }
    let weights = weights(scales);
    let tolerance = Level::from(scales.problem.options().tolerance);
    let components = totals.into_iter().zip(weights).enumerate();
    components
        .map(|(component, (total, weights))| LevelRange {
            mean: mean(scales, component, total, weights),
            tolerance,
        })
        .collect()
}

/// By component the weights of all units that its members have or might get.
fn weights(scales: &Scales<'_>) -> Vec<Vec<u64>> {
    let mut weights = vec![Vec::new(); scales.components.members.len()];
    let component = |unit: UnitIndex| match scales.owner[unit.index()] {
        Some(owner) => scales.components.of_member(owner),
        None => scales.components.of_class(scales.class_of[unit.index()]),
    };
    for unit in scales.problem.unit_indices() {
        if let Some(component) = component(unit) {
            weights[component].push(scales.weight(unit));
        }
    }
    weights
}

/// The mean level of a component that is to carry `total`, without the units that are too heavy for any member to have
/// only its share, and without a member for each of these.
fn mean(scales: &Scales<'_>, component: usize, mut total: u128, weights: Vec<u64>) -> Level {
    let takers = &scales.components.members[component];
    let capacities = takers.iter().map(|taker| scales.problem.member(*taker).capacity.thousandths());
    let capacity: u128 = capacities.map(u128::from).sum();
    let members = takers.len() as u128;
    let mut left = members;
    for weight in heaviest(weights, takers.len()) {
        if left < 2 || u128::from(weight) * left <= total {
            break;
        }
        total -= u128::from(weight);
        left -= 1;
    }
    (total * members * ONE).checked_div(capacity * left).unwrap_or(0)
}

/// The `most` heaviest of `weights`, descending.
fn heaviest(mut weights: Vec<u64>, most: usize) -> Vec<u64> {
    if most < weights.len() {
        weights.select_nth_unstable_by(most, |a, b| b.cmp(a));
        weights.truncate(most);
    }
    weights.sort_unstable_by(|a, b| b.cmp(a));
    weights
}
