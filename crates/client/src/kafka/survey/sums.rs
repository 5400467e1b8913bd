//! The sums over all partitions of a runner: pure.

use std::collections::BTreeMap;

use kafka_assigner_types::name::TopicName;

use crate::kafka::held::{PartitionPhase, RunnerPartition};

/// The names of the phases, in the order of [`RunnerSums::phases`].
pub(super) const PHASES: [&str; 4] = ["warming", "warm", "owned", "drained"];

/// The sums of one look.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunnerSums {
    /// The lag of the partitions that are owned, by topic.
    pub(super) lag: BTreeMap<TopicName, u64>,
    /// The number of partitions in each phase.
    pub(super) phases: [usize; 4],
    pub(super) paused: usize,
    /// The part that is done of the warm-up that is least far; 1 where there is none.
    pub(super) warm_up: f64,
}

pub(super) fn sums(partitions: &[RunnerPartition]) -> RunnerSums {
    let mut sums = RunnerSums { lag: BTreeMap::new(), phases: [0; 4], paused: 0, warm_up: 1.0 };
    for partition in partitions {
        sums.phases[partition.phase as usize] += 1;
        sums.paused += usize::from(partition.is_paused);
        if let Some(lag) = partition.lag() {
            *sums.lag.entry(partition.partition.topic.clone()).or_default() += lag;
        }
        if partition.phase == PartitionPhase::Warming {
            let done = partition.warmed.map_or(0.0, |(done, total)| done as f64 / total as f64);
            sums.warm_up = sums.warm_up.min(done.clamp(0.0, 1.0));
        }
    }
    sums
}

/// True if an owner that may process has processed nothing since the look before, though the log was ahead of it then.
pub(super) fn has_stood_still(before: Option<&RunnerPartition>, now: &RunnerPartition) -> bool {
    let Some(before) = before else { return false };
    let same = before.epoch == now.epoch && before.processed == now.processed;
    let was_ahead = before.log_end.zip(now.processed).is_some_and(|(end, processed)| end > processed);
    now.phase == PartitionPhase::Owned && same && was_ahead && !before.is_paused && !now.is_paused
}

#[cfg(test)]
mod tests {
    use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};

    use super::*;

    fn offset(number: i64) -> Offset {
        Offset::new(number).expect("not negative")
    }

    fn owned(topic: &str, processed: i64, log_end: Option<i64>) -> RunnerPartition {
        RunnerPartition {
            partition: TopicPartition::try_from((topic, 0)).expect("a valid name"),
            phase: PartitionPhase::Owned,
            epoch: Some(Epoch(5)),
            is_paused: false,
            warmed: None,
            processed: Some(offset(processed)),
            committed: Some(offset(processed)),
            log_end: log_end.map(offset),
        }
    }

    fn warming(warmed: Option<(u64, u64)>) -> RunnerPartition {
        let phase = PartitionPhase::Warming;
        RunnerPartition {
            phase,
            epoch: None,
            processed: None,
            committed: None,
            warmed,
            ..owned("t", 0, Some(9))
        }
    }

    #[test]
    fn lag_is_summed_by_topic_and_the_slowest_warm_up_counts() {
        let paused = RunnerPartition { is_paused: true, ..owned("t", 3, Some(10)) };
        let all = [owned("t", 5, Some(7)), paused, owned("u", 5, None), warming(Some((1, 4)))];
        let sums = sums(&all);
        let lag: Vec<_> = sums.lag.iter().map(|(topic, lag)| (topic.as_str(), *lag)).collect();
        assert_eq!((lag, sums.phases, sums.paused, sums.warm_up), (vec![("t", 9)], [1, 0, 3, 0], 1, 0.25));
        assert_eq!(super::sums(&[warming(None)]).warm_up, 0.0);
        assert_eq!(super::sums(&[]).warm_up, 1.0);
    }

    #[test]
    fn who_may_process_and_does_not_stands_still() {
        let before = owned("t", 5, Some(7));
        assert!(has_stood_still(Some(&before), &before));
        assert!(!has_stood_still(None, &before), "it was not looked at yet");
        assert!(!has_stood_still(Some(&before), &owned("t", 6, Some(7))));
        let at_the_end = owned("t", 5, Some(5));
        assert!(!has_stood_still(Some(&at_the_end), &before), "the records came since");
        let paused = RunnerPartition { is_paused: true, ..before.clone() };
        assert!(!has_stood_still(Some(&before), &paused) && !has_stood_still(Some(&paused), &before));
        let again = RunnerPartition { epoch: Some(Epoch(6)), ..before.clone() };
        assert!(!has_stood_still(Some(&before), &again), "another grant");
    }
}
