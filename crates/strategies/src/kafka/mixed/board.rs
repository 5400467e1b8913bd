//! Owners of units while they are worked out.

use super::super::Group;
use super::super::claims::Claims;
use crate::{MemberIndex, UnitIndex};

/// A move, as it is to be undone.
struct LoggedMove {
    unit: UnitIndex,
    from: MemberIndex,
    was_logged: u32,
}

/// Owners by unit, loads by member, and in which order each came by what it has.
pub(super) struct Board {
    owner: Vec<Option<MemberIndex>>,
    load: Vec<u32>,
    /// Every unit each time that some member got it, in order.
    log: Vec<UnitIndex>,
    /// By unit, where in `log` it is for the last time.
    logged: Vec<u32>,
    moves: Vec<LoggedMove>,
}

impl Board {
    pub(super) fn new(group: &Group) -> Self {
        Self {
            owner: vec![None; group.units()],
            load: vec![0; group.members().len()],
            log: Vec::with_capacity(group.units()),
            logged: vec![0; group.units()],
            moves: Vec::new(),
        }
    }

    /// Leaves with members what they own, are subscribed to and, `by_rack`, is near; returns
    /// whether that made some member give anything.
    pub(super) fn keep(&mut self, group: &Group, claims: &Claims, by_rack: bool) -> bool {
        let mut must_give = false;
        for member in group.member_indices() {
            let class = group.class_of(member);
            for unit in group.claims_of(member) {
                if claims.owner(*unit) != Some(member) {
                    continue;
                }
                let may_keep =
                    class.wants(group.topic_of[unit.index()]) && (!by_rack || group.racks.fit(member, *unit));
                if may_keep {
                    self.give(*unit, member);
                }
                must_give |= !may_keep;
            }
        }
        must_give
    }

    pub(super) fn is_empty(&self) -> bool {
        self.log.is_empty()
    }

    pub(super) fn owner(&self, unit: UnitIndex) -> Option<MemberIndex> {
        self.owner[unit.index()]
    }

    pub(super) fn load(&self, member: MemberIndex) -> u32 {
        self.load[member.index()]
    }

    /// The number of moves so far.
    pub(super) fn moves(&self) -> usize {
        self.moves.len()
    }

    /// Gives `unit`, which has no owner, to `member`.
    pub(super) fn give(&mut self, unit: UnitIndex, member: MemberIndex) {
        self.owner[unit.index()] = Some(member);
        self.load[member.index()] += 1;
        self.logged[unit.index()] = u32::try_from(self.log.len()).expect("the log is bounded by moves");
        self.log.push(unit);
    }

    /// Moves `unit` from its owner to `member`.
    pub(super) fn move_to(&mut self, unit: UnitIndex, member: MemberIndex) {
        let from = self.owner[unit.index()].expect("only what has an owner moves");
        self.moves.push(LoggedMove { unit, from, was_logged: self.logged[unit.index()] });
        self.load[from.index()] -= 1;
        self.give(unit, member);
    }

    /// Undoes all moves.
    pub(super) fn undo_moves(&mut self) {
        while let Some(LoggedMove { unit, from, was_logged }) = self.moves.pop() {
            let to = self.owner[unit.index()].replace(from).expect("what moved has an owner");
            self.load[to.index()] -= 1;
            self.load[from.index()] += 1;
            self.logged[unit.index()] = was_logged;
            self.log.pop();
        }
    }

    /// By member what it has, in the order in which it got it.
    pub(super) fn into_lists(self) -> Vec<Vec<UnitIndex>> {
        let with_room = |load: &u32| Vec::with_capacity(*load as usize);
        let mut lists: Vec<_> = self.load.iter().map(with_room).collect();
        for (unit, at) in self.log.iter().zip(0..) {
            if let Some(owner) = self.owner[unit.index()].filter(|_| self.logged[unit.index()] == at) {
                lists[owner.index()].push(*unit);
            }
        }
        lists
    }
}
