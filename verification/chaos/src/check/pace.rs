//! The check that work went on.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_rig::clock::Moment;
use kafka_assigner_types::moment::millis;

use super::{Findings, Run};
use crate::consumers::SESSION_TIMEOUT;
use crate::fault::LONGEST_MS;
use crate::instances::{DEADLINE, LEADER_TTL};
use crate::load::stays;
use crate::sink::Judged;

/// The longest time for which nobody at all may have an effect: the longest fault, then a dead owner and a dead leader
/// that are waited for, and a handoff that is given up. Far more than what is seen, since faults hit one of several; a
/// sum of settings, so that no machine is too slow for it.
const SILENCE: Duration = Duration::from_millis(LONGEST_MS)
    .saturating_add(SESSION_TIMEOUT)
    .saturating_add(LEADER_TTL)
    .saturating_add(DEADLINE)
    .saturating_add(GRACE);

/// The time that a machine may take on top.
const GRACE: Duration = Duration::from_secs(1);

/// The longest time that is no outage: records come ten times a second, and machines are busy.
const OUTAGE: Duration = Duration::from_secs(1);

impl Run {
    pub(super) fn judge_pace(&self, findings: &mut Findings) {
        findings.figures.unavailable_ms = self.unavailable_ms();
        let silence = self.longest_silence();
        if silence > SILENCE {
            findings.violations.push(format!("no work went on anywhere for {silence:.1?}"));
        }
    }

    /// The longest time without an effect on any partition while faults happened.
    fn longest_silence(&self) -> Duration {
        let (begin, end) = self.faulty;
        let effects = self.applied().map(|judged| judged.at).filter(|at| (begin..end).contains(at));
        let mut moments: Vec<Moment> = effects.chain([begin, end]).collect();
        moments.sort_unstable();
        moments.windows(2).map(|pair| pair[1].since(pair[0])).max().unwrap_or_default()
    }

    fn unavailable_ms(&self) -> u64 {
        let (begin, end) = self.faulty;
        let mut moments: BTreeMap<i32, Vec<Moment>> =
            self.ends.keys().filter(|at| stays(**at)).map(|at| (*at, vec![begin, end])).collect();
        let during = |judged: &&Judged| (begin..end).contains(&judged.at) && stays(judged.write.partition);
        for judged in self.applied().filter(during) {
            moments.entry(judged.write.partition).or_default().push(judged.at);
        }
        let partitions = moments.len().max(1);
        let outages: Duration = moments.into_values().map(outages).sum();
        millis(outages) / partitions as u64
    }
}

/// The sum of the times between two moments that are longer than an outage.
fn outages(mut moments: Vec<Moment>) -> Duration {
    moments.sort_unstable();
    moments.windows(2).map(|pair| pair[1].since(pair[0])).filter(|gap| *gap > OUTAGE).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::{Verdict, Write};

    fn at(partition: i32, millis: u64, verdict: Verdict) -> Judged {
        let write = Write { partition, epoch: 1, offset: 0, process: "a.1".to_owned() };
        Judged { write, at: Moment(millis * 1_000), verdict }
    }

    fn findings_until(end: u64, judged: Vec<Judged>) -> Findings {
        let faulty = (Moment(10_000_000), Moment(end * 1_000_000));
        let run = Run { faulty, ends: BTreeMap::from([(0, 1), (1, 1)]), judged, ..Run::default() };
        let mut findings = Findings::default();
        run.judge_pace(&mut findings);
        findings
    }

    fn findings(judged: Vec<Judged>) -> Findings {
        findings_until(20, judged)
    }

    /// A write in partition 0 in each of these seconds.
    fn in_seconds(seconds: impl IntoIterator<Item = u64>) -> Vec<Judged> {
        seconds.into_iter().map(|second| at(0, second * 1_000, Verdict::Applied)).collect()
    }

    #[test]
    fn work_that_goes_on_slowly_goes_on() {
        assert_eq!(findings_until(70, in_seconds([30, 50])).violations, Vec::<String>::new());
    }

    #[test]
    fn a_silence_that_nothing_explains_is_a_violation() {
        let silent = findings_until(70, in_seconds([30, 56])).violations;
        assert_eq!(silent, ["no work went on anywhere for 26.0s"]);
    }

    #[test]
    fn work_outside_of_the_time_and_refused_work_do_not_count() {
        let mut judged = in_seconds((0..10).chain(40..50));
        judged.push(at(0, 20_000, Verdict::Refused { epoch: 2 }));
        assert_eq!(findings_until(40, judged).violations.len(), 1);
    }

    #[test]
    fn what_was_longer_than_a_second_counts_as_an_outage_of_its_partition() {
        let steady = |partition, from, to| {
            (from..to).step_by(500).map(move |millis| at(partition, millis, Verdict::Applied))
        };
        // Partition 1 is away for 2 s in all; partition 0 never.
        let judged =
            steady(0, 10_000, 20_000).chain(steady(1, 10_000, 13_001)).chain(steady(1, 15_000, 20_000));
        assert_eq!(findings(judged.collect()).figures.unavailable_ms, 1_000);
    }
}
