//! The bound of reports of partitions that stand before a record.

/// The most such partitions that one heartbeat tells of, and that are heeded: a report is judged in bounded time. One with so
/// many may lack others, so client and service have to agree on the number.
pub const MOST_STOPPED: usize = 500;
