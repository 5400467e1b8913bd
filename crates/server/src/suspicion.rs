//! The part of an instance in the suspicion that a process is dead: it notes how streams end and who is heard, and writes
//! the mark into the registration. When to, the core decides (`kafka_assigner_core::suspicion`).

mod contact;
mod ends;
mod heartbeat_ages;
mod marking;
mod unheard;

pub(crate) use contact::StoreContact;
pub(crate) use ends::{AttachedStream, StreamEnds};
pub(crate) use heartbeat_ages::show_heartbeat_ages;
pub(crate) use marking::{Suspect, SuspectedFor};
pub(crate) use unheard::{SilenceTurns, look_for_silence};
