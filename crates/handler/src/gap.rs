//! Records that are gone.

use kafka_assigner_types::id::Offset;

/// Records that retention removed before they were read: those from `from` on, before `to`. Some offsets between may
/// never have had a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The first offset that is gone.
    pub from: Offset,
    /// The first offset that is there.
    pub to: Offset,
}

/// The rule for a [`Gap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GapRule {
    /// The handler is told ([`RecordHandler::gap`](crate::RecordHandler::gap)), and processing goes on behind it. The default:
    /// the records are gone, and standing brings none of them back.
    #[default]
    Pass,
    /// The partition stands before it, or does not begin.
    Refuse,
}
