//! The owners of a partition over time, as far as the handled records show them.

use std::collections::BTreeMap;

use kafka_assigner_audit::Micros;

use super::{Handled, Who};

/// One change of hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    /// True if the new owner has another name.
    pub(super) is_move: bool,
    /// The time at which the new owner handled its first record.
    pub(super) at: Micros,
    /// From the last record of the old owner; zero where they overlap.
    pub(super) gap: Micros,
}

/// A time in which one process owned the partition: it skipped no record.
#[derive(Debug)]
struct Tenure {
    who: Who,
    first: Micros,
    last: Micros,
    next_offset: i64,
}

/// The changes of hands in what was handled of a partition, in the order of time. An owner that handled nothing is
/// passed over.
pub(super) fn changes(handled: &[Handled]) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut before: Option<(Who, Micros)> = None;
    for Tenure { who, first, last, .. } in tenures(handled) {
        let Some((old, old_last)) = before else {
            before = Some((who, last));
            continue;
        };
        if old != who {
            let is_move = old.name != who.name;
            changes.push(Change { is_move, at: first, gap: first.saturating_sub(old_last) });
        }
        before = Some((who, last.max(old_last)));
    }
    changes
}

/// By the time of their first record. While two owners overlap, their records alternate, so that the order of time
/// does not show who owns. But what a process skips, another one handled: there its tenure ends and a new one begins.
/// Going back, as a reader does whose commit came too late, is no end.
fn tenures(handled: &[Handled]) -> Vec<Tenure> {
    let mut tenures: Vec<Tenure> = Vec::new();
    let mut latest: BTreeMap<Who, usize> = BTreeMap::new();
    for record in handled {
        let next_offset = record.offset + 1;
        let running = latest.get(&record.by).map(|at| &mut tenures[*at]);
        if let Some(tenure) = running.filter(|tenure| record.offset <= tenure.next_offset) {
            tenure.last = record.at;
            tenure.next_offset = tenure.next_offset.max(next_offset);
            continue;
        }
        latest.insert(record.by, tenures.len());
        tenures.push(Tenure { who: record.by, first: record.at, last: record.at, next_offset });
    }
    tenures
}
