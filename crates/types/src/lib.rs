//! The types that every other crate shares: ids, names, epochs, offsets, moments, modes, claim spans, and the
//! transactions of the store as plain data.
//!
//! Each value is checked once, where it enters the program, and trusted from there on. This crate decides nothing,
//! reads no clock and does no I/O; it uses no other crate of ours, and all others may use it.
//!
//! Start reading at [`id`] and [`name`]; [`kv`] is what decisions and the store speak with each other, [`bounds`], [`claim`]
//! and [`stops`] what the service and its clients must agree on, [`key`] what clients and producers must.

pub mod bounds;
pub mod claim;
pub mod digest;
pub mod id;
pub mod key;
pub mod kv;
pub mod mode;
pub mod moment;
pub mod name;
pub mod stops;
pub mod topic_id;
