//! The number of slots that each member should have: [`Seat`].

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::{MemberIndex, Problem};

/// A member at the table where the slots of one set are shared out, as owner or as standby.
///
/// Its fair share is the set's slots in proportion to capacity. Any count from that share rounded
/// down to that share rounded up is equally good; outside of that, each further slot is worse than
/// the one before. Among what is equally good, what the member has over all sets decides.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) member: MemberIndex,
    /// The number of slots of the set that it has.
    pub(super) count: u32,
    /// The number of units that it has over all sets.
    pub(super) load: u32,
    /// The most units it may come to have.
    limit: u32,
    /// The number of its slots that it can give.
    pub(super) movable: u32,
    capacity: u32,
    /// Its share, rounded down and up.
    low: u32,
    high: u32,
}

/// The change of the balance by a slot more or less. Each of them is the numerator of a fraction over the member's
/// capacity: the amount that a slot adds to (distance from the fair share)² ÷ capacity, and to (units)² ÷ capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotCost {
    over_limit: bool,
    share: i64,
    total: i64,
    capacity: u32,
}

impl Ord for SlotCost {
    fn cmp(&self, other: &Self) -> Ordering {
        let fractions = |a: i64, b: i64| (a * i64::from(other.capacity)).cmp(&(b * i64::from(self.capacity)));
        let over = self.over_limit.cmp(&other.over_limit);
        let share = over.then_with(|| fractions(self.share, other.share));
        share.then_with(|| fractions(self.total, other.total))
    }
}

impl PartialOrd for SlotCost {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Seat {
    /// The seat of `member`, which has `load` units and may come to have `limit`; none of this set
    /// yet, and as if any number of its slots were a fair share.
    pub(super) fn new(problem: &Problem, member: MemberIndex, load: u32, limit: u32) -> Self {
        let capacity = problem.member(member).capacity.thousandths();
        Self { member, count: 0, load, limit, movable: 0, capacity, low: 0, high: u32::MAX }
    }

    /// The cost of taking a slot of `size` units; `None` if there is no room.
    pub(super) fn takes(&self, size: u32) -> Option<SlotCost> {
        let total = 2 * i64::from(self.load) + i64::from(size);
        (self.room(size) > 0).then(|| self.cost(false, self.beyond(self.count), total))
    }

    /// The gain of giving a slot of `size` units; `None` if it has none that it can give.
    pub(super) fn gives(&self, size: u32) -> Option<SlotCost> {
        let over_limit = self.load > self.limit;
        let total = 2 * i64::from(self.load) - i64::from(size);
        (self.movable > 0).then(|| self.cost(over_limit, self.beyond(self.count - 1), total))
    }

    fn cost(&self, over_limit: bool, share: i64, total: i64) -> SlotCost {
        SlotCost { over_limit, share, total, capacity: self.capacity }
    }

    /// The difference that one slot above `count` makes to the square of the distance to the share.
    fn beyond(&self, count: u32) -> i64 {
        let [count, low, high] = [count, self.low, self.high].map(i64::from);
        if count < low {
            1 - 2 * (low - count)
        } else if count < high {
            0
        } else {
            2 * (count - high) + 1
        }
    }

    fn room(&self, size: u32) -> u32 {
        self.limit.saturating_sub(self.load) / size
    }

    fn take(&mut self, size: u32, slots: u32) {
        self.count += slots;
        self.load += size * slots;
        self.movable += slots;
    }

    pub(super) fn take_one(&mut self, size: u32) {
        self.take(size, 1);
    }

    pub(super) fn give_one(&mut self, size: u32) {
        self.count -= 1;
        self.load -= size;
        self.movable -= 1;
    }
}

/// Gives each seat its fair share of `slots`.
pub(super) fn share(seats: &mut [Seat], slots: u32) {
    let all: u64 = seats.iter().map(|seat| u64::from(seat.capacity)).sum();
    for seat in seats {
        let (slots, capacity) = (u64::from(slots), u64::from(seat.capacity));
        let rounded = |share: u64| u32::try_from(share).expect("a share is less than the whole");
        seat.low = rounded(slots * capacity / all);
        seat.high = rounded((slots * capacity).div_ceil(all));
    }
}

/// Shares out as many of `free` slots of `size` units as there is room for; returns how many.
pub(super) fn fill(seats: &mut [Seat], size: u32, free: u32) -> u32 {
    let lacks = |seat: &Seat| seat.low.saturating_sub(seat.count).min(seat.room(size));
    let mut left = free;
    // Below its share a slot costs less than above any, so the heap would give these first as well.
    if seats.iter().map(lacks).sum::<u32>() <= left {
        for seat in seats.iter_mut() {
            let slots = lacks(seat);
            left -= slots;
            seat.take(size, slots);
        }
    }
    let mut takers: BinaryHeap<_> =
        (0..seats.len()).filter_map(|at| Some(Reverse((seats[at].takes(size)?, at)))).collect();
    while left > 0
        && let Some(Reverse((_, at))) = takers.pop()
    {
        left -= 1;
        seats[at].take_one(size);
        takers.extend(seats[at].takes(size).map(|cost| Reverse((cost, at))));
    }
    free - left
}

/// Lets slots of `size` units pass from who gains most to whom it costs least, until nothing gains
/// more than it costs. Takes the fewest passes that end there.
pub(super) fn level(seats: &mut [Seat], size: u32) {
    let mut table = SeatQueues { givers: BinaryHeap::new(), takers: BinaryHeap::new() };
    (0..seats.len()).for_each(|at| table.enter(seats, size, at));
    while let Some((from, to)) = table.pair(seats, size) {
        seats[from].give_one(size);
        seats[to].take_one(size);
        table.enter(seats, size, from);
        table.enter(seats, size, to);
    }
}

/// Members that give and members that take, by cost. Entries that are no longer those of their seat are skipped.
struct SeatQueues {
    givers: BinaryHeap<(SlotCost, Reverse<usize>)>,
    takers: BinaryHeap<Reverse<(SlotCost, usize)>>,
}

impl SeatQueues {
    fn enter(&mut self, seats: &[Seat], size: u32, at: usize) {
        self.givers.extend(seats[at].gives(size).map(|cost| (cost, Reverse(at))));
        self.takers.extend(seats[at].takes(size).map(|cost| Reverse((cost, at))));
    }

    /// The best giver and the best taker, taken out, if what the one gains is more than the other's
    /// cost.
    fn pair(&mut self, seats: &[Seat], size: u32) -> Option<(usize, usize)> {
        while self.givers.peek().is_some_and(|(cost, Reverse(at))| seats[*at].gives(size) != Some(*cost)) {
            self.givers.pop();
        }
        while self.takers.peek().is_some_and(|Reverse((cost, at))| seats[*at].takes(size) != Some(*cost)) {
            self.takers.pop();
        }
        let (gain, Reverse(from)) = self.givers.peek()?;
        let Reverse((cost, to)) = self.takers.peek()?;
        let pair = (*from, *to);
        (gain > cost).then(|| {
            self.givers.pop();
            self.takers.pop();
            pair
        })
    }
}
