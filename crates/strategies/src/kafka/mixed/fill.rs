//! Giving away what no member owns.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::Group;
use super::TopicUnits;
use super::board::Board;
use crate::{MemberIndex, TopicIndex, UnitIndex};

/// The units of `topics` that no member owns.
pub(super) fn free(group: &Group, topics: &[TopicIndex], board: &Board) -> Vec<TopicUnits> {
    let of_topic = |topic: TopicIndex| group.units_of(topic).filter(|unit| board.owner(*unit).is_none());
    topics.iter().map(|topic| (*topic, of_topic(*topic).collect())).collect()
}

/// Gives `free` in order to the emptiest subscriber: `by_rack` first what has one nearby, to that.
pub(super) fn fill(group: &Group, board: &mut Board, free: &[TopicUnits], by_rack: bool) {
    if by_rack {
        for (topic, units) in free.iter().filter(|(_, units)| !units.is_empty()) {
            let mut takers = Takers::by_rack(group, board, *topic);
            units.iter().for_each(|unit| takers.give_nearby(group, board, *unit));
        }
    }
    for (topic, units) in free.iter().filter(|(_, units)| !units.is_empty()) {
        let mut takers = Takers::anywhere(group, board, *topic);
        for unit in units {
            if board.owner(*unit).is_none() {
                takers.give(board, *unit, 0);
            }
        }
    }
}

/// The subscribers of a topic, the emptiest first.
struct Takers {
    /// By rack plus one, those without any first; or all together.
    heaps: Vec<BinaryHeap<Reverse<(u32, MemberIndex)>>>,
}

impl Takers {
    fn anywhere(group: &Group, board: &Board, topic: TopicIndex) -> Self {
        Self::of(group, board, topic, 1, |_| 0)
    }

    fn by_rack(group: &Group, board: &Board, topic: TopicIndex) -> Self {
        let heap = |member| group.racks.of_member(member).map_or(0, |rack| rack.index() + 1);
        Self::of(group, board, topic, group.racks.count() + 1, heap)
    }

    fn of(
        group: &Group,
        board: &Board,
        topic: TopicIndex,
        heaps: usize,
        heap: impl Fn(MemberIndex) -> usize,
    ) -> Self {
        let mut lists = vec![Vec::new(); heaps];
        for member in &group.audience(topic).members {
            lists[heap(*member)].push(Reverse((board.load(*member), *member)));
        }
        Self { heaps: lists.into_iter().map(BinaryHeap::from).collect() }
    }

    fn give_nearby(&mut self, group: &Group, board: &mut Board, unit: UnitIndex) {
        let racks = group.racks.of_unit(unit).iter().map(|rack| rack.index() + 1);
        let emptiest = |heap: usize| Some((self.heaps[heap].peek()?.0, heap));
        if let Some((_, heap)) = racks.chain([0]).filter_map(emptiest).min() {
            self.give(board, unit, heap);
        }
    }

    /// Gives `unit` to the first of `heap`.
    fn give(&mut self, board: &mut Board, unit: UnitIndex, heap: usize) {
        let mut first = self.heaps[heap].peek_mut().expect("a served topic has subscribers");
        let Reverse((load, member)) = &mut *first;
        *load += 1;
        board.give(unit, *member);
    }
}
