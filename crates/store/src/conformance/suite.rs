//! The suite: every case, and how they are run.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::timeout;

use super::bench::{Bench, Case, Subject};
use super::{compaction, leases, records, txns, watches};

/// A case is given up after this time; the slowest ones wait for a few leases to run out.
const PER_CASE: Duration = Duration::from_secs(60);

/// The cases in families. Those of one family run side by side; the families follow each other, because
/// a compaction concerns everybody's watches.
const FAMILIES: [&[Case]; 5] =
    [records::CASES, txns::CASES, leases::CASES, watches::CASES, compaction::CASES];

/// Every case, in a fixed order.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    FAMILIES.into_iter().flatten()
}

/// Runs every case.
///
/// # Panics
/// At the end, when a case failed, with all that did.
pub async fn run(subject: Arc<dyn Subject>) {
    let mut report = String::new();
    for family in FAMILIES {
        let results = join_all(family.iter().map(|case| run_case(&subject, case))).await;
        for (case, result) in family.iter().zip(results) {
            let Err(why) = result else { continue };
            writeln!(report, "  {}: {why}", case.name).expect("a string takes everything");
        }
    }
    assert!(report.is_empty(), "the store breaks promises:\n{report}");
}

/// Runs one case in a task of its own, so that its panic is a result.
async fn run_case(subject: &Arc<dyn Subject>, case: &'static Case) -> Result<(), String> {
    let bench = Bench::new(Arc::clone(subject), case.name);
    let task = tokio::spawn(timeout(PER_CASE, (case.check)(bench)));
    match task.await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) => Err(format!("{error:?}")),
        Ok(Err(_)) => Err(format!("not done after {PER_CASE:?}")),
        Err(panic) => Err(panic.to_string()),
    }
}
