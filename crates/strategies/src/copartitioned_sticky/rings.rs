//! In what order members are asked to be standby: [`Rings`].

use std::collections::BinaryHeap;

use crate::{MemberIndex, Problem, RackIndex};

/// The seats that are to take standbys, a ring for each rack, and one for members whose rack is
/// unknown.
///
/// The rack that still has most to take goes first, so that none is left over in the end.
#[derive(Debug)]
pub(super) struct Rings {
    rings: Vec<Ring>,
    /// Every ring with what its seats have still to take.
    heap: BinaryHeap<(u32, usize)>,
    /// By seat: how many slots it has still to take.
    lacks: Vec<u32>,
    /// Entries that were taken out of the heap during a search.
    passed_over: Vec<(u32, usize)>,
}

#[derive(Debug)]
struct Ring {
    rack: Option<RackIndex>,
    seats: Vec<usize>,
    /// By place: itself while its seat has something to take, otherwise a later place; the number of
    /// seats stands for none. Followed to the end it leads to the next seat that takes.
    next: Vec<usize>,
}

impl Rings {
    /// The rings of the seats of `members`, where `lacks` says by seat how many slots it is to take.
    pub(super) fn new(problem: &Problem, members: &[MemberIndex], lacks: Vec<u32>) -> Self {
        let rack = |seat: &usize| problem.member(members[*seat]).rack;
        let mut seats: Vec<usize> = (0..members.len()).collect();
        seats.sort_by_key(rack);
        let ring = |seats: &[usize]| Ring {
            rack: rack(&seats[0]),
            seats: seats.to_vec(),
            next: (0..seats.len())
                .map(|place| if lacks[seats[place]] > 0 { place } else { place + 1 })
                .collect(),
        };
        let rings: Vec<_> = seats.chunk_by(|a, b| rack(a) == rack(b)).map(ring).collect();
        let left = |ring: &Ring| ring.seats.iter().map(|seat| lacks[*seat]).sum();
        let heap = rings.iter().map(left).zip(0..).collect();
        Self { rings, heap, lacks, passed_over: Vec::new() }
    }

    /// The number of rings.
    pub(super) fn len(&self) -> usize {
        self.rings.len()
    }

    /// Takes one from a seat that is `allowed`: in a rack that is not among `used` if there is one,
    /// and there from a place on that `turn` decides.
    pub(super) fn pick(
        &mut self,
        turn: usize,
        used: &[RackIndex],
        allowed: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let is_fresh = |rack: Option<RackIndex>| rack.is_none_or(|rack| !used.contains(&rack));
        self.pick_where(turn, is_fresh, &allowed).or_else(|| self.pick_where(turn, |_| true, &allowed))
    }

    fn pick_where(
        &mut self,
        turn: usize,
        rack: impl Fn(Option<RackIndex>) -> bool,
        allowed: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let mut found = None;
        while found.is_none()
            && let Some((left, at)) = self.heap.pop()
        {
            let ring = &mut self.rings[at];
            found = if rack(ring.rack) { ring.find(turn, &allowed) } else { None };
            self.passed_over.push((left - u32::from(found.is_some()), at));
            if let Some(place) = found {
                found = Some(ring.seats[place]);
                self.lacks[ring.seats[place]] -= 1;
                ring.next[place] += usize::from(self.lacks[ring.seats[place]] == 0);
            }
        }
        self.heap.extend(self.passed_over.drain(..));
        found
    }
}

impl Ring {
    /// The first place from `turn` on, all around, whose seat takes and is allowed.
    fn find(&mut self, turn: usize, allowed: impl Fn(usize) -> bool) -> Option<usize> {
        let start = turn % self.seats.len();
        self.find_in(start, self.seats.len(), &allowed).or_else(|| self.find_in(0, start, &allowed))
    }

    fn find_in(&mut self, start: usize, end: usize, allowed: impl Fn(usize) -> bool) -> Option<usize> {
        let mut place = self.next_from(start);
        while place < end {
            if allowed(self.seats[place]) {
                return Some(place);
            }
            place = self.next_from(place + 1);
        }
        None
    }

    /// The next place at or after `place` whose seat takes. Shortens the way for who comes after.
    fn next_from(&mut self, mut place: usize) -> usize {
        while place < self.next.len() && self.next[place] != place {
            let next = self.next[place];
            if next < self.next.len() {
                self.next[place] = self.next[next];
            }
            place = next;
        }
        place
    }
}
