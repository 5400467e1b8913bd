//! Kafka's own strategies, on what Kafka knows: exactly its results.

use kafka_assigner_strategies::kafka::{
    Group, GroupAssignment, GroupBuilder, GroupMemberSpec, cooperative_sticky, range, roundrobin, sticky,
};
use kafka_assigner_strategies::sets;
use kafka_assigner_strategies::{InvalidProblem, MemberIndex, Placement, Problem, Unassigned, UnitIndex};

use super::reason::UnplacedReason;
use crate::assign::read::checked::Checked;
use crate::assign::read::input::{InputMember, InputTopic, State};

/// A function that decides as one of Kafka's classes does.
pub(in crate::assign) type Assignor = fn(&Group) -> GroupAssignment;

/// Kafka's own class of that name.
pub(in crate::assign) fn assignor(strategy: &str) -> Option<Assignor> {
    match strategy {
        "range" => Some(range),
        "roundrobin" => Some(roundrobin),
        "sticky" => Some(sticky),
        "cooperative-sticky" => Some(cooperative_sticky),
        _ => None,
    }
}

/// True if Kafka could say everything that the line says of who may own what.
pub(in crate::assign) fn says_it_all(line: &Checked<'_>) -> bool {
    let plain = |member: &InputMember| member.state == State::Active && member.max_partitions.is_none();
    line.pins.is_empty()
        && line.bans.is_empty()
        && line.sets.is_empty()
        && line.input.members.iter().all(plain)
}

/// The answer of Kafka's class.
#[derive(Debug)]
pub(in crate::assign) struct Assigned {
    pub(in crate::assign) placement: Placement,
    /// By member, in Kafka's order.
    pub(in crate::assign) owned: Vec<Vec<UnitIndex>>,
    /// The partitions that nobody gets, ascending, and why.
    pub(in crate::assign) unassigned: Vec<(UnitIndex, UnplacedReason)>,
}

/// Places the partitions of `problem`, which is the line's, as Kafka would; with the fewest moves that take members to
/// as many partitions.
///
/// # Errors
/// None for a checked line.
pub(in crate::assign) fn place(
    line: &Checked<'_>,
    problem: &Problem,
    assignor: Assignor,
) -> Result<(Assigned, usize), InvalidProblem> {
    let group = group(line)?;
    let assignment = assignor(&group);
    let (owned, owner) = by_member(problem, &group, &assignment);
    let mut placement = Placement::of(problem, owner);
    let nobodys = std::mem::take(&mut placement.unassigned);
    let unassigned = unassigned(problem, &group, &assignment, nobodys);
    let moves_lower_bound = placement.moves_lower_bound(problem);
    Ok((Assigned { placement, owned, unassigned }, moves_lower_bound))
}

/// The line as Kafka sees it.
fn group(line: &Checked<'_>) -> Result<Group, InvalidProblem> {
    let mut builder = Group::builder();
    line.input.topics.iter().for_each(|topic| add_topic(&mut builder, topic));
    line.input.members.iter().for_each(|member| add_member(&mut builder, line, member));
    builder.build()
}

fn add_topic(builder: &mut GroupBuilder, InputTopic(name, partitions, racks, _): &InputTopic) {
    let topic = builder.topic(name.as_str(), *partitions);
    for (partition, racks) in (0..).zip(racks.iter().flatten()) {
        builder.replicas(topic, partition, racks.0.iter().map(String::as_str));
    }
}

fn add_member(builder: &mut GroupBuilder, line: &Checked<'_>, member: &InputMember) {
    // A topic that does not exist makes subscriptions differ nevertheless.
    let topics: Vec<_> = member
        .topics
        .iter()
        .map(|name| builder.topic_handle(name).unwrap_or_else(|| builder.topic(name.as_str(), 0)))
        .collect();
    let subscription = builder.subscription(topics);
    let handle = builder.member(GroupMemberSpec {
        instance: member.instance.as_deref().map(Into::into),
        rack: member.rack.as_deref().map(Into::into),
        generation: member.claimed_in,
        ..GroupMemberSpec::new(member.id.as_str(), subscription)
    });
    for (name, partitions) in
        member.owned.iter().flatten().filter(|(name, _)| line.topics.contains_key(&**name))
    {
        let topic = builder.topic_handle(name).expect("the line's topics were told first");
        builder.claims(handle, topic, partitions.iter().filter_map(|number| i32::try_from(*number).ok()));
    }
}

/// The partition of `problem` that `unit` of `group` is; they are sorted differently.
fn partition(problem: &Problem, group: &Group, unit: UnitIndex) -> UnitIndex {
    let (topic, partition) = group.topic_of(unit);
    let topic = problem.topic_named(&group.topics()[topic.index()].name);
    problem.unit(topic.expect("what is given exists"), partition)
}

/// By member, in the order of `problem`, what it gets in Kafka's order; and by partition who gets it.
fn by_member(
    problem: &Problem,
    group: &Group,
    assignment: &GroupAssignment,
) -> (Vec<Vec<UnitIndex>>, Vec<Option<MemberIndex>>) {
    let mut owned = vec![Vec::new(); problem.members().len()];
    let mut owner = vec![None; problem.units()];
    for (member, of_member) in problem.member_indices().zip(&mut owned) {
        let known = group.member_named(&problem.member(member).id).expect("both have the line's members");
        of_member.extend(assignment.of(known).iter().map(|unit| partition(problem, group, *unit)));
        of_member.iter().for_each(|unit| owner[unit.index()] = Some(member));
        of_member.sort_by_key(|unit| problem.topic_of(*unit).0);
    }
    (owned, owner)
}

fn unassigned(
    problem: &Problem,
    group: &Group,
    assignment: &GroupAssignment,
    nobodys: Vec<(UnitIndex, Unassigned)>,
) -> Vec<(UnitIndex, UnplacedReason)> {
    let mut withheld: Vec<_> =
        assignment.withheld().iter().map(|(unit, _)| partition(problem, group, *unit)).collect();
    withheld.sort_unstable();
    let why = |(unit, reason): (UnitIndex, Unassigned)| match withheld.binary_search(&unit) {
        Ok(_) => (unit, UnplacedReason::Withheld),
        Err(_) => (unit, UnplacedReason::Unassigned(sets::PartitionReason::OfPartition(reason))),
    };
    nobodys.into_iter().map(why).collect()
}
