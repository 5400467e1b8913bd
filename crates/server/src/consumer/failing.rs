//! The partitions that heartbeats report as ones whose next record fails for long.

use kafka_assigner_core::failing::ToldFailures;
use kafka_assigner_core::record::{Extra, FailingReport, RecordFailure};
use kafka_assigner_proto::v1::{FailingPartition, HeartbeatRequest};
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use kafka_assigner_types::moment::WallMillis;

use crate::convert;

/// The report of a heartbeat that came at `wall`; `None` where the client does not tell.
pub(super) fn told_failures(request: &HeartbeatRequest, wall: WallMillis) -> Option<ToldFailures> {
    let failing = request.failing.as_ref()?;
    let (named, beyond) =
        failing.partitions.split_at(failing.partitions.len().min(FailingReport::MOST_NAMED));
    let beyond = u32::try_from(beyond.len()).unwrap_or(u32::MAX);
    let named = named.iter().filter_map(|item| failure(item, wall)).collect();
    Some(ToldFailures { named, unnamed: failing.unnamed.saturating_add(beyond) })
}

/// A record of the wire; one that names no partition or no offset is passed over.
fn failure(item: &FailingPartition, wall: WallMillis) -> Option<(TopicPartition, RecordFailure)> {
    let at = convert::partition(&item.topic, item.partition).ok()?;
    let (epoch, offset) = (Epoch(item.epoch), Offset::new(item.offset).ok()?);
    let since = WallMillis(u64::try_from(item.since_unix_ms).unwrap_or_default()).min(wall);
    let (reason, extra) = (item.reason.clone(), Extra::new());
    Some((at, RecordFailure { epoch, offset, reason, since, extra }))
}

#[cfg(test)]
mod tests {
    use kafka_assigner_proto::v1::FailingPartitions;

    use super::*;

    fn told(partitions: Vec<FailingPartition>, unnamed: u32) -> ToldFailures {
        let failing = Some(FailingPartitions { partitions, unnamed });
        let request = HeartbeatRequest { failing, ..HeartbeatRequest::default() };
        told_failures(&request, WallMillis(1_000)).expect("it tells")
    }

    fn fails(partition: i32, since_unix_ms: i64) -> FailingPartition {
        FailingPartition {
            topic: "t".to_owned(),
            partition,
            epoch: 7,
            offset: 5,
            since_unix_ms,
            ..FailingPartition::default()
        }
    }

    #[test]
    fn a_client_that_does_not_tell_is_not_one_without_failures() {
        assert_eq!(told_failures(&HeartbeatRequest::default(), WallMillis(0)), None);
        assert_eq!(told(Vec::new(), 0), ToldFailures::default());
    }

    #[test]
    fn those_beyond_the_bound_are_counted_and_not_read() {
        let told = told((0..150).map(|number| fails(number, 1)).collect(), u32::MAX - 10);
        assert_eq!((told.named.len(), told.unnamed), (FailingReport::MOST_NAMED, u32::MAX));
    }

    #[test]
    fn what_names_no_record_is_passed_over() {
        let nameless = FailingPartition { topic: String::new(), ..fails(0, 1) };
        let before_the_log = FailingPartition { offset: -1, ..fails(0, 1) };
        assert_eq!(told(vec![nameless, fails(-1, 1), before_the_log], 0), ToldFailures::default());
    }

    #[test]
    fn a_time_that_can_not_be_is_unknown_or_now() {
        let since = |ms| told(vec![fails(0, ms)], 0).named[0].1.since;
        assert_eq!([since(-5), since(0), since(700)].map(|since| since.0), [0, 0, 700]);
        assert_eq!([since(1_001), since(i64::MAX)].map(|since| since.0), [1_000, 1_000]);
    }
}
