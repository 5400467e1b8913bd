//! Holds what callers were told against what is in the log. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use kafka_assigner_types::id::{Epoch, InvalidPartition, Offset, TopicPartition};

use crate::{Audit, Micros, Record, Spread};

/// An addition in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The offset in the log.
    pub offset: Offset,
    /// The epoch of the writer.
    pub epoch: Epoch,
    /// The caller that asked for it.
    pub caller: String,
    /// The number of the request.
    pub number: u64,
    /// The counter.
    pub key: String,
    /// The amount.
    pub amount: u64,
}

/// The requests of all callers, with their answers.
#[derive(Debug, Default)]
pub struct Asked {
    /// In the order of each caller.
    pub acknowledged: Vec<Acknowledged>,
    /// Tries without an acknowledgement.
    pub failed: Vec<Failed>,
    /// The last value of each counter, as its owner reports it.
    pub totals: BTreeMap<String, u64>,
}

/// An addition of one that was acknowledged.
#[derive(Debug, Clone)]
pub struct Acknowledged {
    /// The caller.
    pub caller: String,
    /// Its number, unique in the run.
    pub number: u64,
    /// The counter, which nobody else adds to.
    pub key: String,
    /// The counter with it, as the answer said.
    pub total: u64,
    /// The time at which it was first sent.
    pub begun: Micros,
    /// The time of the answer.
    pub ended: Micros,
}

/// A try without an acknowledgement.
#[derive(Debug, Clone)]
pub struct Failed {
    /// The time at which the request was first sent.
    pub begun: Micros,
    /// The time of the failure.
    pub ended: Micros,
    /// The outcome of the try.
    pub why: String,
}

/// From when to when requests may fail because a writer had died.
pub type Window = (Micros, Micros);

/// The result of a run's requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Requests {
    /// Additions that were acknowledged.
    pub acknowledged: usize,
    /// Those that are not in the log.
    pub acknowledged_lost: usize,
    /// Requests that are in the log more than once.
    pub counted_twice: usize,
    /// Answers that did not give the next value of the counter.
    pub wrong_answers: usize,
    /// Additions of one caller that are not in the order in which they were acknowledged.
    pub requests_out_of_order: usize,
    /// Tries that failed while no writer had died.
    pub failed_requests_planned: usize,
    /// Tries that failed while one had.
    pub failed_requests_crash: usize,
    /// From the first try to the acknowledgement, while no writer had died.
    pub request_ms: Spread,
    /// The same, while one had.
    pub request_ms_crash: Spread,
}

impl Requests {
    /// True if every promise was kept: nothing lost, twice, out of order or answered wrongly, and no failure but
    /// for a dead writer.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        let wrong = self.acknowledged_lost + self.counted_twice + self.wrong_answers;
        wrong + self.requests_out_of_order + self.failed_requests_planned == 0
    }
}

/// Judges the requests of a run. `log` has the additions that count, by partition.
#[must_use]
pub fn judge(asked: &Asked, log: &BTreeMap<i32, Vec<Written>>, crashes: &[Window]) -> Requests {
    let mut times: BTreeMap<u64, usize> = BTreeMap::new();
    log.values().flatten().for_each(|written| *times.entry(written.number).or_default() += 1);
    let is_crash = |begun, ended| is_within(crashes, begun, ended);
    let failed_requests_planned = unexcused(asked, crashes).count();
    let took = |in_crash: bool| {
        let of_class = asked.acknowledged.iter().filter(|a| is_crash(a.begun, a.ended) == in_crash);
        Spread::of(of_class.map(|a| a.ended.saturating_sub(a.begun)).collect())
    };
    Requests {
        acknowledged: asked.acknowledged.len(),
        acknowledged_lost: asked.acknowledged.iter().filter(|a| !times.contains_key(&a.number)).count(),
        counted_twice: times.values().filter(|times| **times > 1).count(),
        wrong_answers: wrong_answers(asked),
        requests_out_of_order: log.values().map(|written| out_of_order(written)).sum(),
        failed_requests_planned,
        failed_requests_crash: asked.failed.len() - failed_requests_planned,
        request_ms: took(false),
        request_ms_crash: took(true),
    }
}

/// The acknowledged requests, as records that writers had to handle: by partition of `topic`, in the order of the log.
///
/// # Errors
///
/// `topic` or a number of `log` is none that a partition can have.
pub fn to_handle(
    asked: &Asked,
    log: &BTreeMap<i32, Vec<Written>>,
    topic: &str,
) -> Result<BTreeMap<TopicPartition, Vec<Record>>, InvalidPartition> {
    let acknowledged: BTreeSet<u64> = asked.acknowledged.iter().map(|request| request.number).collect();
    let record = |written: &Written| Record { id: written.number, key: written.key.clone() };
    let records = |of: &Vec<Written>| {
        of.iter().filter(|written| acknowledged.contains(&written.number)).map(record).collect()
    };
    let by_name = |(partition, of): (&i32, &Vec<Written>)| {
        Ok((TopicPartition::from_kafka(topic, *partition)?, records(of)))
    };
    log.iter().map(by_name).collect()
}

