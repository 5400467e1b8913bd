//! The strategy `balanced`: the best balance, and of all placements with it the one with the fewest moves.

mod budget;
mod cheapen;
mod classes;
mod cost;
mod deal;
mod equal;
mod fill;
mod level;
mod network;
mod roles;
mod standbys;
mod stock;
mod weighted;

use crate::{MoveReason, Placement, Problem, Strategy};
use classes::Classes;
use roles::Roles;

/// One objective. The first term that differs decides:
#[derive(Clone, Copy, Debug, Default)]
pub struct Balanced;

impl Strategy for Balanced {
    fn name(&self) -> &'static str {
        "balanced"
    }

    fn summary(&self) -> &'static str {
        "the best balance there is with the fewest moves; heeds weights, capacities, racks and standbys"
    }

    fn assign(&self, problem: &Problem) -> Placement {
        let roles = Roles::of(problem);
        let classes = Classes::of(problem, &roles);
        let place = if problem.has_weights() { weighted::place } else { equal::place };
        let mut owner = place(problem, &roles, &classes);
        budget::restrict(problem, &roles, &mut owner);
        let standbys = standbys::place(problem, &classes, &owner);
        let placement = Placement::new(problem, owner, |had, target| MoveReason::OverTarget { had, target });
        Placement { standbys, ..placement }
    }
}
