//! Who calls, and what they may do: the one layer that every call passes.

use tonic::{Request, Status};

/// What a call asks to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    /// Own partitions of a group.
    Consume,
    /// Be told where a group's partitions are, and hold its moves up.
    Route,
    /// Look at a group.
    Read,
    /// Change how a group behaves.
    Operate,
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Nobody in particular; whoever may connect may do everything.
    Anonymous,
}

impl Caller {
    const fn may(&self, _right: Right) -> bool {
        match self {
            Self::Anonymous => true,
        }
    }
}

/// Finds out who calls and whether they may.
///
/// Who may connect at all is decided by TLS: with a client CA nobody else comes this far.
pub(crate) fn authorize<T>(_request: &Request<T>, right: Right) -> Result<Caller, Status> {
    let caller = Caller::Anonymous;
    if caller.may(right) {
        return Ok(caller);
    }
    let message = format!("{caller:?} may not {right:?}");
    Err(kafka_assigner_proto::status(kafka_assigner_proto::Reason::NotAllowed, message))
}
