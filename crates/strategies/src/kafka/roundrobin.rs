//! `roundrobin`: partition after partition to member after member.

use super::reduction::{Counting, place};
use super::{Group, GroupAssignment, order};
use crate::strategy::Manner;
use crate::{MemberIndex, Placement, Problem, Strategy, TopicIndex};

/// Kafka's `RoundRobinAssignor`: goes once around the members, static ones first and then by id,
/// over and over, and gives each partition, by topic and number, to the next that is subscribed
/// to its topic. Looks neither at racks nor at what any member owns.
pub fn roundrobin(group: &Group) -> GroupAssignment {
    let circle = order::of_members(group, group.member_indices());
    let mut owned = vec![Vec::new(); circle.len()];
    let mut cursor = 0;
    let mut known = vec![None; group.audiences.len()];
    for topic in group.served_topics() {
        let known = &mut known[group.audience_of[topic.index()]];
        let stops = known.get_or_insert_with(|| Stops::of(group, topic, &circle));
        for unit in group.units_of(topic) {
            let stop = stops.from(cursor);
            owned[circle[stop].index()].push(unit);
            cursor = (stop + 1) % circle.len();
        }
    }
    GroupAssignment::new(owned)
}

/// The places on the circle where a topic's partitions can go.
#[derive(Clone)]
enum Stops {
    Everywhere,
    Some(Vec<usize>),
}

impl Stops {
    fn of(group: &Group, topic: TopicIndex, circle: &[MemberIndex]) -> Self {
        if group.audience(topic).members.len() == circle.len() {
            return Self::Everywhere;
        }
        let wants = |at: &usize| group.class_of(circle[*at]).wants(topic);
        Self::Some((0..circle.len()).filter(wants).collect())
    }

    /// The first one at or after `cursor`, going around.
    fn from(&self, cursor: usize) -> usize {
        match self {
            Self::Everywhere => cursor,
            Self::Some(stops) => {
                let next = stops.partition_point(|stop| *stop < cursor);
                *stops.get(next).or(stops.first()).expect("a served topic has subscribers")
            }
        }
    }
}

/// [`roundrobin`] as a strategy; how it treats what Kafka does not know, [the module](super) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RoundRobin;

impl Strategy for RoundRobin {
    fn name(&self) -> &'static str {
        "roundrobin"
    }

    fn summary(&self) -> &'static str {
        "Kafka's round robin: all partitions in order to all members in turn"
    }

    fn manner(&self) -> Manner {
        Manner::Anew
    }

    fn assign(&self, problem: &Problem) -> Placement {
        place(problem, Counting::Ignored, roundrobin)
    }
}
