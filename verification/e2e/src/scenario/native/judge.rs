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
    /// The wall clock, in milliseconds since 1970.
    pub(super) ts_ms: u64,
}

/// The time from which on a member owns a partition, and up to which.
type Ownership = (u64, u64);

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
/// handled only what it had. What it had in hands when it was lost may be handled after that, until it has the partition
/// again.
pub(super) fn are_in_order(events: &[MemberEvent]) -> bool {
    let (mut owned, mut lost) = (BTreeSet::new(), BTreeSet::new());
    events.iter().all(|event| {
        let mut partitions = event.partitions.iter();
        match event.event.as_str() {
            "assigned" => partitions.all(|partition| {
                lost.remove(partition);
                owned.insert(partition)
            }),
            "revoked" => partitions.all(|partition| owned.remove(partition)),
            "lost" => partitions.all(|partition| {
                lost.insert(partition);
                owned.remove(partition)
            }),
            "records" => partitions.all(|partition| owned.contains(partition) || lost.contains(partition)),
            // A static member that stops has its partitions back when it returns.
            "closed" => {
                owned.clear();
                lost.clear();
                true
            }
            _ => true,
        }
    })
}

/// True if no partition had two owners at a time. A time that ended with a loss does not count: others have the partition
/// before who lost it knows. `members` has the events of each.
pub(super) fn have_one_owner(members: &[Vec<MemberEvent>]) -> bool {
    let mut all: BTreeMap<(String, u32), Vec<Ownership>> = BTreeMap::new();
    for (partition, ownership) in members.iter().flat_map(|events| ownerships(events)) {
        all.entry(partition).or_default().push(ownership);
    }
    all.into_values().all(|mut times| {
        times.sort_unstable();
        times.windows(2).all(|pair| pair[0].1 <= pair[1].0)
    })
}

/// The times in which a member owned partitions, without those that ended with a loss.
fn ownerships(events: &[MemberEvent]) -> Vec<((String, u32), Ownership)> {
    let (mut open, mut over) = (BTreeMap::new(), Vec::new());
    for event in events {
        let mut ended: Vec<((String, u32), u64)> = Vec::new();
        match event.event.as_str() {
            "assigned" => {
                open.extend(event.partitions.iter().map(|partition| (partition.clone(), event.ts_ms)));
            }
            "lost" => open.retain(|partition, _| !event.partitions.contains(partition)),
            "revoked" => {
                ended.extend(event.partitions.iter().filter_map(|partition| open.remove_entry(partition)));
            }
            "closed" => ended.extend(std::mem::take(&mut open)),
            _ => {}
        }
        over.extend(ended.into_iter().map(|(partition, from)| (partition, (from, event.ts_ms))));
    }
    over.extend(open.into_iter().map(|(partition, from)| (partition, (from, u64::MAX))));
    over
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
        MemberEvent { event: event.to_owned(), partitions, offsets: None, ts_ms: 0 }
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
            vec![told("lost", &[0])],
            vec![told("assigned", &[0]), told("lost", &[0]), told("lost", &[0])],
        ];
        for events in bad {
            assert!(!are_in_order(&events), "{events:?}");
        }
    }

    #[test]
    fn a_loss_excuses_nothing_once_the_partition_is_owned_again() {
        let again =
            [told("assigned", &[0]), told("lost", &[0]), told("assigned", &[0]), told("revoked", &[0])];
        assert!(are_in_order(&again));
        assert!(!are_in_order(&[&again[..], &[records(0, 0, 0)]].concat()));
        let closed = [told("assigned", &[0]), told("lost", &[0]), told("closed", &[])];
        assert!(!are_in_order(&[&closed[..], &[records(0, 0, 0)]].concat()));
    }

    #[test]
    fn two_owners_at_a_time_are_seen_and_a_loss_is_no_ownership() {
        let at = |ts_ms, event| MemberEvent { ts_ms, ..told(event, &[0]) };
        let first = vec![at(1, "assigned"), at(5, "revoked")];
        assert!(have_one_owner(&[first.clone(), vec![at(5, "assigned")]]));
        assert!(!have_one_owner(&[first.clone(), vec![at(4, "assigned")]]));
        assert!(!have_one_owner(&[vec![at(1, "assigned")], first.clone()]), "one that never ended");
        let other = MemberEvent { ts_ms: 4, ..told("assigned", &[1]) };
        assert!(have_one_owner(&[first.clone(), vec![other]]));
        assert!(have_one_owner(&[vec![at(1, "assigned"), at(9, "lost")], vec![at(4, "assigned")]]));
        let closed = MemberEvent { ts_ms: 9, ..told("closed", &[]) };
        assert!(!have_one_owner(&[vec![at(1, "assigned"), closed], vec![at(4, "assigned")]]));
    }
}
