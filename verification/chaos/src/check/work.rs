//! The check that all work was done, and in the order of the epochs.

use std::collections::{BTreeMap, BTreeSet};

use super::{Findings, Run, complain};
use crate::history::Entry;
use crate::load::{sink_number, stays};
use crate::sink::{Judged, Verdict, Write};

impl Run {
    pub(super) fn judge_work(&self, findings: &mut Findings) {
        let applied: Vec<&Judged> = self.applied().collect();
        let done: BTreeSet<(i32, i64)> =
            applied.iter().map(|one| (one.write.partition, one.write.offset)).collect();
        findings.figures.acknowledged = done.len();
        findings.figures.refused = self.judged.len() - applied.len();
        let violations = &mut findings.violations;
        complain(violations, "records lost", &self.lost(&done), |(partition, offset)| {
            format!("{partition}@{offset}")
        });
        complain(violations, "acknowledged writes without effect", &self.without_effect(&applied), show);
        let (fallen, skipping) = out_of_order(&applied);
        complain(violations, "effects under an epoch that was over", &fallen, show);
        complain(violations, "effects ahead of records before them", &skipping, show);
        self.judge_beginnings(&done, findings);
    }

    /// Writes that took effect, in their order.
    pub(super) fn applied(&self) -> impl Iterator<Item = &Judged> {
        self.judged.iter().filter(|judged| judged.verdict == Verdict::Applied)
    }

    /// The records that Kafka acknowledged and that had no effect.
    fn lost(&self, done: &BTreeSet<(i32, i64)>) -> Vec<(i32, i64)> {
        let produced =
            self.ends.iter().flat_map(|(partition, end)| (0..*end).map(|offset| (*partition, offset)));
        produced.filter(|record| !done.contains(record)).collect()
    }

    /// The writes that consumers saw acknowledged and the sink does not have.
    fn without_effect(&self, applied: &[&Judged]) -> Vec<Write> {
        let has: BTreeSet<(i32, u64, i64, &str)> = applied.iter().map(|one| identity(&one.write)).collect();
        let seen = self.lives.iter().flat_map(|lived| {
            lived.entries.iter().filter_map(|entry| match entry {
                Entry::Wrote { claimed, generation, offset, verdict: Verdict::Applied } => Some(Write {
                    partition: sink_number(claimed.partition, *generation),
                    epoch: claimed.epoch,
                    offset: *offset,
                    process: lived.process.clone(),
                }),
                _ => None,
            })
        });
        seen.filter(|write| !has.contains(&identity(write))).collect()
    }
}

fn identity(write: &Write) -> (i32, u64, i64, &str) {
    (write.partition, write.epoch, write.offset, &write.process)
}

fn show(write: &Write) -> String {
    format!("{}@{} by {} in epoch {}", write.partition, write.offset, write.process, write.epoch)
}

/// Effects whose epoch is older than one before, and effects that leave out records before them, in a topic that stays.
fn out_of_order(applied: &[&Judged]) -> (Vec<Write>, Vec<Write>) {
    let (mut fallen, mut skipping) = (Vec::new(), Vec::new());
    let mut so_far: BTreeMap<i32, (u64, i64)> = BTreeMap::new();
    for Judged { write, .. } in applied {
        let (epoch, next) = so_far.entry(write.partition).or_default();
        if write.epoch < *epoch {
            fallen.push(write.clone());
        }
        if write.offset > *next && stays(write.partition) {
            skipping.push(write.clone());
        }
        *epoch = (*epoch).max(write.epoch);
        *next = (*next).max(write.offset + 1);
    }
    (fallen, skipping)
}

#[cfg(test)]
mod tests {
    use kafka_assigner_rig::clock::Moment;

    use super::*;
    use crate::check::Lived;
    use crate::history::Claimed;

    fn judged(epoch: u64, offset: i64, verdict: Verdict) -> Judged {
        let write = Write { partition: 0, epoch, offset, process: format!("p{epoch}") };
        Judged { write, at: Moment(0), verdict }
    }

    fn wrote(epoch: u64, offset: i64) -> Lived {
        let claimed = Claimed { partition: 0, epoch, at: Moment(0), until: Moment(1) };
        let entries = vec![Entry::Wrote { claimed, generation: 0, offset, verdict: Verdict::Applied }];
        Lived { process: format!("p{epoch}"), died: None, entries }
    }

    fn run(end: i64, judged: Vec<Judged>) -> Run {
        Run { ends: BTreeMap::from([(0, end)]), judged, ..Run::default() }
    }

    fn findings(run: &Run) -> Findings {
        let mut findings = Findings::default();
        run.judge_work(&mut findings);
        findings
    }

    #[test]
    fn work_that_is_done_again_by_a_later_owner_is_in_order() {
        let writes = [(1, 0), (1, 1), (4, 1), (4, 2)].map(|(e, o)| judged(e, o, Verdict::Applied));
        let mut run = run(3, writes.to_vec());
        run.judged.push(judged(1, 2, Verdict::Refused { epoch: 4 }));
        run.lives.push(wrote(4, 2));
        let findings = findings(&run);
        assert_eq!((findings.figures.acknowledged, findings.figures.refused), (3, 1));
        assert_eq!(findings.violations, Vec::<String>::new());
    }

    #[test]
    fn a_record_that_had_no_effect_is_lost_though_its_write_was_refused() {
        let refused = judged(1, 1, Verdict::Refused { epoch: 4 });
        let findings = findings(&run(2, vec![judged(4, 0, Verdict::Applied), refused]));
        assert_eq!(findings.violations, ["1 records lost, the first: 0@1"]);
    }

    #[test]
    fn an_acknowledgement_that_the_sink_does_not_know_is_named() {
        let mut run = run(1, vec![judged(1, 0, Verdict::Applied)]);
        run.lives.push(wrote(2, 0));
        let expected = "1 acknowledged writes without effect, the first: 0@0 by p2 in epoch 2";
        assert_eq!(findings(&run).violations, [expected]);
    }

    #[test]
    fn an_effect_of_an_older_epoch_and_one_that_skips_a_record_are_named() {
        let writes = [(4, 0), (1, 1), (4, 3), (4, 2)].map(|(e, o)| judged(e, o, Verdict::Applied));
        let violations = findings(&run(4, writes.to_vec())).violations;
        assert_eq!(
            violations,
            [
                "1 effects under an epoch that was over, the first: 0@1 by p1 in epoch 1",
                "1 effects ahead of records before them, the first: 0@3 by p4 in epoch 4",
            ]
        );
    }
}
