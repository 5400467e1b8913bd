//! Groups of a given size.

use std::fmt;

use kafka_assigner_core::record::GroupConfig;
use kafka_assigner_core::test_group::TestGroup;

/// The size of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) partitions: u32,
    pub(super) consumers: u32,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} partitions, {} consumers", self.partitions, self.consumers)
    }
}

impl Size {
    /// A group with everybody registered and nothing assigned. Its budgets are out of the way, so that one plan
    /// begins every handoff.
    pub(super) fn unplanned(self) -> TestGroup {
        let mut group = TestGroup::with_topics(&[("topic", self.partitions)]);
        let most = 1_000_000;
        let config = GroupConfig { max_moves_in_flight: most, max_warming: most, ..GroupConfig::default() };
        group.configure(&config);
        for number in 0..self.consumers {
            group.join(&format!("consumer-{number:04}"));
        }
        group
    }
}
