//! The shape of a group: its size, subscriptions and racks.
//!
//! Kafka's side makes the same groups by the rules of `java/Shape.java`; digests of results show that it does.

use std::fmt;
use std::ops::Range;

use clap::ValueEnum;

/// The racks of members and brokers, in turn.
pub(crate) const RACKS: [&str; 3] = ["rack-a", "rack-b", "rack-c"];

/// The number of brokers that have each partition: fewer than there are racks, or racks would not matter.
pub(crate) const REPLICAS: usize = 2;

/// A group of many members. Numbers count from zero, and names sort as they do.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct Shape {
    /// The most members that there are: before one leaves, after one has joined.
    pub(crate) members: usize,
    /// The number of partitions of all topics together.
    pub(crate) partitions: usize,
    /// The number of topics, with as many partitions each.
    pub(crate) topics: usize,
    /// The subscriptions of members.
    pub(crate) subscriptions: Subscriptions,
    /// True if the racks of members and brokers are known.
    #[arg(action = clap::ArgAction::Set)]
    pub(crate) racks: bool,
}

/// The topics that members subscribe to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Subscriptions {
    /// Everybody to all.
    All,
    /// The first member to the first topic, the others to all.
    MixedA,
    /// Each to one of five equal parts.
    MixedB,
    /// Each to the first or to the last two thirds.
    MixedC,
    /// Everybody to all. Topics come in co-partitioned pairs, partitions weigh differently, and each wants a standby.
    Everything,
}

impl fmt::Display for Subscriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all",
            Self::MixedA => "mixed-a",
            Self::MixedB => "mixed-b",
            Self::MixedC => "mixed-c",
            Self::Everything => "everything",
        })
    }
}

impl Shape {
    pub(crate) fn partitions_per_topic(&self) -> usize {
        self.partitions / self.topics
    }

    /// The numbers of the topics that the member of that number subscribes to.
    pub(crate) fn interest(&self, member: usize) -> Range<usize> {
        let fifth = |part: usize| self.topics * part / 5;
        match self.subscriptions {
            Subscriptions::MixedA if member == 0 => 0..1,
            Subscriptions::All | Subscriptions::MixedA | Subscriptions::Everything => 0..self.topics,
            Subscriptions::MixedB => fifth(member % 5)..fifth(member % 5 + 1),
            Subscriptions::MixedC if member.is_multiple_of(2) => 0..self.topics * 2 / 3,
            Subscriptions::MixedC => self.topics / 3..self.topics,
        }
    }

    /// The number of the member's rack.
    pub(crate) fn rack(&self, member: usize) -> Option<usize> {
        self.racks.then_some(member % RACKS.len())
    }

    /// The numbers of the brokers that have a replica of the partition; broker `n` is in rack `n`.
    pub(crate) fn replicas(topic: usize, partition: usize) -> [usize; REPLICAS] {
        std::array::from_fn(|replica| (topic + partition + replica) % RACKS.len())
    }

    /// The number of topics that are co-partitioned with each other.
    pub(crate) fn set_size(&self) -> usize {
        if self.subscriptions == Subscriptions::Everything { 2 } else { 1 }
    }

    /// The work of a partition, from 1 to 5.5, if that matters.
    pub(crate) fn weight(&self, topic: usize, partition: usize) -> Option<f64> {
        let step = u8::try_from((topic * 31 + partition * 17) % 10).expect("it is less than ten");
        (self.subscriptions == Subscriptions::Everything).then(|| 1.0 + f64::from(step) / 2.0)
    }

    /// The number of standbys that each partition is to have.
    pub(crate) fn standbys(&self) -> u32 {
        u32::from(self.subscriptions == Subscriptions::Everything)
    }
}

pub(crate) fn topic_name(topic: usize) -> String {
    format!("topic-{topic:04}")
}

pub(crate) fn member_id(member: usize) -> String {
    format!("member-{member:05}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(subscriptions: Subscriptions) -> Shape {
        Shape { members: 10, partitions: 1_000, topics: 100, subscriptions, racks: true }
    }

    #[test]
    fn where_all_are_alike_everybody_wants_everything() {
        assert!((0..10).all(|member| shape(Subscriptions::All).interest(member) == (0..100)));
    }

    #[test]
    fn in_mixed_a_only_the_first_is_apart() {
        let shape = shape(Subscriptions::MixedA);
        assert_eq!([0, 1, 9].map(|member| shape.interest(member)), [0..1, 0..100, 0..100]);
    }

    #[test]
    fn in_mixed_b_five_parts_have_nothing_in_common_and_leave_nothing_out() {
        let shape = shape(Subscriptions::MixedB);
        let parts: Vec<_> = (0..5).flat_map(|member| shape.interest(member)).collect();
        assert_eq!(parts, (0..100).collect::<Vec<_>>());
        assert_eq!(shape.interest(7), shape.interest(2));
    }

    #[test]
    fn in_mixed_c_two_parts_overlap_by_a_third() {
        let shape = shape(Subscriptions::MixedC);
        assert_eq!([0, 1, 2].map(|member| shape.interest(member)), [0..66, 33..100, 0..66]);
    }

    #[test]
    fn racks_matter_as_no_partition_is_in_all() {
        assert_eq!(Shape::replicas(0, 0), [0, 1]);
        assert_eq!(Shape::replicas(1, 1), [2, 0]);
        assert_eq!([0, 4].map(|member| shape(Subscriptions::All).rack(member)), [Some(0), Some(1)]);
    }
}
