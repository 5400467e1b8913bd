//! The result of a group's histories: pure.
//!
//! | number | what it means |
//! | --- | --- |
//! | moved | partitions that went to a member of another name, each counted once |
//! | moves | how often that was |
//! | gap | from the last record of the old owner to the first of the new one; zero where they overlap. A member that comes back under its name is a new owner too: nothing moves, and yet there is a gap |
//! | first record | from what was done to the first record of the new owner |
//! | duplicated | times that a record was handled which somebody had handled before |
//! | lost | records that nobody handled |
//! | stall | the longest wait for a record of a partition that kept its owner |
//! | unowned | the sum of all gaps |
//!
//! Everything between an event's beginning and its end counts for it. Start reading at [`Audit`].

mod partition;
mod tenure;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_audit::{Micros, Spread};

use self::partition::Partition;

/// A process of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Who {
    /// The number of its name, under which there may have been another process before.
    pub(crate) name: usize,
    /// Its own number.
    pub(crate) process: usize,
}

/// A record that was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handled {
    pub(crate) at: Micros,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) by: Who,
}

/// Something that was done to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// The time at which it was done.
    pub(crate) at: Micros,
    /// The time at which everything had settled.
    pub(crate) until: Micros,
}

impl Step {
    fn contains(&self, moment: Micros) -> bool {
        (self.at..=self.until).contains(&moment)
    }
}

/// The history of each partition of a group from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Audit(BTreeMap<i32, Partition>);

/// The results of an event.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Figures {
    pub(crate) moved: usize,
    pub(crate) moves: usize,
    /// The moves of the partition that moved most often.
    pub(crate) most_moves: usize,
    pub(crate) gaps: Spread,
    pub(crate) first_records: Spread,
    pub(crate) duplicated: usize,
    pub(crate) lost: usize,
    pub(crate) stalls: Spread,
    pub(crate) unowned: Duration,
}

impl Audit {
    /// Audits what was handled, in any order; `ends` tells what was produced. Records before the first one that was
    /// handled of a partition do not count.
    pub(crate) fn of(mut handled: Vec<Handled>, ends: &BTreeMap<i32, i64>) -> Self {
        handled.sort_by_key(|record| record.at);
        let mut partitions: BTreeMap<i32, Vec<Handled>> = BTreeMap::new();
        for record in handled {
            partitions.entry(record.partition).or_default().push(record);
        }
        let audit = |(partition, handled): (i32, Vec<Handled>)| {
            let end = ends.get(&partition).copied().unwrap_or_default();
            (partition, Partition::of(&handled, end))
        };
        Self(partitions.into_iter().map(audit).collect())
    }

    /// Adds up an event, which may have many steps, in their order.
    pub(crate) fn of_event(&self, steps: &[Step]) -> Figures {
        let (mut gaps, mut first_records, mut stalls) = (Vec::new(), Vec::new(), Vec::new());
        let mut figures = Figures::default();
        for partition in self.0.values() {
            let changes = partition.changes_in(steps);
            for (step, change) in &changes {
                gaps.push(change.gap);
                first_records.push(change.at - step.at);
            }
            if changes.is_empty() {
                stalls.push(steps.iter().map(|step| partition.longest_wait(step)).max().unwrap_or_default());
            }
            let moves = changes.iter().filter(|(_, change)| change.is_move).count();
            figures.moved += usize::from(moves > 0);
            figures.moves += moves;
            figures.most_moves = figures.most_moves.max(moves);
            figures.duplicated += count(&partition.twice, steps);
            figures.lost += count(&partition.lost, steps);
        }
        figures.unowned = Duration::from_micros(gaps.iter().sum());
        (figures.gaps, figures.first_records) = (Spread::of(gaps), Spread::of(first_records));
        Figures { stalls: Spread::of(stalls), ..figures }
    }
}

fn count(moments: &[Micros], steps: &[Step]) -> usize {
    moments.iter().filter(|moment| steps.iter().any(|step| step.contains(**moment))).count()
}
