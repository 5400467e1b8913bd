//! Who owns what when several say so.

use super::Group;
use crate::{MemberIndex, UnitIndex};

/// What the claims on one unit come to.
#[derive(Clone, Copy, Debug, Default)]
struct Claim {
    /// Who claimed it last, of those that had to be heard.
    last: Option<MemberIndex>,
    /// Whether it is nobody's, as `last` and another claimed it in one generation.
    is_nobodys: bool,
    /// Whether that was ever so, even if a later generation settled it.
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
            claim.is_nobodys = newer == older;
            claim.was_contested |= newer == older;
        }
    }

    /// The member whose claim counts.
    pub(super) fn owner(&self, unit: UnitIndex) -> Option<MemberIndex> {
        let claim = self.claims[unit.index()];
        claim.last.filter(|_| !claim.is_nobodys)
    }

    /// The same, but nobody if two ever claimed it in one generation.
    pub(super) fn uncontested(&self, unit: UnitIndex) -> Option<MemberIndex> {
        let claim = self.claims[unit.index()];
        claim.last.filter(|_| !claim.was_contested)
    }

    /// Whether anybody says that it owns `unit`.
    pub(super) fn is_claimed(&self, unit: UnitIndex) -> bool {
        self.claims[unit.index()].last.is_some()
    }
}
