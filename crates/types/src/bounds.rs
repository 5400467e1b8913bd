//! The bounds of what a member tells of itself, as its client checks them at the start and the service checks them again.

/// The least and the most capacity: a share of the load relative to others.
pub const CAPACITY: (f64, f64) = (1e-3, 1e6);

/// The shortest and the longest session timeout in milliseconds: etcd keeps no lease under 2 s, and over half an hour a
/// dead owner would go unnoticed for longer than anybody wants.
pub const SESSION_TIMEOUT_MS: (u64, u64) = (2_000, 1_800_000);

/// The most topics that one consumer may name: its registration stays below the store's largest value.
pub const MOST_TOPICS: usize = 2_000;

/// The most characters of a text that is kept for people.
pub const MOST_TEXT: usize = 200;
