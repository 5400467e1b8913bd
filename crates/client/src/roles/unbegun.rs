//! Grants that this member has not begun.

use kafka_assigner_types::id::Epoch;

/// A grant that this member has not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnbegunRole<'a> {
    /// The epoch of the grant.
    pub(crate) epoch: Epoch,
    /// The condition that it waits for.
    pub(crate) why: UnbegunCause,
    /// The text of the last failed call in a row of such, or that the preparation gets no further; empty = neither is so.
    pub(crate) failure: &'a str,
}

/// The condition that keeps a grant from beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnbegunCause {
    /// Other partitions are prepared first.
    Place,
    /// It is being prepared.
    Preparing,
    /// The handler begins.
    Starting,
    /// A call failed, and another one has not succeeded since.
    Failing,
    /// The claim of the stricter modes has run out.
    Claim,
    /// The remains of an earlier grant are dropped first.
    Clearing,
}
