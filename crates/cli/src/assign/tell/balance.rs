//! The evenness of a placement: [`Balance`].

use kafka_assigner_strategies::{MemberState, Placement, Problem, ProblemMember};
use serde::Serialize;

/// The evenness of the shares of active members.
#[derive(Debug, PartialEq, Serialize)]
pub(in crate::assign) struct Balance {
    /// The fewest partitions that one of them has.
    partitions_min: u64,
    /// The most partitions that one of them has.
    partitions_max: u64,
    /// The largest load: the weights of a member's partitions, together, divided by its capacity.
    load_max: f64,
    /// The load that each would have if weights could be dealt out to the last bit.
    load_mean: f64,
    /// `load_max` divided by `load_mean`; 1 is perfect. Nothing where nothing is placed.
    imbalance: Option<f64>,
}

/// The share of a member.
#[derive(Debug, Clone, Copy, Default)]
struct MemberShare {
    partitions: u64,
    /// In thousandths.
    weight: u64,
}

impl Balance {
    /// The balance of `placement`.
    pub(in crate::assign) fn of(problem: &Problem, placement: &Placement) -> Self {
        let mut shares = vec![MemberShare::default(); problem.members().len()];
        for (unit, owner) in problem.unit_indices().zip(&placement.owner) {
            let Some(owner) = owner else { continue };
            let share = &mut shares[owner.index()];
            share.partitions += 1;
            share.weight += problem.weight(unit).thousandths();
        }
        let active: Vec<(&ProblemMember, MemberShare)> = problem
            .members()
            .iter()
            .zip(shares)
            .filter(|(member, _)| member.state == MemberState::Active)
            .collect();
        Self::among(&active)
    }

    fn among(members: &[(&ProblemMember, MemberShare)]) -> Self {
        let partitions = || members.iter().map(|(_, share)| share.partitions);
        let load =
            |weight: u64, capacity: u64| if capacity == 0 { 0.0 } else { weight as f64 / capacity as f64 };
        let capacity = |member: &ProblemMember| u64::from(member.capacity.thousandths());
        let loads = members.iter().map(|(member, share)| load(share.weight, capacity(member)));
        let load_max = loads.fold(0.0, f64::max);
        let weight = members.iter().map(|(_, share)| share.weight).sum();
        let load_mean = load(weight, members.iter().map(|(member, _)| capacity(member)).sum());
        Self {
            partitions_min: partitions().min().unwrap_or_default(),
            partitions_max: partitions().max().unwrap_or_default(),
            load_max: rounded(load_max),
            load_mean: rounded(load_mean),
            imbalance: (load_mean > 0.0).then(|| rounded(load_max / load_mean)),
        }
    }
}

/// To a thousandth, which is as much as is known of weights.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use kafka_assigner_strategies::{MemberIndex, MemberSpec};

    use super::*;

    #[test]
    fn a_load_is_weight_by_capacity_and_only_active_members_count() {
        let mut builder = Problem::builder();
        let topic = builder.topic("t", 4);
        builder.weight(topic, 3, 5.0);
        builder.member(MemberSpec { capacity: 2.0, ..MemberSpec::new("a") });
        builder.member(MemberSpec::new("b"));
        builder.member(MemberSpec { state: MemberState::Draining, ..MemberSpec::new("c") });
        let problem = builder.build().unwrap();
        let owner = [1, 1, 2, 0].map(|at| Some(MemberIndex::new(at))).to_vec();
        let balance = Balance::of(&problem, &Placement::of(&problem, owner));
        let expected = Balance {
            partitions_min: 1,
            partitions_max: 2,
            load_max: 2.5,
            load_mean: 2.333,
            imbalance: Some(1.071),
        };
        assert_eq!(balance, expected);
    }

    #[test]
    fn of_nothing_there_is_no_imbalance() {
        let problem = Problem::builder().build().unwrap();
        assert_eq!(Balance::of(&problem, &Placement::of(&problem, Vec::new())).imbalance, None);
    }
}
