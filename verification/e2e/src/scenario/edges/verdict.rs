//! The fate of each record, from the log and from the notes.

use std::collections::{BTreeMap, BTreeSet};

use super::notes::{EdgeDeed, EdgeNote, EdgeState};
use super::report::EdgeCase;

/// The records of a partition: their ids, by offset.
type Log = BTreeMap<i64, u64>;

/// A record: its partition and its offset.
pub(super) type Place = (u32, i64);

/// The records in the logs of a topic, and what has to become of them.
#[derive(Debug, Clone)]
pub(super) struct Truth {
    logs: BTreeMap<u32, Log>,
    /// The offsets at which logs begin, or have begun: 0, and each offset to which retention has come.
    beginnings: BTreeSet<i64>,
    /// The ids of records that nobody can handle.
    poison: BTreeSet<u64>,
}

impl Default for Truth {
    fn default() -> Self {
        Self { logs: BTreeMap::new(), beginnings: BTreeSet::from([0]), poison: BTreeSet::new() }
    }
}

impl Truth {
    /// With more records.
    pub(super) fn add(&mut self, logs: BTreeMap<u32, Log>) {
        for (partition, log) in logs {
            self.logs.entry(partition).or_default().extend(log);
        }
    }

    /// With logs that begin at `offset` from now on.
    pub(super) fn begins_at(&mut self, offset: i64) {
        self.beginnings.insert(offset);
    }

    /// Nobody can handle the record at a place; returns its id.
    pub(super) fn poison(&mut self, (partition, offset): Place) -> Option<u64> {
        let id = *self.logs.get(&partition)?.get(&offset)?;
        self.poison.insert(id);
        Some(id)
    }

    /// The poisoned records can be handled after all.
    pub(super) fn heal(&mut self) {
        self.poison.clear();
    }

    /// The least end of all logs: the offset after the last record.
    pub(super) fn end(&self) -> i64 {
        let ends = self.logs.values().map(|log| log.last_key_value().map_or(0, |(offset, _)| offset + 1));
        ends.min().unwrap_or(0)
    }

    /// The number of records that can be handled, and were neither handled nor told as gone.
    pub(super) fn missing(&self, notes: &[EdgeNote]) -> usize {
        let (handled, gaps) = (times(notes), Gaps::of(notes));
        let records = self.records().filter(|(at, id)| !self.poison.contains(id) && !gaps.has(*at));
        records.filter(|(_, id)| !handled.contains_key(id)).count()
    }

    fn records(&self) -> impl Iterator<Item = (Place, u64)> {
        let of = |(partition, log): (&u32, &Log)| {
            let partition = *partition;
            log.clone().into_iter().map(move |(offset, id)| ((partition, offset), id))
        };
        self.logs.iter().flat_map(of)
    }

    /// The figures of the case `name`, of which these places are in the dead-letter topic.
    pub(super) fn judge(
        &self,
        name: &'static str,
        notes: &[EdgeNote],
        letters: &BTreeSet<Place>,
    ) -> EdgeCase {
        let (handled, gaps) = (times(notes), Gaps::of(notes));
        let unhandled: Vec<_> = self.records().filter(|(_, id)| !handled.contains_key(id)).collect();
        let (gone, rest): (Vec<_>, Vec<_>) = unhandled.into_iter().partition(|(at, _)| gaps.has(*at));
        let (buried, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(at, _)| letters.contains(at));
        let passed = rest.iter().filter(|(_, id)| self.poison.contains(id)).count().min(skipped(notes));
        let ids: BTreeSet<u64> = self.records().map(|(_, id)| id).collect();
        EdgeCase {
            lost: rest.len() - passed,
            duplicated: handled.values().filter(|times| **times > 1).count(),
            gaps_told: gone.len(),
            skipped: passed,
            dead_lettered: buried.len(),
            state_mismatches: self.wrong_states(notes, &gaps),
            strangers: handled.keys().filter(|id| !ids.contains(id)).count(),
            ..EdgeCase::named(name)
        }
    }

    /// The number of states that are not what the log amounts to.
    fn wrong_states(&self, notes: &[EdgeNote], gaps: &Gaps) -> usize {
        let mut right = BTreeMap::new();
        let states = notes.iter().filter_map(|note| match note.deed {
            EdgeDeed::Handled { partition, offset, state, .. } => Some((partition, offset, state)),
            _ => None,
        });
        let is_wrong = |(partition, offset, state): &(u32, i64, EdgeState)| {
            let Some(first) = state.first else { return true };
            let of =
                right.entry((*partition, first)).or_insert_with(|| self.states((*partition, first), gaps));
            of.get(offset) != Some(state)
        };
        states.filter(is_wrong).count()
    }

    /// The states of a partition that was read from `first` on, by the offset of the last record; none where no log has
    /// begun there.
    fn states(&self, (partition, first): Place, gaps: &Gaps) -> BTreeMap<i64, EdgeState> {
        let Some(log) = self.logs.get(&partition) else { return BTreeMap::new() };
        let begins = |from: &i64| log.range(*from..).next().is_some_and(|(offset, _)| *offset == first);
        if !self.beginnings.iter().any(begins) {
            return BTreeMap::new();
        }
        let mut state = EdgeState::default();
        let there = log.range(first..).filter(|(offset, _)| !gaps.has((partition, **offset)));
        let after = |(offset, id): (&i64, &u64)| {
            state.count(*offset);
            state.digest(*id);
            (*offset, state)
        };
        there.map(after).collect()
    }
}

/// The gaps that were told.
struct Gaps(Vec<(u32, i64, i64)>);

impl Gaps {
    fn of(notes: &[EdgeNote]) -> Self {
        let gap = |note: &EdgeNote| match note.deed {
            EdgeDeed::Gap { partition, from, to } => Some((partition, from, to)),
            _ => None,
        };
        Self(notes.iter().filter_map(gap).collect())
    }

    fn has(&self, (partition, offset): Place) -> bool {
        self.0.iter().any(|(of, from, to)| *of == partition && (*from..*to).contains(&offset))
    }
}

/// The number of times that each record was handled.
fn times(notes: &[EdgeNote]) -> BTreeMap<u64, usize> {
    let mut times = BTreeMap::new();
    for note in notes {
        if let EdgeDeed::Handled { id, .. } = note.deed {
            *times.entry(id).or_default() += 1;
        }
    }
    times
}

/// The number of records that the runners of all processes have passed over.
fn skipped(notes: &[EdgeNote]) -> usize {
    let mut last = BTreeMap::new();
    for note in notes {
        if let EdgeDeed::Counted { skipped, .. } = note.deed {
            last.insert(&note.process, skipped);
        }
    }
    usize::try_from(last.values().sum::<u64>()).unwrap_or(usize::MAX)
}

#[cfg(test)]
#[path = "verdict_test.rs"]
mod verdict_test;
