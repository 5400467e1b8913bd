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
    /// The price that may be paid to spread each topic evenly; [`TopicSpread::Ties`] by default. Of this crate's
    /// strategies `balanced` heeds it.
    pub spread_topics: TopicSpread,
}

/// The price that `balanced` may pay to spread each topic evenly over members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TopicSpread {
    /// None: of placements with equal balance and equally few moves the most even one. In groups of more than some
    /// thousand pairs of a topic and a member the search for it may end early.
    #[default]
    Ties,
    /// Moves, at equal balance: of the placements with that balance the most even one, and of these one with the fewest
    /// moves. With a movement budget as much of that as fits: the search ends at the first step that the budget cannot
    /// pay for, so a more even placement within the budget may be left out.
    Moves,
}

impl TopicSpread {
    /// All values, in the order of their price.
    pub const ALL: [Self; 2] = [Self::Ties, Self::Moves];

    /// The name by which people and records know it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ties => "ties",
            Self::Moves => "moves",
        }
    }

    /// The value of that name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.name() == name)
    }
}

impl Options {
    /// The largest tolerance that makes sense: twice the mean.
    pub const MAX_TOLERANCE: u32 = 1_000;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tolerance: 20,
            acceptable_lag: 10_000,
            movement_budget: None,
            spread_topics: TopicSpread::Ties,
        }
    }
}
