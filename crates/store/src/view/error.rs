//! The errors of a view.

use std::time::Duration;

use kafka_assigner_types::kv::Revision;

/// The reasons for which a view did not reach a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It did not come that far in time; it may later.
    #[error("the view stands at revision {stands_at}, revision {asked} was not reached in {within:?}")]
    Behind {
        /// The revision that was waited for.
        asked: Revision,
        /// The revision of the view at the end.
        stands_at: Revision,
        /// The time that was waited.
        within: Duration,
    },
    /// Its keeper has stopped: it will never move again.
    #[error("the view is no longer kept")]
    Stopped,
}
