//! The partitions of a runner that stand: pure.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};

use crate::status::StoppedPartition;

/// Those that stand, or will again once their state is built anew.
#[derive(Debug, Default)]
pub(super) struct PartitionStops(Mutex<BTreeMap<TopicPartition, StopsOfPartition>>);

/// A partition may stand under its grant, before a record or since its handler could not end its work, and then be kept from
/// beginning again under the same grant: none of them ends another.
#[derive(Debug, Default)]
struct StopsOfPartition {
    /// It can't begin.
    before_grant: Option<StoppedPartition>,
    /// Its handler could not end its work: it stands before whatever comes, and there need be no record.
    after_drain: Option<StoppedPartition>,
    before_record: Option<StoppedPartition>,
}

impl StopsOfPartition {
    /// The one to show: it has to end first. Of a drain and a record at the same offset the record, which has failed.
    fn first(&self) -> Option<&StoppedPartition> {
        let of_record = |drain: &&StoppedPartition| {
            self.before_record.as_ref().is_some_and(|record| record.offset == drain.offset)
        };
        let after_drain = self.after_drain.as_ref().filter(|drain| !of_record(drain));
        self.before_grant.as_ref().or(after_drain).or(self.before_record.as_ref())
    }
}

impl PartitionStops {
    fn stops(&self) -> MutexGuard<'_, BTreeMap<TopicPartition, StopsOfPartition>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, at: &TopicPartition, change: impl FnOnce(&mut StopsOfPartition)) {
        let mut stops = self.stops();
        let of_partition = stops.entry(at.clone()).or_default();
        change(of_partition);
        if of_partition.first().is_none() {
            stops.remove(at);
        }
    }

    /// The partition stands: before its grant where it names no epoch, else under it.
    pub(super) fn note(&self, stopped: StoppedPartition) {
        let at = stopped.partition.clone();
        self.change(&at, |stops| {
            let place = match stopped.epoch == Epoch::default() {
                true => &mut stops.before_grant,
                false => &mut stops.before_record,
            };
            *place = Some(stopped);
        });
    }

    /// The partition stands, since its handler could not end its work: no record is begun under this epoch.
    pub(super) fn note_after_drain(&self, stopped: StoppedPartition) {
        let at = stopped.partition.clone();
        self.change(&at, |stops| stops.after_drain = Some(stopped));
    }

    /// True if the handler could not end its work under `epoch`, whatever became of its state since.
    pub(super) fn stands_after_drain(&self, at: &TopicPartition, epoch: Epoch) -> bool {
        let stops = self.stops();
        stops.get(at).and_then(|stops| stops.after_drain.as_ref()).is_some_and(|stop| stop.epoch == epoch)
    }

    /// True if the partition stood before a record that was not handled since, under whatever grant.
    pub(super) fn stands_before_record(&self, at: &TopicPartition) -> bool {
        self.stops().get(at).is_some_and(|stops| stops.before_record.is_some())
    }

    /// The handler has ended its work, or is to go on with it under another grant.
    pub(super) fn end_after_drain(&self, at: &TopicPartition) {
        self.change(at, |stops| stops.after_drain = None);
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
            let is_of_other = |stop: &mut StoppedPartition| stop.epoch != epoch;
            drop((stops.after_drain.take_if(is_of_other), stops.before_record.take_if(is_of_other)));
        });
    }

    /// The reason for which the partition stood before the record at `offset` under the same grant.
    pub(super) fn reason(&self, at: &TopicPartition, epoch: Epoch, offset: Offset) -> Option<String> {
        let stops = self.stops();
        let stopped = stops.get(at)?.before_record.as_ref()?;
        (stopped.offset == offset && stopped.epoch == epoch).then(|| stopped.reason.clone())
    }

    /// Each partition once, in their order.
    pub(super) fn all(&self) -> Vec<StoppedPartition> {
        self.stops().values().filter_map(StopsOfPartition::first).cloned().collect()
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
            is_of_drain: false,
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

    #[test]
    fn a_drain_that_ends_after_all_does_not_end_the_stop_before_a_record() {
        let stops = PartitionStops::default();
        stops.note(stopped(5, 7));
        stops.note_after_drain(StoppedPartition { is_of_drain: true, ..stopped(5, 7) });
        assert_eq!(stops.all(), [stopped(5, 7)], "the record has failed");
        stops.note_after_drain(stopped(5, 8));
        assert_eq!(stops.all(), [stopped(5, 8)]);
        stops.end_after_drain(&at());
        assert_eq!(stops.all(), [stopped(5, 7)]);
        assert!(stops.stands_before_record(&at()));
        assert_eq!(stops.reason(&at(), Epoch(5), stopped(5, 7).offset), Some("because of 7".to_owned()));
        stops.end_of_other_grant(&at(), Epoch(6));
        assert!(!stops.stands_before_record(&at()));
    }
}
