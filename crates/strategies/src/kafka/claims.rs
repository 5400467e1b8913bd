//! Owners of units that several members claim.

use super::Group;
use crate::{MemberIndex, UnitIndex};

/// The result of the claims on one unit.
#[derive(Clone, Copy, Debug, Default)]
struct Claim {
    /// The member that claimed it last, of those that had to be heard.
    last: Option<MemberIndex>,
    /// True if it has no owner, as `last` and another claimed it in one generation.
    is_unowned: bool,
    /// True if that was ever so, even if a later generation settled it.
    was_contested: bool,
}

/// Of several claims the newest generation's counts, and none of two in the same.
#[derive(Debug)]
pub(super) struct Claims {
    /// By unit.
    claims: Vec<Claim>,
}

impl Claims {
    /// Hears all claims on partitions of topics that are served.
    pub(super) fn of(group: &Group) -> Self {
        let mut claims = Self { claims: vec![Claim::default(); group.units()] };
        let served: Vec<bool> =
            (0..group.topics.len()).map(|at| group.is_served(crate::TopicIndex::new(at))).collect();
        for member in &group.map_order {
            for unit in group.claims_of(*member) {
                if served[group.topic_of[unit.index()].index()] {
                    claims.hear(group, *unit, *member);
                }
            }
        }
        claims
    }

    fn hear(&mut self, group: &Group, unit: UnitIndex, member: MemberIndex) {
        let claim = &mut self.claims[unit.index()];
        let Some(other) = claim.last else {
            claim.last = Some(member);
            return;
        };
        let (newer, older) = (group.generation(member), group.generation(other));
        if newer >= older {
            claim.last = Some(member);
            claim.is_unowned = newer == older;
            claim.was_contested |= newer == older;
        }
    }

    /// The member whose claim counts.
    pub(super) fn owner(&self, unit: UnitIndex) -> Option<MemberIndex> {
        let claim = self.claims[unit.index()];
        claim.last.filter(|_| !claim.is_unowned)
    }

    /// The same, but no member if two ever claimed it in one generation.
    pub(super) fn uncontested(&self, unit: UnitIndex) -> Option<MemberIndex> {
        let claim = self.claims[unit.index()];
        claim.last.filter(|_| !claim.was_contested)
    }

    /// True if any member claims `unit`.
    pub(super) fn is_claimed(&self, unit: UnitIndex) -> bool {
        self.claims[unit.index()].last.is_some()
    }
}
