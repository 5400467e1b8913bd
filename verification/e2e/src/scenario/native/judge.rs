//! The judgement over the events of members; pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// An event as a member tells it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct MemberEvent {
    pub(super) event: String,
    pub(super) partitions: Vec<(String, u32)>,
    /// The first and the last offset of records. Producers make no gaps here.
    #[serde(default)]
    pub(super) offsets: Option<(i64, i64)>,
}

/// The outcome for records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Handled {
    /// Records that nobody handled.
    pub(super) lost: usize,
    /// Times that a record was handled beside the first.
    pub(super) duplicated: usize,
}

/// The partitions that a member owns after its events.
pub(super) fn owned(events: &[MemberEvent]) -> BTreeSet<(String, u32)> {
    let mut owned = BTreeSet::new();
    for event in events {
        match event.event.as_str() {
            "assigned" => owned.extend(event.partitions.iter().cloned()),
            "revoked" | "lost" => owned.retain(|partition| !event.partitions.contains(partition)),
            "closed" => owned.clear(),
            _ => {}
        }
    }
    owned
}

/// The number of callbacks.
pub(super) fn callbacks(events: &[MemberEvent]) -> usize {
    events.iter().filter(|event| matches!(event.event.as_str(), "assigned" | "revoked" | "lost")).count()
}

/// True if partitions were lost.
pub(super) fn has_lost(events: &[MemberEvent]) -> bool {
    events.iter().any(|event| event.event == "lost" && !event.partitions.is_empty())
}

/// True if a member was told of partitions in order: assigned only what it had not, revoked and lost only what it had, and
/// handled only what it had. What it had in hands when it was lost may be handled after that.
pub(super) fn are_in_order(events: &[MemberEvent]) -> bool {
    let (mut owned, mut lost) = (BTreeSet::new(), BTreeSet::new());
    events.iter().all(|event| {
        let mut partitions = event.partitions.iter();
        match event.event.as_str() {
            "assigned" => partitions.all(|partition| owned.insert(partition)),
            "revoked" => partitions.all(|partition| owned.remove(partition)),
            "lost" => partitions.all(|partition| lost.insert(partition) | owned.remove(partition)),
            "records" => partitions.all(|partition| owned.contains(partition) || lost.contains(partition)),
            // A static member that stops has its partitions back when it returns.
            "closed" => {
                owned.clear();
                true
            }
            _ => true,
        }
    })
}

/// Counts what was handled of the records before `ends`, by partition.
pub(super) fn handled(events: &[MemberEvent], ends: &BTreeMap<i32, i64>) -> Handled {
    let mut times: BTreeMap<(u32, i64), usize> = BTreeMap::new();
    for event in events.iter().filter(|event| event.event == "records") {
        let (Some((_, partition)), Some((first, last))) = (event.partitions.first(), event.offsets) else {
            continue;
        };
        for offset in first..=last {
            *times.entry((*partition, offset)).or_default() += 1;
        }
    }
    let all =
        ends.iter().flat_map(|(partition, end)| (0..*end).map(|offset| (partition.unsigned_abs(), offset)));
    Handled {
        lost: all.filter(|record| !times.contains_key(record)).count(),
        duplicated: times.values().map(|times| times - 1).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(event: &str, partitions: &[u32]) -> MemberEvent {
        let partitions = partitions.iter().map(|partition| ("t".to_owned(), *partition)).collect();
        MemberEvent { event: event.to_owned(), partitions, offsets: None }
    }

    fn records(partition: u32, first: i64, last: i64) -> MemberEvent {
        MemberEvent { offsets: Some((first, last)), ..told("records", &[partition]) }
    }

    #[test]
    fn a_record_nobody_handled_is_lost_and_one_handled_twice_is_duplicated() {
        let events = [records(0, 0, 3), records(0, 3, 4), records(1, 1, 1)];
        assert_eq!(handled(&events, &[(0, 6), (1, 2)].into()), Handled { lost: 2, duplicated: 1 });
        assert_eq!(handled(&events[..1], &[(0, 4)].into()), Handled { lost: 0, duplicated: 0 });
    }

    #[test]
    fn callbacks_out_of_order_are_seen() {
        let good = [
            told("assigned", &[0, 1]),
            records(0, 0, 0),
            told("revoked", &[0]),
            told("assigned", &[]),
            told("lost", &[1]),
            records(1, 0, 0),
            told("assigned", &[0]),
        ];
        assert!(are_in_order(&good));
        assert_eq!((owned(&good), callbacks(&good)), ([("t".to_owned(), 0)].into(), 5));
        let bad = [
            vec![told("assigned", &[0]), told("assigned", &[0])],
            vec![told("revoked", &[0])],
            vec![told("assigned", &[0]), told("revoked", &[0]), records(0, 0, 0)],
            vec![records(0, 0, 0)],
        ];
        assert!(bad.iter().all(|events| !are_in_order(events)));
    }
}
