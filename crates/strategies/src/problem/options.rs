//! Trade-offs that a strategy may make.

/// Settings of a [`Problem`](crate::Problem) that are of no single topic or member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// By how many thousandths of the mean load per capacity a member may be above it and still
    /// count as balanced, where units have weights. 20 by default, so that small changes of load
    /// move nothing; at most 1 000.
    pub tolerance: u32,
    /// The lag behind its owner, in records, up to which a standby counts as warm. 10 000 by default.
    pub acceptable_lag: u64,
    /// The most units that may leave an owner that could have kept them. `None`, the default, for
    /// as many as balance takes. Of this crate's strategies `balanced` heeds it.
    pub movement_budget: Option<u32>,
}

impl Options {
    /// The largest tolerance that makes sense: twice the mean.
    pub const MAX_TOLERANCE: u32 = 1_000;
}

impl Default for Options {
    fn default() -> Self {
        Self { tolerance: 20, acceptable_lag: 10_000, movement_budget: None }
    }
}
