//! The order in which `range` and `roundrobin` see members.

use std::cmp::Ordering;

use super::{Group, GroupMember, java};
use crate::MemberIndex;

/// `members`, static ones first by instance id, the others behind them by member id.
pub(super) fn of_members(group: &Group, members: impl Iterator<Item = MemberIndex>) -> Vec<MemberIndex> {
    let mut ordered: Vec<_> = members.collect();
    let all = group.members();
    if all.iter().any(|member| member.instance.is_some()) {
        ordered.sort_by(|a, b| compare(&all[a.index()], &all[b.index()]));
    }
    ordered
}

fn compare(a: &GroupMember, b: &GroupMember) -> Ordering {
    match (&a.instance, &b.instance) {
        (Some(a), Some(b)) => java::compare(a, b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => java::compare(&a.id, &b.id),
    }
}
