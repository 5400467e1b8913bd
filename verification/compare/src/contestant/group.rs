//! Strategies that are asked what a Kafka group says of itself.

use std::sync::Arc;

use kafka_assigner_strategies::kafka::wire::{StickyUserData, TopicPartitions};
use kafka_assigner_strategies::kafka::{
    Group, GroupAssignment, GroupBuilder, GroupMemberSpec, SubscriptionHandle,
};
use kafka_assigner_strategies::{MemberHandle, MemberIndex, TopicHandle};

use crate::holdings::Holdings;
use crate::input::{Input, Member, Topic};
use crate::output::Shares;

/// The generation of everything that is owned.
const GENERATION: i32 = 1;

pub(super) fn solve(assign: fn(&Group) -> GroupAssignment, input: &Input) -> Shares<'_> {
    let group = group(input);
    named(input, &group, &assign(&group))
}

/// The group that `input` describes.
fn group(input: &Input) -> Group {
    let mut builder = Group::builder();
    for topic in &input.topics {
        let handle = builder.topic(topic.name.clone(), topic.partitions);
        tell_replicas(&mut builder, input, topic, handle);
    }
    let mut interests = Interests::default();
    for member in &input.members {
        if member.user_data.is_empty() {
            tell_owner(&mut builder, &mut interests, input, member);
        } else {
            tell_claims(&mut builder, &mut interests, member);
        }
    }
    builder.build().expect("names are distinct and partitions exist")
}

fn tell_replicas(builder: &mut GroupBuilder, input: &Input, topic: &Topic, handle: TopicHandle) {
    for (replicas, partition) in topic.replicas.iter().zip(0..) {
        builder.replicas(handle, partition, replicas.iter().map(|broker| &*input.racks[*broker]));
    }
}

/// The lists of topics that members subscribe to. Each name of each is looked at, as by Kafka's classes: to see that it
/// is the one, by reference, that another list has in that place, or else to look it up.
#[derive(Default)]
struct Interests<'a>(Vec<(&'a [Arc<str>], SubscriptionHandle)>);

impl<'a> Interests<'a> {
    fn of(&mut self, builder: &mut GroupBuilder, topics: &'a [Arc<str>]) -> SubscriptionHandle {
        let is_same = |list: &[Arc<str>]| {
            list.len() == topics.len() && list.iter().zip(topics).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        if let Some((_, known)) = self.0.iter().find(|(list, _)| is_same(list)) {
            return *known;
        }
        let named = topics.iter().map(|name| builder.topic_handle(name).expect("topics are known"));
        let named: Vec<_> = named.collect();
        let handle = builder.subscription(named);
        self.0.push((topics, handle));
        handle
    }
}

fn tell_member<'a>(
    builder: &mut GroupBuilder,
    interests: &mut Interests<'a>,
    member: &'a Member,
    generation: Option<i32>,
) -> MemberHandle {
    let spec = GroupMemberSpec::new(member.id.clone(), interests.of(builder, &member.topics));
    builder.member(GroupMemberSpec { generation, rack: member.rack.clone(), ..spec })
}

/// Tells a member that says in names what it owns. Looks up a topic once for all of its partitions.
fn tell_owner<'a>(
    builder: &mut GroupBuilder,
    interests: &mut Interests<'a>,
    input: &'a Input,
    member: &'a Member,
) {
    let handle = tell_member(builder, interests, member, (!member.owned.is_empty()).then_some(GENERATION));
    for (topic, partitions) in member.owned.by_topic() {
        let topic = builder.topic_handle(input.name(topic)).expect("only known topics are owned");
        builder.claims(handle, topic, partitions.iter().map(|partition| partition.cast_signed()));
    }
}

/// Tells a member that says so in the user data of `sticky`.
fn tell_claims<'a>(builder: &mut GroupBuilder, interests: &mut Interests<'a>, member: &'a Member) {
    let user_data = StickyUserData::read(&member.user_data);
    let handle = tell_member(builder, interests, member, user_data.generation);
    for TopicPartitions { topic, partitions } in user_data.partitions {
        let topic = builder.topic_handle(topic).expect("only known topics are owned");
        builder.claims(handle, topic, partitions);
    }
}

/// The bytes that the member's own `sticky` would send along.
pub(super) fn user_data(topics: &[Topic], owned: &Holdings) -> Vec<u8> {
    let name = |topic: u32| &*topics[topic as usize].name;
    let mut owned: Vec<_> = owned.iter().map(|(topic, partition)| (name(topic), partition)).collect();
    owned.sort_unstable();
    let by_topic = owned.chunk_by(|a, b| a.0 == b.0).map(|run| TopicPartitions {
        topic: run[0].0,
        partitions: run.iter().map(|(_, partition)| partition.cast_signed()).collect(),
    });
    StickyUserData { partitions: by_topic.collect(), generation: Some(GENERATION) }.write()
}

/// The contents of `assignment`, in the names of `input`.
fn named<'a>(input: &'a Input, group: &Group, assignment: &GroupAssignment) -> Shares<'a> {
    let members = || (0..group.members().len()).map(MemberIndex::new);
    let topics: Vec<_> = input.sets().map(|set| &set[0].name).collect();
    let name = |unit| {
        let (topic, partition) = group.topic_of(unit);
        (topics[topic.index()], partition)
    };
    let mut shares = Shares::with_sizes(input, members().map(|member| assignment.of(member).len()));
    for member in members() {
        shares.of(member).partitions.extend(assignment.of(member).iter().map(|unit| name(*unit)));
    }
    for (unit, member) in assignment.withheld() {
        shares.of(*member).later.push(name(*unit));
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Shape, Subscriptions};

    #[test]
    fn what_members_note_for_themselves_is_what_they_own() {
        let subscriptions = Subscriptions::All;
        let shape = Shape { members: 2, partitions: 8, topics: 2, subscriptions, racks: false };
        let mut input = Input::new(&shape, &[0, 1]);

        input.members[1].owned = [(1, 3), (0, 0), (1, 1)].into_iter().collect();
        let told = group(&input);
        input.members[1].user_data = user_data(&input.topics, &input.members[1].owned);
        let noted = group(&input);
        let claims = |group: &Group| {
            let mut claims = group.claims_of(MemberIndex::new(1)).to_vec();
            claims.sort_unstable();
            (claims, group.members()[1].generation)
        };
        assert_eq!(claims(&noted), claims(&told));
        assert_eq!(claims(&noted).0.len(), 3);
    }
}
