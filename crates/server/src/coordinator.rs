//! Campaigns for the leadership of a group, and leads it while it has it.
//!
//! ```text
//!  campaign ──won──► ┌ lead: changes ─► core::leader ─► execute ┐ ──term over──► campaign …
//!                    └ topics: what Kafka said ─► follow        ┘
//! ```
//!
//! `core::leader` decides what is done, and when; here it is told what happens, and is obeyed. It works on a copy
//! of the group, so nobody who reads the view waits for it. Every write carries the term's fence, so a leader that was
//! deposed writes nothing.

mod campaign;
mod execute;
mod follow;
mod lead;
mod parts;

pub(crate) use campaign::run;
pub(crate) use parts::Coordinator;
