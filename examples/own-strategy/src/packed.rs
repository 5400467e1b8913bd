//! The strategy `packed`.

use kafka_assigner_strategies::{MemberIndex, MemberState, Placement, Problem, Strategy, UnitIndex};

/// Puts as many partitions on each member as its `max_partitions` allows before the next one gets any, so that as few
/// members as possible work and the others can be stopped. Members without a limit take [`MOST`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed;

/// The most partitions of a member that names no limit.
pub(crate) const MOST: u32 = 10;

impl Strategy for Packed {
    fn name(&self) -> &'static str {
        "packed"
    }

    fn summary(&self) -> &'static str {
        "fills one member after the other, so that few work and the rest can be stopped"
    }

    fn assign(&self, problem: &Problem) -> Placement {
        let mut room: Vec<u32> = problem.member_indices().map(|member| room(problem, member)).collect();
        let mut owner: Vec<_> = problem.unit_indices().map(|unit| settled(problem, unit)).collect();
        for member in owner.iter().flatten() {
            room[member.index()] = room[member.index()].saturating_sub(1);
        }
        for unit in problem.unit_indices() {
            if owner[unit.index()].is_none() {
                owner[unit.index()] = place(problem, unit, &mut room);
            }
        }
        Placement::of(problem, owner)
    }
}

/// The most partitions that the member may come to have.
fn room(problem: &Problem, member: MemberIndex) -> u32 {
    match problem.member(member).state {
        MemberState::Active => problem.member(member).max_partitions.unwrap_or(MOST),
        MemberState::Hold | MemberState::Draining => 0,
    }
}

/// The member that has the unit whatever the strategy wants: the member that it is on its way to, or one on hold.
fn settled(problem: &Problem, unit: UnitIndex) -> Option<MemberIndex> {
    let holds = |owner: &MemberIndex| {
        problem.member(*owner).state == MemberState::Hold && problem.may_own(unit, *owner)
    };
    problem.fixed(unit).or_else(|| problem.current(unit).filter(holds))
}

/// The first member with room that may have the unit; else its owner keeps it, rather than nobody having it.
fn place(problem: &Problem, unit: UnitIndex, room: &mut [u32]) -> Option<MemberIndex> {
    let mut able = problem.member_indices().filter(|member| problem.may_own(unit, *member));
    if let Some(member) = able.find(|member| room[member.index()] > 0) {
        room[member.index()] -= 1;
        return Some(member);
    }
    problem.current(unit).filter(|owner| problem.may_own(unit, *owner))
}
