//! `range`: a run of each topic's partitions for each member.

mod by_rack;
mod share;

use std::borrow::Cow;

use super::reduction::{Counting, place};
use super::{Group, GroupAssignment, java, order};
use crate::strategy::Manner;
use crate::{MemberIndex, Placement, Problem, Strategy, TopicIndex, UnitIndex};
use share::Share;

/// Kafka's `RangeAssignor`: topic by topic, each subscriber in order (static ones first, then by
/// id) gets one run of partitions, the first ones a longer one if they do not come out even. With
/// racks (KIP-881) members get partitions nearby as far as that leaves the sizes as they are, and
/// topics with equal numbers of partitions and equal subscribers stay together.
pub fn range(group: &Group) -> GroupAssignment {
    let ordered = OrderedAudiences::of(group);
    let mut owned = vec![Vec::new(); group.members().len()];
    if by_rack::is_needed(group) {
        by_rack::assign(group, &ordered, &mut owned);
        owned.iter_mut().for_each(|units| units.sort_unstable());
    } else {
        for topic in topics_in_map_order(group) {
            let mut share = Share::of(group, topic, ordered.of_topic(group, topic));
            share.give_runs(|member, unit| owned[member.index()].push(unit));
        }
    }
    GroupAssignment::new(owned)
}

/// The units that each member has been given.
type Owned = Vec<Vec<UnitIndex>>;

/// The subscribers of topics in the order that counts here.
struct OrderedAudiences<'a>(Vec<Cow<'a, [MemberIndex]>>);

impl<'a> OrderedAudiences<'a> {
    fn of(group: &'a Group) -> Self {
        let is_static = group.members().iter().any(|member| member.instance.is_some());
        let ordered = group.audiences.iter().map(|audience| match is_static {
            true => order::of_members(group, audience.members.iter().copied()).into(),
            false => audience.members.as_slice().into(),
        });
        Self(ordered.collect())
    }

    fn of_topic(&self, group: &Group, topic: TopicIndex) -> &[MemberIndex] {
        &self.0[group.audience_of[topic.index()]]
    }
}

/// The served topics as Kafka's maps iterate over them. It collects all topics that members name
/// in a set, and then those that exist in a map.
fn topics_in_map_order(group: &Group) -> Vec<TopicIndex> {
    let mut existing = in_map_order(group, &group.named);
    existing.retain(|topic| group.is_served(*topic));
    in_map_order(group, &existing)
}

fn in_map_order(group: &Group, topics: &[TopicIndex]) -> Vec<TopicIndex> {
    let hashes = topics.iter().map(|topic| java::hash(&group.topics()[topic.index()].name));
    java::map_order(hashes).into_iter().map(|at| topics[at]).collect()
}

/// [`range`] as a strategy; how it treats what Kafka does not know, [the module](super) says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range;

impl Strategy for Range {
    fn name(&self) -> &'static str {
        "range"
    }

    fn summary(&self) -> &'static str {
        "Kafka's range: of each topic a run of partitions for each member"
    }

    fn manner(&self) -> Manner {
        Manner::Anew
    }

    fn assign(&self, problem: &Problem) -> Placement {
        place(problem, Counting::Ignored, range)
    }
}
