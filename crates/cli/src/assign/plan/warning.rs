//! Warnings about answers that are right by their strategy and yet may surprise: [`of`].

use kafka_assigner_strategies::{CopartitionedSticky, MemberIndex, MemberState, Strategy};

use super::placed::Placed;

const EMPTY_BY_SETS: &str = "copartitioned-sticky moves topics with equal partition counts and subscribers as one set, \
     which leaves active members without partitions; balanced would use them";

/// The warning about the answer of `strategy`, if there is reason for one.
pub(super) fn of(strategy: &dyn Strategy, placed: &Placed) -> Option<&'static str> {
    let is_by_sets = strategy.name() == CopartitionedSticky.name();
    let could_take = |member| is_empty(placed, member) && could_take_some(placed, member);
    let leaves_empty = || placed.problem.member_indices().any(could_take);
    (is_by_sets && leaves_empty()).then_some(EMPTY_BY_SETS)
}

/// True if `member` takes partitions and has none.
fn is_empty(placed: &Placed, member: MemberIndex) -> bool {
    let spec = placed.problem.member(member);
    spec.state == MemberState::Active
        && spec.max_partitions != Some(0)
        && placed.owned[member.index()].is_empty()
}

/// True if a member with several partitions has one that `member` may own.
fn could_take_some(placed: &Placed, member: MemberIndex) -> bool {
    let several = placed.owned.iter().filter(|units| units.len() > 1);
    several.flatten().any(|unit| placed.problem.may_own(*unit, member))
}
