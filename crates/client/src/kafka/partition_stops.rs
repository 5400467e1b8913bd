//! The partitions of a runner that stand: pure.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};

use crate::status::StoppedPartition;

/// Those that stand, or will again once their state is built anew.
#[derive(Debug, Default)]
pub(super) struct PartitionStops(Mutex<BTreeMap<TopicPartition, StopsOfPartition>>);

/// A partition may stand under its grant, before a record, and then be kept from beginning again under the same grant: neither
/// ends the other.
#[derive(Debug, Default)]
struct StopsOfPartition {
    /// It can't begin.
    before_grant: Option<StoppedPartition>,
    under_grant: Option<GrantStop>,
}

#[derive(Debug)]
struct GrantStop {
    stopped: StoppedPartition,
    /// True if its handler could not end its work: then it stands before whatever comes, and there need be no record.
    is_of_drain: bool,
}

impl PartitionStops {
    fn stops(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, StopsOfPartition>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, at: &TopicPartition, change: impl FnOnce(&mut StopsOfPartition)) {
        let mut stops = self.stops();
        let of_partition = stops.entry(at.clone()).or_default();
        change(of_partition);
        if of_partition.before_grant.is_none() && of_partition.under_grant.is_none() {
            stops.remove(at);
        }
    }

    /// The partition stands: before its grant where it names no epoch, else under it.
    pub(super) fn note(&self, stopped: StoppedPartition) {
        let at = stopped.partition.clone();
        self.change(&at, |stops| {
            if stopped.epoch == Epoch::default() {
                stops.before_grant = Some(stopped);
            } else {
                stops.under_grant = Some(GrantStop { stopped, is_of_drain: false });
            }
        });
    }

    /// The partition stands, since its handler could not end its work: no record is begun under this epoch.
    pub(super) fn note_after_drain(&self, stopped: StoppedPartition) {
        let at = stopped.partition.clone();
        self.change(&at, |stops| stops.under_grant = Some(GrantStop { stopped, is_of_drain: true }));
    }

    /// True if the handler could not end its work under `epoch`, whatever became of its state since.
    pub(super) fn stands_after_drain(&self, at: &TopicPartition, epoch: Epoch) -> bool {
        let is_it = |stop: &GrantStop| stop.is_of_drain && stop.stopped.epoch == epoch;
        self.stops().get(at).and_then(|stops| stops.under_grant.as_ref()).is_some_and(is_it)
    }

    /// The handler has ended its work, or is to go on with it under another grant.
    pub(super) fn end_after_drain(&self, at: &TopicPartition) {
        self.change(at, |stops| drop(stops.under_grant.take_if(|stop| stop.is_of_drain)));
    }

    /// The partition does not stand here any more.
    pub(super) fn end(&self, at: &TopicPartition) {
        self.stops().remove(at);
    }

    /// The partition has its state, or begins: it does not stand before its grant any more.
    pub(super) fn end_before_grant(&self, at: &TopicPartition) {
        self.change(at, |stops| stops.before_grant = None);
    }

    /// Processing begins under `epoch`. One that stood under the same grant and was prepared again has to stand again; under
    /// another one it has its try.
    pub(super) fn end_of_other_grant(&self, at: &TopicPartition, epoch: Epoch) {
        self.change(at, |stops| {
            stops.before_grant = None;
            drop(stops.under_grant.take_if(|stop| stop.stopped.epoch != epoch));
        });
    }

    /// The reason for which the partition stood before the record at `offset` under the same grant.
    pub(super) fn reason(&self, at: &TopicPartition, epoch: Epoch, offset: Offset) -> Option<String> {
        let stops = self.stops();
        let GrantStop { stopped, .. } = stops.get(at)?.under_grant.as_ref()?;
        (stopped.offset == offset && stopped.epoch == epoch).then(|| stopped.reason.clone())
    }

    /// Each partition once, in their order: what keeps it from beginning, else what it stands before.
    pub(super) fn all(&self) -> Vec<StoppedPartition> {
        let shown = |stops: &StopsOfPartition| {
            let under_grant = stops.under_grant.as_ref().map(|stop| &stop.stopped);
            stops.before_grant.as_ref().or(under_grant).cloned()
        };
        self.stops().values().filter_map(shown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> TopicPartition {
        TopicPartition::try_from(("t", 0)).expect("a valid name")
    }

    fn stopped(epoch: u64, offset: i64) -> StoppedPartition {
        StoppedPartition {
            partition: at(),
            epoch: Epoch(epoch),
            offset: Offset::new(offset).expect("not negative"),
            reason: format!("because of {offset}"),
        }
    }

    #[test]
    fn what_keeps_a_partition_from_beginning_again_does_not_end_its_stop_under_the_grant() {
        let stops = PartitionStops::default();
        stops.note_after_drain(stopped(5, 7));
        stops.note(stopped(0, 3));
        assert_eq!(stops.all(), [stopped(0, 3)]);
        stops.end_before_grant(&at());
        assert_eq!(stops.all(), [stopped(5, 7)]);
        stops.end_of_other_grant(&at(), Epoch(5));
        assert!(stops.stands_after_drain(&at(), Epoch(5)));
        stops.end_of_other_grant(&at(), Epoch(6));
        assert_eq!((stops.all(), stops.stands_after_drain(&at(), Epoch(5))), (vec![], false));
    }

    #[test]
    fn a_record_is_stood_before_again_under_the_same_grant_alone() {
        let stops = PartitionStops::default();
        stops.note(stopped(5, 7));
        stops.note(stopped(0, 3));
        stops.end_before_grant(&at());
        let offset = stopped(5, 7).offset;
        assert_eq!(stops.reason(&at(), Epoch(5), offset), Some("because of 7".to_owned()));
        assert_eq!(stops.reason(&at(), Epoch(6), offset), None);
        stops.end_after_drain(&at());
        assert_eq!(stops.all(), [stopped(5, 7)], "it is none of a drain");
        stops.end(&at());
        assert_eq!(stops.all(), []);
    }
}
