//! The holders of valid claims over time.

use std::collections::BTreeMap;

use kafka_assigner_rig::clock::Moment;

use super::{Findings, Lived, Run, complain};
use crate::consumers::SESSION_TIMEOUT;
use crate::history::{Claimed, Entry};

/// One stretch of time in which a process held a valid claim.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held<'a> {
    process: &'a str,
    epoch: u64,
    from: Moment,
    to: Moment,
}

/// Two processes that held valid claims for one partition at one time.
#[derive(Debug)]
struct Overlap<'a> {
    partition: i32,
    older: &'a Held<'a>,
    newer: &'a Held<'a>,
    from: Moment,
    to: Moment,
}

impl Overlap<'_> {
    const fn micros(&self) -> u64 {
        self.to.0 - self.from.0
    }

    fn show(&self) -> String {
        let Self { partition, older, newer, from, .. } = self;
        let micros = self.micros();
        format!(
            "{partition}: {} (epoch {}) and {} (epoch {}) for {micros} µs from {}",
            older.process, older.epoch, newer.process, newer.epoch, from.0
        )
    }
}

impl Run {
    pub(super) fn judge_claims(&self, findings: &mut Findings) {
        let held = self.held();
        let overlaps = held.iter().flat_map(|(partition, held)| overlaps(*partition, held));
        let (revoked, others): (Vec<_>, Vec<_>) =
            overlaps.partition(|overlap| self.is_of_a_revoked_session(overlap));
        findings.figures.two_owner_ms_revoked = millis(&revoked);
        findings.figures.two_owner_ms = millis(&others);
        if self.is_exclusive {
            complain(&mut findings.violations, "times two owners", &others, Overlap::show);
        }
    }

    /// Every claim, by partition, in the order of their beginnings.
    fn held(&self) -> BTreeMap<i32, Vec<Held<'_>>> {
        let mut held: BTreeMap<i32, Vec<Held<'_>>> = BTreeMap::new();
        for lived in &self.lives {
            for (partition, claims) in claims_of(lived) {
                held.entry(partition).or_default().extend(claims);
            }
        }
        held.values_mut().for_each(|held| held.sort_by_key(|held| held.from));
        held
    }

    /// True if the claim with the older epoch is that of a session that somebody outside had ended. What its holder
    /// believes then, and takes up again, is over within a session's time to live; what it writes, the sink refuses.
    fn is_of_a_revoked_session(&self, overlap: &Overlap<'_>) -> bool {
        let Overlap { older, newer, from, to, .. } = overlap;
        let stale = if older.epoch < newer.epoch { older } else { newer };
        self.revoked.iter().any(|revoked| {
            revoked.process == stale.process && *from >= revoked.at && *to <= revoked.at + SESSION_TIMEOUT
        })
    }
}

fn millis(overlaps: &[Overlap<'_>]) -> u64 {
    overlaps.iter().map(Overlap::micros).sum::<u64>().div_ceil(1_000)
}

/// The claims of one process, by partition. A claim lasts until it runs out, its holder says that it ended, another
/// epoch takes its place, or the process dies.
fn claims_of(lived: &Lived) -> BTreeMap<i32, Vec<Held<'_>>> {
    let mut claims: BTreeMap<i32, Vec<Held<'_>>> = BTreeMap::new();
    for entry in &lived.entries {
        match entry {
            Entry::Granted { claimed, .. } | Entry::Wrote { claimed, .. } => {
                extend(claims.entry(claimed.partition).or_default(), &lived.process, claimed);
            }
            Entry::Ended { partition, at } => cut(claims.entry(*partition).or_default(), *at),
            Entry::Told { .. } => {}
        }
    }
    if let Some(died) = lived.died {
        claims.values_mut().for_each(|claims| cut(claims, died));
    }
    claims
}

fn extend<'a>(claims: &mut Vec<Held<'a>>, process: &'a str, claimed: &Claimed) {
    let Claimed { epoch, at, until, .. } = *claimed;
    match claims.last_mut() {
        Some(last) if last.epoch == epoch && at <= last.to => last.to = last.to.max(until),
        _ => {
            cut(claims, at);
            claims.push(Held { process, epoch, from: at, to: until });
        }
    }
}

