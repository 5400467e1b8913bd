//! The measured cases, with their sizes.

use std::fmt;

use clap::ValueEnum;

/// One case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Case {
    /// Records of 1 KiB, one call for each.
    #[value(name = "1k")]
    Kilobyte,
    /// Records of 100 bytes, one call for each.
    #[value(name = "100b")]
    Small,
    /// Records of 100 bytes in batches.
    #[value(name = "100b-batch")]
    SmallBatch,
    /// No records at all.
    Idle,
    /// Many partitions whose records are taken up slowly.
    Backlog,
}

impl Case {
    /// All of them; those with few partitions first, while the broker has few.
    pub(super) const ALL: [Self; 5] =
        [Self::Kilobyte, Self::Small, Self::SmallBatch, Self::Idle, Self::Backlog];

    /// The partitions of its topic.
    pub(super) const fn partitions(self) -> u32 {
        match self {
            Self::Kilobyte | Self::Small | Self::SmallBatch => 16,
            Self::Idle => 900,
            Self::Backlog => 1_000,
        }
    }

    /// The topic that it reads; cases may share one.
    pub(super) const fn topic(self) -> &'static str {
        match self {
            Self::Kilobyte => "kilobytes",
            Self::Small | Self::SmallBatch => "small",
            Self::Idle => "silent",
            Self::Backlog => "backlog",
        }
    }

    /// The number and the size in bytes of the records of one of its partitions.
    ///
    /// A run of `1k` or `100b` takes about a second of CPU. A backlog is several times what a reader may fetch ahead: half
    /// of its partitions have small records, each of which costs librdkafka more than its bytes.
    pub(super) const fn records_of(self, partition: u32) -> (u64, usize) {
        match self {
            Self::Kilobyte => (40_000, 1024),
            Self::Small | Self::SmallBatch => (125_000, 100),
            Self::Idle => (0, 0),
            Self::Backlog if partition.is_multiple_of(2) => (1_000, 1024),
            Self::Backlog => (8_000, 100),
        }
    }

    /// All records of its topic.
    pub(super) fn records(self) -> u64 {
        (0..self.partitions()).map(|partition| self.records_of(partition).0).sum()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("unnamed", |value| value.get_name()))
    }
}
