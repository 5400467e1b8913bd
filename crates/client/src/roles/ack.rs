//! Acknowledgements about partitions.

use kafka_assigner_types::id::{HandoffId, Offset};

/// The kinds of acknowledgements about a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AckKind {
    /// The preparation is done.
    Ready,
    /// The preparation failed.
    WarmFailed,
    /// No record is in the works, and none begins that may take long.
    Rested,
    /// It has stopped, and keeps its state.
    Drained,
    /// It has its fences, and has read what was left.
    CaughtUp,
    /// It processes.
    Taken,
    /// It has stopped and dropped everything.
    Released,
}

impl AckKind {
    /// All of them, those first on which a gap depends.
    pub(crate) const ALL: [Self; 7] = [
        Self::Drained,
        Self::CaughtUp,
        Self::Rested,
        Self::Ready,
        Self::WarmFailed,
        Self::Taken,
        Self::Released,
    ];
}

/// One acknowledgement that waits for a definite answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoleAck {
    /// The content.
    pub(crate) kind: AckKind,
    /// The handoff it is about.
    pub(crate) handoff: HandoffId,
    /// With [`AckKind::WarmFailed`]: why.
    pub(crate) message: String,
    /// With [`AckKind::Drained`]: where it stopped; `None` = it does not know.
    pub(crate) next_offset: Option<Offset>,
}
