//! Where the units are that somebody has: [`Stretches`].

use std::ops::Range;

use crate::UnitIndex;

/// Units that follow each other, of many owners. Each owner's are chained, so that the last of them are found without
/// a look at what others have.
#[derive(Debug, Default)]
pub(super) struct Stretches(Vec<Stretch>);

#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: u32,
    end: u32,
    before: Tail,
}

/// The last stretch of one owner: its number plus one, or zero if there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tail(u32);

impl Stretches {
    /// Adds the units at `positions`, all of which come after those that end with `tail`.
    pub(super) fn append(&mut self, tail: &mut Tail, positions: Range<usize>) {
        let [first, end] = [positions.start, positions.end].map(in_u32);
        match self.last(*tail) {
            Some(last) if self.0[last].end == first => self.0[last].end = end,
            _ => {
                self.0.push(Stretch { first, end, before: *tail });
                *tail = Tail(in_u32(self.0.len()));
            }
        }
    }

    /// The units that end with `tail`, the last one first.
    pub(super) fn descending(&self, tail: Tail) -> impl Iterator<Item = UnitIndex> {
        let stretches = std::iter::successors(self.last(tail), |at| self.last(self.0[*at].before));
        let positions = stretches.flat_map(|at| (self.0[at].first..self.0[at].end).rev());
        positions.map(|position| UnitIndex::new(position as usize))
    }

    fn last(&self, tail: Tail) -> Option<usize> {
        (tail.0 as usize).checked_sub(1)
    }
}

fn in_u32(position: usize) -> u32 {
    u32::try_from(position).expect("units are counted in u32")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_come_first_whoever_has_what_is_between() {
        let (mut stretches, mut one, mut other) = (Stretches::default(), Tail::default(), Tail::default());
        stretches.append(&mut one, 0..2);
        stretches.append(&mut other, 2..4);
        stretches.append(&mut one, 4..5);
        stretches.append(&mut one, 5..7);
        let units = |tail| stretches.descending(tail).map(UnitIndex::index).collect::<Vec<_>>();
        assert_eq!((units(one), units(other)), (vec![6, 5, 4, 1, 0], vec![3, 2]));
        assert_eq!(units(Tail::default()), []);
        assert_eq!(stretches.0.len(), 3);
    }
}
