//! The same question gets the same answer, and an answer that has come true is left alone.

use kafka_assigner_strategies::all;
use proptest::prelude::*;

use crate::scenario::{any_scenario, shuffled_scenario};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_second_run_moves_nothing(scenario in any_scenario()) {
        // Kafka's sticky rules know racks only by half and limits not at all: with these they may need another run.
        let is_settled = |name: &str| !matches!(name, "sticky" | "cooperative-sticky");
        let has_racks = !scenario.problem().racks().is_empty();
        let has_limits = scenario.members.iter().any(|member| member.limit.is_some());
        let is_plain = !has_racks && !has_limits;
        for strategy in all().iter().filter(|strategy| is_plain || is_settled(strategy.name())) {
            let first = strategy.assign(&scenario.problem());
            let problem = scenario.after(&first).problem();
            let second = strategy.assign(&problem);
            prop_assert_eq!(&second.owner, &first.owner, "{}", strategy.name());
            prop_assert!(second.moves(&problem).is_empty());
        }
    }

    #[test]
    fn the_order_of_telling_does_not_matter((scenario, order) in shuffled_scenario()) {
        let (problem, shuffled) = (scenario.problem(), scenario.problem_in(&order));
        prop_assert_eq!(&problem, &shuffled);
        for strategy in all() {
            prop_assert_eq!(strategy.assign(&problem), strategy.assign(&shuffled));
        }
    }
}
