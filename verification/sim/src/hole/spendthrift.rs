//! A strategy that asks for nobody's limit.

use kafka_assigner_strategies::{Placement, Problem, StickyBalanced, Strategy};

/// Gives everything to one member, whatever that one takes. It stands in for the strategy that most worlds have.
#[derive(Debug)]
pub(crate) struct Spendthrift;

impl Strategy for Spendthrift {
    fn name(&self) -> &'static str {
        StickyBalanced.name()
    }

    fn summary(&self) -> &'static str {
        "gives everything to one member"
    }

    fn assign(&self, problem: &Problem) -> Placement {
        let someone = StickyBalanced.assign(problem).owner.into_iter().flatten().next();
        Placement::of(problem, vec![someone; problem.units()])
    }
}
