//! No placement moves less than the bound says.

use kafka_assigner_strategies::all;
use proptest::prelude::*;

use crate::scenario::any_scenario;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_strategy_moves_less_than_the_bound(scenario in any_scenario()) {
        let problem = scenario.problem();
        for strategy in all() {
            let placement = strategy.assign(&problem);
            let moves = placement.moves(&problem).iter().filter(|change| change.from.is_some()).count();
            prop_assert!(placement.moves_lower_bound(&problem) <= moves, "{}", strategy.name());
        }
    }
}
