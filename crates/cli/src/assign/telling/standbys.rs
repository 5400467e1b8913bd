//! What members hold as standby.

use std::collections::BTreeMap;

use super::Telling;

/// How a member keeps up with a unit.
#[derive(Debug, Default)]
struct Copies {
    /// Of how many of its partitions it has a copy.
    partitions: usize,
    /// How far these are behind, together.
    lag: u64,
}

impl Telling<'_> {
    /// A member is a standby of a unit if it holds every one of its partitions that anybody holds as standby; the
    /// lags add up.
    pub(super) fn standbys(&mut self) {
        let held = self.held();
        let mut most: BTreeMap<(usize, u32), Vec<usize>> = BTreeMap::new();
        for (topic, partition, _) in held.keys() {
            let topics = most.entry((self.layout.set_of[*topic], *partition)).or_default();
            topics.extend((topics.last() != Some(topic)).then_some(*topic));
        }
        let mut copies: BTreeMap<(usize, u32, usize), Copies> = BTreeMap::new();
        for ((topic, partition, member), lag) in held {
            let unit = copies.entry((self.layout.set_of[topic], partition, member)).or_default();
            unit.partitions += 1;
            unit.lag = unit.lag.saturating_add(lag);
        }
        for ((set, partition, member), unit) in copies {
            if unit.partitions == most[&(set, partition)].len() {
                self.builder.standby(self.topics[set], partition, self.members[member], unit.lag);
            }
        }
    }

    /// By topic, partition and member the lag of the copies that there are; of two reports the smaller. As with
    /// claims, what does not exist or is not subscribed to does not count.
    fn held(&self) -> BTreeMap<(usize, u32, usize), u64> {
        let mut held = BTreeMap::new();
        for (at, member) in self.line.input.members.iter().enumerate() {
            for (name, partitions) in &member.standby_for {
                let Some(topic) = self.line.topic_of(at, name) else { continue };
                for copy in partitions {
                    let Some(partition) = self.line.partition(topic, copy.partition) else { continue };
                    let lag = held.entry((topic, partition, at)).or_insert(copy.lag);
                    *lag = copy.lag.min(*lag);
                }
            }
        }
        held
    }
}
