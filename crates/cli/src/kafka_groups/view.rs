//! The state of a group, by the answers of brokers; pure.

pub(super) mod group;
pub(super) mod listing;
pub(super) mod offsets;
pub(super) mod partitions;
pub(super) mod tasks;
pub(super) mod topics;
pub(super) mod waits;
