//! Balance where units differ in weight.
//!
//! The best balance of weights is a hard problem (it contains bin packing), so this looks for a good one: place what
//! has no owner, the heaviest first, each on the emptiest member; then move and swap units between members that are
//! out of tolerance and others, as long as that helps.

mod by_weight;
mod components;
mod improve;
mod pool;
mod scales;
mod target;

use super::classes::Classes;
use super::equal;
use super::roles::{MemberRole, Roles};
use crate::placement::Surplus;
use crate::{MemberIndex, Problem};
use scales::Scales;

/// The owner of each unit, and why units move that their owners could have kept.
///
/// Weights never stand before constraints: if units are left without a place, the cheapest flow of units that all count
/// alike shows whether they need be. If not, that is where trades start from; then units may have moved so that none
/// has no owner, whatever any member carries, and the reason only tells numbers of units.
pub(super) fn place(
    problem: &Problem,
    roles: &Roles,
    classes: &Classes,
) -> (Vec<Option<MemberIndex>>, Surplus) {
    let (mut scales, pool) = Scales::load(problem, roles, classes);
    let left = pool::place(&mut scales, pool);
    let mut surplus = Surplus::Weight;
    if !left.is_empty() {
        let owners = equal::place(problem, roles, classes);
        if shortcomings(problem, roles, &owners) < shortcomings(problem, roles, &scales.owner) {
            scales.adopt(owners);
            surplus = Surplus::Count;
        }
    }
    improve::improve(&mut scales);
    (scales.owner, surplus)
}

/// The numbers of units without an owner, at members that give, and above limits.
fn shortcomings(problem: &Problem, roles: &Roles, owners: &[Option<MemberIndex>]) -> (usize, u32, u32) {
    let mut loads = vec![0_u32; problem.members().len()];
    owners.iter().flatten().for_each(|owner| loads[owner.index()] += 1);
    let (mut at_givers, mut above) = (0, 0);
    for (member, load) in problem.member_indices().zip(loads) {
        match roles.role(member) {
            MemberRole::Gives => at_givers += load,
            MemberRole::Takes => {
                above += load.saturating_sub(problem.member(member).limit());
            }
            MemberRole::TakesLast | MemberRole::Keeps => {}
        }
    }
    (owners.iter().filter(|owner| owner.is_none()).count(), at_givers, above)
}