/// Puts the audit of what writers wrote down right by the log, and judges the requests: a writer that was killed may have
/// written into the log what it could not write down any more.
pub fn put_right(
    audit: &mut Audit,
    asked: &Asked,
    log: &BTreeMap<i32, Vec<Written>>,
    crashes: &[Window],
) -> Requests {
    let requests = judge(asked, log, crashes);
    (audit.lost, audit.state_mismatches) = (requests.acknowledged_lost, wrong_states(asked, log));
    requests
}

/// Partitions of counters that are not what the log amounts to.
#[must_use]
pub fn wrong_states(asked: &Asked, log: &BTreeMap<i32, Vec<Written>>) -> usize {
    let is_wrong = |written: &&Vec<Written>| {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        written.iter().for_each(|written| *sums.entry(&written.key).or_default() += written.amount);
        sums.into_iter().any(|(key, sum)| asked.totals.get(key) != Some(&sum))
    };
    log.values().filter(is_wrong).count()
}

/// Those that failed while no writer had died.
pub fn unexcused<'a>(asked: &'a Asked, crashes: &'a [Window]) -> impl Iterator<Item = &'a Failed> {
    asked.failed.iter().filter(|failed| !is_within(crashes, failed.begun, failed.ended))
}

fn is_within(crashes: &[Window], begun: Micros, ended: Micros) -> bool {
    crashes.iter().any(|(from, to)| begun <= *to && ended >= *from)
}

/// A counter that one caller adds one to each time is how often it was told so.
fn wrong_answers(asked: &Asked) -> usize {
    let (mut counts, mut wrong) = (BTreeMap::<&str, u64>::new(), 0);
    for Acknowledged { key, total, .. } in &asked.acknowledged {
        let count = counts.entry(key).or_default();
        *count += 1;
        wrong += usize::from(count != total);
    }
    wrong
}

/// Callers ask one thing at a time, with rising numbers.
fn out_of_order(written: &[Written]) -> usize {
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    let mut went_back = BTreeSet::new();
    for Written { caller, number, .. } in written {
        let before = last.insert(caller, *number);
        if before.is_some_and(|before| before > *number) {
            went_back.insert(*number);
        }
    }
    went_back.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acknowledged(number: u64, total: u64, at: (Micros, Micros)) -> Acknowledged {
        let (caller, key) = ("c".to_owned(), "k".to_owned());
        Acknowledged { caller, number, key, total, begun: at.0, ended: at.1 }
    }

    fn written(number: u64) -> Written {
        let (caller, key) = ("c".to_owned(), "k".to_owned());
        Written { offset: Offset::ZERO, epoch: Epoch(1), caller, number, key, amount: 1 }
    }

    fn asked() -> Asked {
        let acknowledged = vec![acknowledged(1, 1, (0, 1_000)), acknowledged(2, 2, (2_000, 12_000))];
        let failed = |begun, ended| Failed { begun, ended, why: String::new() };
        let totals = BTreeMap::from([("k".to_owned(), 2)]);
        Asked { acknowledged, failed: vec![failed(2_000, 5_000), failed(20_000, 21_000)], totals }
    }

    #[test]
    fn what_failed_in_a_crash_is_told_from_what_failed_otherwise() {
        let log = BTreeMap::from([(0, vec![written(1), written(2)])]);
        let requests = judge(&asked(), &log, &[(4_000, 10_000)]);
        assert_eq!((requests.failed_requests_planned, requests.failed_requests_crash), (1, 1));
        assert_eq!((requests.request_ms.max, requests.request_ms_crash.max), (1.0, 10.0));
        assert_eq!(unexcused(&asked(), &[(4_000, 10_000)]).count(), 1);
        assert_eq!((requests.acknowledged, requests.acknowledged_lost, requests.counted_twice), (2, 0, 0));
        assert_eq!((requests.wrong_answers, requests.requests_out_of_order), (0, 0));
        assert_eq!(wrong_states(&asked(), &log), 0);
    }

    #[test]
    fn what_is_lost_or_twice_or_out_of_order_or_wrong_is_counted() {
        let lost = BTreeMap::from([(0, vec![written(1)])]);
        assert_eq!(judge(&asked(), &lost, &[]).acknowledged_lost, 1);
        let twice = BTreeMap::from([(0, vec![written(1), written(2), written(2)])]);
        assert_eq!(judge(&asked(), &twice, &[]).counted_twice, 1);
        assert_eq!(wrong_states(&asked(), &twice), 1);
        let back = BTreeMap::from([(0, vec![written(2), written(1)])]);
        assert_eq!(judge(&asked(), &back, &[]).requests_out_of_order, 1);
        let mut wrong = asked();
        wrong.acknowledged[1].total = 3;
        assert_eq!(judge(&wrong, &back, &[]).wrong_answers, 1);
    }
}
