//! I15: who says that it rests has no record in the works, and begins none that may take long before the move is over.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_types::id::{Member, TopicPartition};

use super::{Findings, Invariant, Step};
use crate::history::{Entry, What, Word};

/// A record that takes longer is long: after one of the last minute an owner that rests begins no more.
const LONG: Duration = Duration::from_secs(1);

/// For so long after a long record the next one is expected to be long too.
const EXPECTED: Duration = Duration::from_secs(60);

/// The word may wait for a call that is under way; a record that was begun meanwhile is none of before.
const WORD_LATE: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct Rest {
    in_works: BTreeMap<(u32, TopicPartition), Duration>,
    /// The end of the last long record.
    last_long: BTreeMap<(u32, TopicPartition), Duration>,
    /// The owners that have said that they rest, with their handoffs.
    rests: BTreeMap<(u32, TopicPartition), RestingOwner>,
}

#[derive(Debug)]
struct RestingOwner {
    by: Member,
    handoff: String,
    since: Duration,
}

impl Rest {
    fn says(&mut self, of: (u32, TopicPartition), resting: RestingOwner, findings: &mut Findings) {
        if self.rests.get(&of).is_some_and(|known| known.handoff == resting.handoff && known.by == resting.by)
        {
            return;
        }
        let early = self.in_works.get(&of).filter(|began| **began + WORD_LATE < resting.since);
        if let Some(began) = early {
            let what = format!(
                "{} says that it rests, with a record of {} in the works since {began:?}",
                resting.by, of.1
            );
            findings.report(resting.since, what);
        }
        self.rests.insert(of, resting);
    }

    fn begins(&mut self, of: (u32, TopicPartition), now: Duration, findings: &mut Findings) {
        let expects_long = |since: Duration| {
            self.last_long.get(&of).is_some_and(|end| *end <= since && since < *end + EXPECTED)
        };
        if let Some(resting) = self.rests.get(&of).filter(|resting| expects_long(resting.since)) {
            let what =
                format!("{} begins a record of {} though it rests for {}", resting.by, of.1, resting.handoff);
            findings.report(now, what);
        }
        self.in_works.insert(of, now);
    }

    fn ends(&mut self, of: (u32, TopicPartition), now: Duration) {
        let began = self.in_works.remove(&of);
        if began.is_some_and(|began| now.saturating_sub(began) >= LONG) {
            self.last_long.insert(of, now);
        }
    }
}

impl Invariant for Rest {
    /// A move is over where its handoff asks nobody to rest any more.
    fn step(&mut self, step: &Step<'_>, _findings: &mut Findings) {
        if self.rests.is_empty() {
            return;
        }
        self.rests.retain(|(_, at), resting| {
            let handoff = step.after.handoff_of(at);
            handoff.is_some_and(|handoff| {
                handoff.id.to_string() == resting.handoff
                    && handoff.old == resting.by
                    && handoff.asks_for_rest()
            })
        });
    }

    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        match &entry.what {
            What::Said { process, by, word: Word::Rested, handoff, of } => {
                let resting = RestingOwner { by: by.clone(), handoff: handoff.clone(), since: entry.at };
                self.says((*process, of.clone()), resting, findings);
            }
            What::RecordBegun { process, at } => self.begins((*process, at.clone()), entry.at, findings),
            What::RecordEnded { process, at } => self.ends((*process, at.clone()), entry.at),
            // Of an earlier life of the partition the client may know nothing any more.
            What::Started { process, at, .. } => drop(self.last_long.remove(&(*process, at.clone()))),
            What::Ended { process, at, .. } => drop(self.rests.remove(&(*process, at.clone()))),
            _ => {}
        }
    }
}
