//! Who gets what: [`Assignment`].

use super::Group;
use crate::{MemberIndex, UnitIndex};

/// What each member of a [`Group`] gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    owned: Vec<Vec<UnitIndex>>,
    withheld: Vec<(UnitIndex, MemberIndex)>,
}

impl Assignment {
    /// By member what it gets, in Kafka's order.
    pub(super) fn new(owned: Vec<Vec<UnitIndex>>) -> Self {
        Self { owned, withheld: Vec::new() }
    }

    /// What `member` gets, in the order in which Kafka would list it.
    ///
    /// # Panics
    ///
    /// If there is no such member.
    pub fn of(&self, member: MemberIndex) -> &[UnitIndex] {
        &self.owned[member.index()]
    }

    /// What nobody gets yet, as somebody else may still work on it, each with the member that is
    /// to have it, ascending. Empty except for [`cooperative_sticky`](super::cooperative_sticky()),
    /// which gives it in the next rebalance.
    pub fn withheld(&self) -> &[(UnitIndex, MemberIndex)] {
        &self.withheld
    }

    /// By unit who gets it; `None` if nobody does, be it that it is withheld or not wanted.
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