fn cut(claims: &mut [Held<'_>], at: Moment) {
    if let Some(last) = claims.last_mut() {
        last.to = last.to.min(at.max(last.from));
    }
}

/// The overlaps of claims that are sorted by their beginnings.
fn overlaps<'a>(partition: i32, held: &'a [Held<'a>]) -> Vec<Overlap<'a>> {
    let mut overlaps = Vec::new();
    for (index, older) in held.iter().enumerate() {
        let later = held[index + 1..].iter().take_while(|newer| newer.from < older.to);
        for newer in later.filter(|newer| newer.process != older.process && newer.to > newer.from) {
            let (from, to) = (newer.from, older.to.min(newer.to));
            overlaps.push(Overlap { partition, older, newer, from, to });
        }
    }
    overlaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::Verdict;
    use crate::stage::Revoked;

    fn claimed(epoch: u64, at: u64, until: u64) -> Claimed {
        Claimed { partition: 0, epoch, at: Moment(at), until: Moment(until) }
    }

    fn wrote(epoch: u64, at: u64, until: u64) -> Entry {
        Entry::Wrote {
            claimed: claimed(epoch, at, until),
            generation: 0,
            offset: 0,
            verdict: Verdict::Applied,
        }
    }

    fn ended(at: u64) -> Entry {
        Entry::Ended { partition: 0, at: Moment(at) }
    }

    fn lived(process: &str, entries: Vec<Entry>) -> Lived {
        Lived { process: process.to_owned(), died: None, entries }
    }

    fn spans(lived: &Lived) -> Vec<(u64, u64, u64)> {
        let claims = claims_of(lived).remove(&0).unwrap_or_default();
        claims.iter().map(|held| (held.epoch, held.from.0, held.to.0)).collect()
    }

    fn findings(lives: Vec<Lived>, revoked: Vec<Revoked>) -> Findings {
        let run = Run { is_exclusive: true, lives, revoked, ..Run::default() };
        let mut findings = Findings::default();
        run.judge_claims(&mut findings);
        findings
    }

    #[test]
    fn a_claim_that_is_confirmed_is_one_and_one_that_lapsed_in_between_is_two() {
        let granted = Entry::Granted { claimed: claimed(1, 0, 100), topic_id: None };
        let entries = vec![granted, wrote(1, 90, 190), wrote(1, 500, 600)];
        assert_eq!(spans(&lived("a", entries)), [(1, 0, 190), (1, 500, 600)]);
    }

    #[test]
    fn a_claim_ends_with_its_holders_word_another_epoch_or_its_process() {
        let entries = vec![wrote(1, 0, 100), wrote(3, 50, 150), ended(70), wrote(5, 200, 300)];
        let mut lived = lived("a", entries);
        lived.died = Some(Moment(250));
        assert_eq!(spans(&lived), [(1, 0, 50), (3, 50, 70), (5, 200, 250)]);
    }

    #[test]
    fn an_end_that_is_told_after_the_claim_had_run_out_does_not_bring_it_back() {
        assert_eq!(spans(&lived("a", vec![wrote(1, 0, 100), ended(500)])), [(1, 0, 100)]);
    }

    #[test]
    fn claims_that_follow_each_other_do_not_overlap() {
        let lives = vec![lived("a", vec![wrote(1, 0, 100), ended(70)]), lived("b", vec![wrote(2, 70, 170)])];
        assert_eq!(findings(lives, vec![]), Findings::default());
    }

    #[test]
    fn two_valid_claims_at_one_time_are_a_violation_in_exclusive_modes_only() {
        let lives = vec![lived("a", vec![wrote(1, 0, 9_000)]), lived("b", vec![wrote(2, 5_000, 20_000)])];
        let found = findings(lives.clone(), vec![]);
        assert_eq!(found.figures.two_owner_ms, 4);
        let expected = "1 times two owners, the first: 0: a (epoch 1) and b (epoch 2) for 4000 µs from 5000";
        assert_eq!(found.violations, [expected]);
        let run = Run { lives, ..Run::default() };
        let mut exempt = Findings::default();
        run.judge_claims(&mut exempt);
        assert_eq!((exempt.figures.two_owner_ms, exempt.violations.len()), (4, 0));
    }

    #[test]
    fn an_overlap_after_a_revocation_is_counted_apart_and_only_that() {
        let lives = vec![lived("a", vec![wrote(1, 0, 9_000)]), lived("b", vec![wrote(2, 5_000, 20_000)])];
        let revoked = |process: &str, at| Revoked { process: process.to_owned(), at: Moment(at) };
        let found = findings(lives.clone(), vec![revoked("a", 4_000)]);
        assert_eq!((found.figures.two_owner_ms, found.figures.two_owner_ms_revoked), (0, 4));
        assert_eq!(found.violations, Vec::<String>::new());
        // Another process, and after the newer claim had begun.
        for other in [revoked("b", 4_000), revoked("a", 6_000)] {
            assert_eq!(findings(lives.clone(), vec![other]).figures.two_owner_ms, 4);
        }
    }
}
