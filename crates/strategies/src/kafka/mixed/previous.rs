//! Owners in generations that are over.

use rustc_hash::FxHashMap;

use super::super::Group;
use crate::{MemberIndex, UnitIndex};

/// Claims of earlier generations than the newest: too old to count, but if some member has to get a
/// unit, better who had it once.
pub(super) struct Previous {
    owner: FxHashMap<UnitIndex, MemberIndex>,
}

impl Previous {
    /// The newest of the old claims on each unit whose topic the member still subscribes to.
    pub(super) fn of(group: &Group) -> Self {
        let newest = group.member_indices().map(|member| group.generation(member)).max();
        let mut owner = FxHashMap::default();
        let old = |member: &&MemberIndex| Some(group.generation(**member)) < newest;
        for member in group.map_order.iter().filter(old) {
            let class = group.class_of(*member);
            let wanted = |unit: &&UnitIndex| class.wants(group.topic_of[unit.index()]);
            for unit in group.claims_of(*member).iter().filter(wanted) {
                let known = owner.entry(*unit).or_insert(*member);
                if group.generation(*member) > group.generation(*known) {
                    *known = *member;
                }
            }
        }
        Self { owner }
    }

    pub(super) fn owner(&self, unit: UnitIndex) -> Option<MemberIndex> {
        self.owner.get(&unit).copied()
    }
}
