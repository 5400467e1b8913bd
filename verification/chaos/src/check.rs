//! Judges a run by what its consumers and its sink wrote down. Everything here is pure.
//!
//! - [`work`]: nothing that was acknowledged is lost, and the sink's epochs only rise (I2, I3).
//! - [`beginnings`]: nothing is left out of a topic that was created again, once the service knew of it.
//! - [`claims`]: who held a valid claim when, and where two did (I1).
//! - [`pace`]: work went on.
//! - [`hearing`]: sessions heard in time of what concerns them, and none was taken for dead that was not.
//! - [`requests`]: in the mode routed, callers were told the truth (I5).

mod beginnings;
mod claims;
mod hearing;
mod pace;
mod requests;
mod work;

use std::collections::BTreeMap;

use kafka_assigner_rig::clock::Moment;
use serde::Serialize;

pub(crate) use requests::Requested;

use crate::history::Entry;
use crate::returning::Generations;
use crate::sink::Judged;
use crate::stage::{Away, Revoked};
use crate::witness::Seen;

/// All that is known of a run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// True if two owners at a time are a violation.
    pub(crate) is_exclusive: bool,
    /// The beginning and the end of the faults.
    pub(crate) faulty: (Moment, Moment),
    /// The end of each partition: every offset below was acknowledged by Kafka.
    pub(crate) ends: BTreeMap<i32, i64>,
    /// Every write, in the sink's order.
    pub(crate) judged: Vec<Judged>,
    /// The histories that consumers wrote about themselves.
    pub(crate) lives: Vec<Lived>,
    /// Sessions that somebody outside ended.
    pub(crate) revoked: Vec<Revoked>,
    /// Times in which processes were frozen, or could not be reached.
    pub(crate) away: Vec<Away>,
    /// The generations of the topic that is deleted and created again.
    pub(crate) generations: Generations,
    /// The observations of the sessions, up to `watched_until`.
    pub(crate) seen: Seen,
    /// The end of that.
    pub(crate) watched_until: Moment,
    /// The requests of callers, in the mode routed.
    pub(crate) requested: Option<Requested>,
}

/// The history that one consumer process wrote about itself.
#[derive(Debug, Clone)]
pub(crate) struct Lived {
    /// The process.
    pub(crate) process: String,
    /// The time at which it was killed.
    pub(crate) died: Option<Moment>,
    /// Its history.
    pub(crate) entries: Vec<Entry>,
}

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// The violations, in words.
    pub(crate) violations: Vec<String>,
    /// The counts and measurements.
    pub(crate) figures: Figures,
}

/// The counts and measurements, as the report has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Figures {
    /// Records whose effect the sink has acknowledged, or requests that were.
    pub(crate) acknowledged: usize,
    /// Requests whose callers were told that they are in the log, and which are not.
    pub(crate) acknowledged_lost: usize,
    /// Records at the beginning of a topic that was gone again before any leader knew of it, and which had no effect,
    /// though later ones had.
    pub(crate) left_out_unseen: usize,
    /// Writes that the sink refused because of their epoch.
    pub(crate) refused: usize,
    /// While faults happened: how long a partition was without an acknowledged write in all, counting what was longer
    /// than a second; the mean of the partitions.
    pub(crate) unavailable_ms: u64,
    /// The time during which two consumers held a valid claim for one partition, over all partitions; allowed in
    /// overlap.
    pub(crate) two_owner_ms: u64,
    /// The same, where the older claim was that of a session that somebody outside had ended; not in the other.
    pub(crate) two_owner_ms_revoked: u64,
    /// Sessions that were ended because their processes seemed to be dead.
    pub(crate) takeovers: usize,
    /// Those whose processes lived and could be reached since they were marked.
    pub(crate) false_takeovers: usize,
    /// The time during which sessions did not hear of what concerned them, while their processes ran and could be
    /// reached.
    pub(crate) deaf_ms: DeafMs,
}

/// Times of deafness, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct DeafMs {
    /// The longest.
    pub(crate) max: u64,
}

impl Run {
    /// Judges it.
    pub(crate) fn findings(&self) -> Findings {
        let mut findings = Findings::default();
        match &self.requested {
            Some(requested) => self.judge_requests(requested, &mut findings),
            None => self.judge_work(&mut findings),
        }
        self.judge_claims(&mut findings);
        self.judge_pace(&mut findings);
        self.judge_hearing(&mut findings);
        findings
    }
}

/// Adds how many there are and which is the first, where there are any.
fn complain<T>(violations: &mut Vec<String>, what: &str, found: &[T], show: impl Fn(&T) -> String) {
    if let Some(first) = found.first() {
        violations.push(format!("{} {what}, the first: {}", found.len(), show(first)));
    }
}
