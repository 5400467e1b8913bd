//! Owners for what has none: the heaviest unit first, on the emptiest member.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::scales::{Level, LoosePool, Scales};
use crate::balanced::roles::MemberRole;
use crate::{MemberIndex, RackIndex, RackReader, UnitIndex};

/// Places the units of `pool`, the classes with the fewest takers first. Returns those that no member can take, and
/// that stay with who had them.
pub(super) fn place(scales: &mut Scales<'_>, mut pool: LoosePool) -> LoosePool {
    let takers: Vec<usize> =
        scales.classes.classes.iter().map(|class| scales.classes.takers(class).count()).collect();
    pool.sort_unstable_by_key(|(unit, _)| {
        let class = scales.class_of[unit.index()];
        (takers[class as usize], class, Reverse(scales.weight(*unit)), *unit)
    });
    let mut left = LoosePool::new();
    let mut current: Option<(u32, ClassTakers)> = None;
    let mut reader = RackReader::of(scales.problem);
    for (unit, keeper) in pool {
        let class = scales.class_of[unit.index()];
        if current.as_ref().is_none_or(|(of, _)| *of != class) {
            current = Some((class, ClassTakers::of(scales, class)));
        }
        let chosen = current.as_mut().and_then(|(_, takers)| takers.choose(scales, &mut reader, unit, class));
        scales.take(unit);
        if let Some(member) = chosen.or(keeper) {
            scales.put(unit, member);
        }
        if chosen.is_none() {
            left.push((unit, keeper));
        }
    }
    left
}

/// The members that take units of one class.
struct ClassTakers {
    /// Those of the newest generation, by rack (the last for all), and those of older ones.
    newest: Vec<Queue>,
    oldest: Queue,
}

impl ClassTakers {
    fn of(scales: &Scales<'_>, class: u32) -> Self {
        let racks = scales.problem.racks().len();
        let mut newest = vec![Queue::default(); racks + 1];
        let mut oldest = Queue::default();
        for member in scales.classes.takers(&scales.classes.classes[class as usize]) {
            if scales.roles.role(member) == MemberRole::TakesLast {
                oldest.enter(scales, member);
                continue;
            }
            newest[racks].enter(scales, member);
            if let Some(rack) = scales.problem.member(member).rack {
                newest[rack.index()].enter(scales, member);
            }
        }
        Self { newest, oldest }
    }

    /// The member that gets `unit`: its nearest standby or a member in one of its racks, if that stays within the
    /// target, else the emptiest.
    fn choose(
        &mut self,
        scales: &Scales<'_>,
        reader: &mut RackReader<'_>,
        unit: UnitIndex,
        class: u32,
    ) -> Option<MemberIndex> {
        let fits = |member: &MemberIndex| {
            let level = scales.level_of(*member, scales.carried(*member) + scales.weight(unit));
            level <= scales.target(*member).high(0)
        };
        let standbys = scales.problem.standbys(unit).iter().map(|standby| standby.member);
        let mut able = standbys.filter(|member| {
            scales.takes(*member, class)
                && scales.has_room(*member)
                && scales.roles.role(*member) == MemberRole::Takes
        });
        able.find(fits)
            .or_else(|| self.emptiest_near(scales, reader.racks(unit)).filter(fits))
            .or_else(|| self.newest.last_mut().expect("one for all").emptiest(scales))
            .or_else(|| self.oldest.emptiest(scales))
    }

    fn emptiest_near(&mut self, scales: &Scales<'_>, racks: &[RackIndex]) -> Option<MemberIndex> {
        let in_rack = racks.iter().filter_map(|rack| self.newest[rack.index()].emptiest(scales));
        in_rack.min_by_key(|member| (scales.level(*member), *member))
    }
}

/// Members by level, the emptiest first. Levels only rise, and are looked at again when their turn comes.
#[derive(Clone, Default)]
struct Queue(BinaryHeap<Reverse<(Level, MemberIndex)>>);

impl Queue {
    fn enter(&mut self, scales: &Scales<'_>, member: MemberIndex) {
        self.0.push(Reverse((scales.level(member), member)));
    }

    /// The emptiest that has room.
    fn emptiest(&mut self, scales: &Scales<'_>) -> Option<MemberIndex> {
        loop {
            let mut first = self.0.peek_mut()?;
            let Reverse((level, member)) = *first;
            if !scales.has_room(member) {
                std::collections::binary_heap::PeekMut::pop(first);
            } else if level < scales.level(member) {
                *first = Reverse((scales.level(member), member));
            } else {
                return Some(member);
            }
        }
    }
}
