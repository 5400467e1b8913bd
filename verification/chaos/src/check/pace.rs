//! Whether work went on.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Findings, Run};
use crate::moment::Moment;

/// Of the seconds of a run, so many in a hundred must have acknowledged writes.
const SECONDS_WITH_WORK: u64 = 60;

/// What is shorter is no outage: records come ten times a second, and machines are busy.
const OUTAGE: Duration = Duration::from_secs(1);

impl Run {
    pub(super) fn judge_pace(&self, findings: &mut Findings) {
        findings.unavailable_ms = self.unavailable_ms();
        let (begin, end) = self.faulty;
        let seconds = end.since(begin).as_secs();
        let with_work = self.seconds_with_work(seconds);
        if with_work * 100 < seconds * SECONDS_WITH_WORK {
            findings.violations.push(format!("work went on in only {with_work} of {seconds} seconds"));
        }
    }

    /// Of the whole seconds since the first fault, those with an acknowledged write.
    fn seconds_with_work(&self, seconds: u64) -> u64 {
        let (begin, _) = self.faulty;
        let after = self.applied().filter(|judged| judged.at >= begin);
        let busy: BTreeSet<u64> = after.map(|judged| judged.at.since(begin).as_secs()).collect();
        busy.range(..seconds).count() as u64
    }

    fn unavailable_ms(&self) -> u64 {
        let (begin, end) = self.faulty;
        let mut moments: BTreeMap<i32, Vec<Moment>> =
            self.ends.keys().map(|partition| (*partition, vec![begin, end])).collect();
        for judged in self.applied().filter(|judged| (begin..end).contains(&judged.at)) {
            moments.entry(judged.write.partition).or_default().push(judged.at);
        }
        let partitions = moments.len().max(1);
        let outages: Duration = moments.into_values().map(outages).sum();
        u64::try_from(outages.as_millis()).unwrap_or(u64::MAX) / partitions as u64
    }
}

/// What is longer than an outage between two moments, in all.
fn outages(mut moments: Vec<Moment>) -> Duration {
    moments.sort_unstable();
    moments.windows(2).map(|pair| pair[1].since(pair[0])).filter(|gap| *gap > OUTAGE).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::{Judged, Verdict, Write};

    fn at(partition: i32, millis: u64, verdict: Verdict) -> Judged {
        let write = Write { partition, epoch: 1, offset: 0, process: "a.1".to_owned() };
        Judged { write, at: Moment(millis * 1_000), verdict }
    }

    fn findings(judged: Vec<Judged>) -> Findings {
        let faulty = (Moment(10_000_000), Moment(20_000_000));
        let run = Run { faulty, ends: BTreeMap::from([(0, 1), (1, 1)]), judged, ..Run::default() };
        let mut findings = Findings::default();
        run.judge_pace(&mut findings);
        findings
    }

    /// A write in partition 0 in each of these seconds.
    fn in_seconds(seconds: impl Iterator<Item = u64>) -> Vec<Judged> {
        seconds.map(|second| at(0, second * 1_000, Verdict::Applied)).collect()
    }

    #[test]
    fn six_of_ten_seconds_with_work_are_enough_and_five_are_not() {
        assert_eq!(findings(in_seconds(12..18)).violations, Vec::<String>::new());
        let idle = findings(in_seconds(12..17)).violations;
        assert_eq!(idle, ["work went on in only 5 of 10 seconds"]);
    }

    #[test]
    fn work_outside_of_the_time_and_refused_work_do_not_count() {
        let mut judged = in_seconds((0..10).chain(20..30).chain(12..17));
        judged.push(at(0, 17_000, Verdict::Refused { epoch: 2 }));
        assert_eq!(findings(judged).violations.len(), 1);
    }

    #[test]
    fn what_was_longer_than_a_second_counts_as_an_outage_of_its_partition() {
        let steady = |partition, from, to| {
            (from..to).step_by(500).map(move |millis| at(partition, millis, Verdict::Applied))
        };
        // Partition 1 is away for 2 s in all; partition 0 never.
        let judged =
            steady(0, 10_000, 20_000).chain(steady(1, 10_000, 13_001)).chain(steady(1, 15_000, 20_000));
        assert_eq!(findings(judged.collect()).unavailable_ms, 1_000);
    }
}
