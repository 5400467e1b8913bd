//! The distance to which partitions are read ahead of their handlers: pure, with the bound on all of them together.

use rdkafka::ClientConfig;

/// So many partitions are read far ahead. Each may hold 3 MB of small records, which cost librdkafka more than their bytes,
/// and half of that otherwise.
const MOST_FULL: usize = 48;

/// The settings for those beyond them, unless the user sets others: each holds one fetch and a little more, some 200 KB. So
/// many partitions together are fast all the same, since each of them is fetched again while the others are handled.
const SHORT: [(&str, &str); 3] = [
    ("queued.max.messages.kbytes", "64"),
    ("queued.min.messages", "200"),
    ("fetch.message.max.bytes", "65536"),
];

/// The distance to which a partition is read ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadAhead {
    /// As the options say.
    Full,
    /// A short way, since many partitions are read.
    Short,
}

impl ReadAhead {
    /// That of one more partition, where `full` are read far ahead.
    pub(super) const fn beside(full: usize) -> Self {
        if full < MOST_FULL { Self::Full } else { Self::Short }
    }

    /// Sets what it needs; settings of users come after it.
    pub(super) fn apply(self, config: &mut ClientConfig) {
        if self == Self::Short {
            for (key, value) in SHORT {
                config.set(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_beyond_the_first_are_read_a_short_way_ahead() {
        let of = |full| ReadAhead::beside(full);
        assert_eq!(
            [of(0), of(MOST_FULL - 1), of(MOST_FULL)],
            [ReadAhead::Full, ReadAhead::Full, ReadAhead::Short]
        );
    }
}
