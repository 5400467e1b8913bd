//! The roles of this member, and the handler calls that lead from one to the next.
//!
//! A pure, level-triggered machine: commands only set the *wanted* role; at every step each partition's next call
//! follows from that role and from what the handler holds of it. So a command that is repeated, skipped or overtaken
//! changes nothing that a later one doesn't correct.
//!
//! ```text
//!            Warm ok            Assigned ok           Drain ok
//!  Nothing ──────────► Warm ────────────────► Owned ──────────► Drained
//!     ▲                 │ └─► CaughtUp ─┘      │ ▲                  │
//!     │                 │                      │ └─── Assigned ─────┤
//!     │                 │                      │ Lost               │
//!     └──── Release ────┴──────────────────────┴──── Release ───────┘
//! ```
//!
//! Guarantees: one call at a time for each partition; never more than the given number of preparations that get further at
//! once: one that hangs keeps no other from beginning; a preparation is used only for the handoff or the run it was made for; an owner that is granted again
//! goes on without a call, or with the state that it kept when it was drained; what its handler calls spoiled is lost
//! and prepared again; a failed call is repeated, and nothing counts as given up before the handler said so. Under a
//! grant of a stricter mode it acts only while the session's claim is valid: when that lapses, the partition is lost.

mod ack;
mod api;
mod call;
mod change;
mod entry;
mod fences;
mod holding;
mod machine;
mod pace;
mod role;
mod unbegun;

pub(crate) use ack::{AckKind, RoleAck};
pub(crate) use api::{RoleAction, RoleEvent};
pub(crate) use call::{Call, CallFailure, CallResult};
pub(crate) use change::RoleChange;
pub use machine::RoleCounts;
pub(crate) use machine::Roles;
pub(crate) use role::Provenance;
pub(crate) use unbegun::{UnbegunCause, UnbegunRole};

#[cfg(test)]
mod roles_test;
