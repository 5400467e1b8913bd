//! Units by member: [`GroupAssignment`].

use super::Group;
use crate::{MemberIndex, UnitIndex};

/// The units that each member of a [`Group`] gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupAssignment {
    owned: Vec<Vec<UnitIndex>>,
    withheld: Vec<(UnitIndex, MemberIndex)>,
}

impl GroupAssignment {
    /// By member what it gets, in Kafka's order.
    pub(super) fn new(owned: Vec<Vec<UnitIndex>>) -> Self {
        Self { owned, withheld: Vec::new() }
    }

    /// The units that `member` gets, in the order in which Kafka would list them.
    ///
    /// # Panics
    ///
    /// If there is no such member.
    pub fn of(&self, member: MemberIndex) -> &[UnitIndex] {
        &self.owned[member.index()]
    }

    /// The units that no member gets yet, as their owners may still work on them, each with the member that is to have
    /// it, ascending. Empty except for [`cooperative_sticky`](super::cooperative_sticky()), which gives them in the
    /// next rebalance.
    pub fn withheld(&self) -> &[(UnitIndex, MemberIndex)] {
        &self.withheld
    }

    /// By unit who gets it; `None` if no member does, be it that it is withheld or not wanted.
    pub fn owners(&self, group: &Group) -> Vec<Option<MemberIndex>> {
        let mut owners = vec![None; group.units()];
        for member in group.member_indices() {
            self.of(member).iter().for_each(|unit| owners[unit.index()] = Some(member));
        }
        owners
    }

    /// Takes away from each member what `withhold` says.
    pub(super) fn withhold(&mut self, withhold: impl Fn(UnitIndex, MemberIndex) -> bool) {
        for (at, owned) in self.owned.iter_mut().enumerate() {
            let member = MemberIndex::new(at);
            let withheld = owned.extract_if(.., |unit| withhold(*unit, member));
            self.withheld.extend(withheld.map(|unit| (unit, member)));
        }
        self.withheld.sort_unstable();
    }
}
