//! The numbers of a run.

use serde::Serialize;

use crate::{Class, Ledger, Micros, Spread};

/// The result of a run. The field names are stable: programs read them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Audit {
    /// Records that were produced and acknowledged.
    pub produced: usize,
    /// Records that consumers handled as owners, each time counted.
    pub processed: usize,
    /// Produced ids that no consumer handled by the end.
    pub lost: usize,
    /// Ids that were handled by two epochs though nobody died.
    pub duplicated: usize,
    /// Ids that were handled by two epochs of which an earlier one's owner was killed or frozen.
    pub duplicated_after_crash: usize,
    /// Offsets that went back within one partition, epoch and process.
    pub out_of_order: usize,
    /// Partitions whose last owner's state is not the fold over all that was produced.
    pub state_mismatches: usize,
    /// The time in which two processes handled records of one partition, summed over partitions.
    pub two_owner_ms: f64,
    /// Changes of hands.
    pub moves: usize,
    /// The gaps of moved partitions.
    pub gap_ms: Gaps,
}

/// The gaps of moved partitions by their [`Class`].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Gaps {
    /// See [`Class::Planned`].
    pub planned: Spread,
    /// See [`Class::Crash`].
    pub crash: Spread,
    /// See [`Class::LeaderLoss`].
    pub leader_loss: Spread,
}

impl Ledger {
    /// Adds everything up.
    #[must_use]
    pub fn audit(&self) -> Audit {
        let duplicates = self.duplicates();
        let moves = self.moves();
        let gaps =
            |class| -> Vec<Micros> { moves.iter().filter(|m| m.class == class).map(|m| m.gap).collect() };
        Audit {
            produced: self.produced.values().map(Vec::len).sum(),
            processed: self.handled.len(),
            lost: self.lost().len(),
            duplicated: duplicates.planned,
            duplicated_after_crash: duplicates.after_crash,
            out_of_order: self.out_of_order(),
            state_mismatches: self.state_mismatches().len(),
            two_owner_ms: self.together() as f64 / 1_000.0,
            moves: moves.len(),
            gap_ms: Gaps {
                planned: Spread::of(gaps(Class::Planned)),
                crash: Spread::of(gaps(Class::Crash)),
                leader_loss: Spread::of(gaps(Class::LeaderLoss)),
            },
        }
    }
}
