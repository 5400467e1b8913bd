//! Runs of units with the same owner: [`OwnerRuns`].

use std::ops::Range;

use crate::UnitIndex;

/// Units that follow each other, of many owners. Each owner's are chained, so that the last of them are found without
/// a look at what others have.
#[derive(Debug, Default)]
pub(super) struct OwnerRuns(Vec<OwnerRun>);

#[derive(Clone, Copy, Debug)]
struct OwnerRun {
    first: u32,
    end: u32,
    before: LastRun,
}

/// The last run of one owner: its number plus one, or zero if there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastRun(u32);

impl OwnerRuns {
    /// Adds the units at `positions`, all of which come after those that end with `last_run`.
    pub(super) fn append(&mut self, last_run: &mut LastRun, positions: Range<usize>) {
        let [first, end] = [positions.start, positions.end].map(in_u32);
        match self.last(*last_run) {
            Some(last) if self.0[last].end == first => self.0[last].end = end,
            _ => {
                self.0.push(OwnerRun { first, end, before: *last_run });
                *last_run = LastRun(in_u32(self.0.len()));
            }
        }
    }

    /// The units that end with `last_run`, the last one first.
    pub(super) fn descending(&self, last_run: LastRun) -> impl Iterator<Item = UnitIndex> {
        let runs = std::iter::successors(self.last(last_run), |at| self.last(self.0[*at].before));
        let positions = runs.flat_map(|at| (self.0[at].first..self.0[at].end).rev());
        positions.map(|position| UnitIndex::new(position as usize))
    }

    fn last(&self, last_run: LastRun) -> Option<usize> {
        (last_run.0 as usize).checked_sub(1)
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
        let (mut runs, mut one, mut other) = (OwnerRuns::default(), LastRun::default(), LastRun::default());
        runs.append(&mut one, 0..2);
        runs.append(&mut other, 2..4);
        runs.append(&mut one, 4..5);
        runs.append(&mut one, 5..7);
        let units = |last_run| runs.descending(last_run).map(UnitIndex::index).collect::<Vec<_>>();
        assert_eq!((units(one), units(other)), (vec![6, 5, 4, 1, 0], vec![3, 2]));
        assert_eq!(units(LastRun::default()), []);
        assert_eq!(runs.0.len(), 3);
    }
}
