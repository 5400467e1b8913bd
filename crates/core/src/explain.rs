//! The causes for the place of one partition: what the records say of it, and what a plan makes of it.

use std::fmt;

use crate::action::Step;
use crate::begun::{GrantStage, grant_stage};
use crate::facts::rest_awaited;
use crate::failing::failure;
use crate::leader::busy_member;
use crate::plan::{Deferral, NoPlan, Plan};
use crate::reason::{CancelReason, DeferReason, Reason};
use crate::record::{DeathSign, Handoff, Phase, RecordFailure, Stop, Suspicion, UnbegunGrant};
use crate::state::{Entry, GroupState, Presence};
use crate::stops::standing;
use kafka_assigner_types::id::{Epoch, TopicPartition};
use kafka_assigner_types::name::MemberName;

/// One thing that counts for where a partition is.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// A record of the partition can't be read, so it is left alone.
    Unreadable {
        /// The error.
        error: String,
    },
    /// The group does not have its topic, or not so many partitions of it.
    NotInGroup,
    /// Nobody owns it.
    Unowned,
    /// Somebody owns it.
    Owned {
        /// The owner.
        owner: MemberName,
        /// The state of the owner's session, as far as it is known.
        presence: Presence,
        /// The mark that the process of the owner seems to be dead.
        suspected: Option<Suspicion>,
        /// Under which epoch.
        epoch: Epoch,
        /// The reason for this owner.
        why: Reason,
    },
    /// Its owner has not begun it, or has not said so.
    NotBegun {
        /// The owner.
        owner: MemberName,
        /// The owner's words; `None`: no report of it covers the grant.
        grant: Option<UnbegunGrant>,
    },
    /// Its owner says that its next record has failed for long.
    Failing {
        /// The owner.
        owner: MemberName,
        /// The record.
        failure: RecordFailure,
    },
    /// A consumer was fenced of it, and has not said that it dropped it.
    Fenced {
        /// The consumer.
        consumer: MemberName,
        /// The highest epoch under which it may not act.
        epoch: Epoch,
    },
    /// An owner of it stopped before a record.
    Stopped {
        /// The mark.
        stop: Stop,
        /// True if it stands now; false = the present owner has its try.
        stands: bool,
    },
    /// It is on the move, alone or with others.
    Moving {
        /// The member that gives.
        from: MemberName,
        /// The member that takes.
        to: MemberName,
        /// The phase of the handoff.
        phase: Phase,
        /// The condition that the handoff waits for.
        waits_for: WaitsFor,
        /// The number of partitions that move as one.
        partitions: usize,
        /// The reason for the move.
        why: Reason,
    },
    /// The last move was called off.
    Cancelled {
        /// The consumer that was to take it.
        to: MemberName,
        /// The reason; unknown where the record does not say.
        why: Option<CancelReason>,
    },
    /// Moves to a consumer failed, and it is passed over for a while.
    Avoided {
        /// The consumer.
        consumer: MemberName,
        /// The number of failures in a row.
        failures: u32,
    },
    /// A plan would do something with it.
    Next {
        /// The step.
        step: Step,
    },
    /// A plan would do something with it and can't yet.
    Deferred {
        /// The member that would get it, where that is known.
        to: Option<MemberName>,
        /// The reason for the delay.
        why: DeferReason,
    },
    /// A plan leaves it where it is.
    Stays {
        /// The strategy that was asked.
        strategy: String,
    },
    /// Nothing is planned in the group at all.
    NotPlanned {
        /// The reason.
        why: NoPlan,
    },
}

/// The condition that a handoff waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitsFor {
    /// The new owner builds its state.
    WarmUp(MemberName),
    /// The leader makes the switch.
    Switch,
    /// The routers hold requests back.
    Freezing(Vec<MemberName>),
    /// The old owner says where it stopped.
    Draining(MemberName),
    /// The new owner reads what is left.
    CatchUp(MemberName),
    /// The new owner says that it processes.
    Taking(MemberName),
    /// The old owner lets go.
    Release(MemberName),
    /// The old owner, which was fenced, says that it dropped it, or its claims end.
    Fence(MemberName),
    /// The session of the old owner ends, whose process seems to be dead.
    EndOfSession(MemberName),
    /// The member whose turn it is finishes a record that takes long.
    Record(MemberName),
    /// The leader clears it away.
    Clearing,
}

impl fmt::Display for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WarmUp(name) => write!(f, "{name} to warm up"),
            Self::Switch => f.write_str("the leader to make the switch"),
            Self::Freezing(missing) => {
                f.write_str("the routers")?;
                missing.iter().try_for_each(|router| write!(f, " {router}"))?;
                f.write_str(" to hold requests back")
            }
            Self::Draining(name) => write!(f, "{name} to stop and say where"),
            Self::CatchUp(name) => write!(f, "{name} to read what is left of the log"),
            Self::Taking(name) => write!(f, "{name} to say that it processes"),
            Self::Release(name) => write!(f, "{name} to let go"),
            Self::Fence(name) => {
                write!(f, "{name}, which was fenced of it, to drop it, or for its time to live")
            }
            Self::EndOfSession(name) => write!(f, "the session of {name} to end"),
            Self::Record(name) => write!(f, "{name} to finish the record that it is busy with"),
            Self::Clearing => f.write_str("the leader to clear it away"),
        }
    }
}

/// The members and conditions that `handoff` waits for.
#[must_use]
pub fn waits_for(state: &GroupState, handoff: &Handoff) -> WaitsFor {
    if handoff.is_fenced && handoff.phase == Phase::Draining {
        return WaitsFor::Fence(handoff.old.name.clone());
    }
    if let Some(member) = busy_member(state, handoff) {
        return WaitsFor::Record(member.name.clone());
    }
    match handoff.phase {
        Phase::Warming => WaitsFor::WarmUp(handoff.new.name.clone()),
        Phase::Ready if state.waits_for_end(handoff) => WaitsFor::EndOfSession(handoff.old.name.clone()),
        Phase::Ready if rest_awaited(state, handoff) => WaitsFor::Record(handoff.old.name.clone()),
        Phase::Ready => WaitsFor::Switch,
        Phase::Freezing => WaitsFor::Freezing(state.missing_routers(handoff)),
        Phase::Draining => WaitsFor::Draining(handoff.old.name.clone()),
        Phase::CatchingUp => WaitsFor::CatchUp(handoff.new.name.clone()),
        Phase::Complete if handoff.taken.is_none() => WaitsFor::Taking(handoff.new.name.clone()),
        Phase::Complete => WaitsFor::Release(handoff.old.name.clone()),
        Phase::Cancelled => WaitsFor::Clearing,
    }
}

/// The facts that count for the partition `at`, the most important first. `planned` is what would be done now; nothing
/// of it is.
#[must_use]
pub fn explain(state: &GroupState, at: &TopicPartition, planned: Result<&Plan, &NoPlan>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let error = state.error_at(at).or_else(|| state.topics().get(&at.topic).and_then(Entry::error));
    causes.extend(error.map(|error| Cause::Unreadable { error: error.to_owned() }));
    if !state.exists(at) {
        causes.push(Cause::NotInGroup);
    }
    causes.push(ownership(state, at));
    causes.extend(not_begun(state, at));
    causes.extend(failing(state, at));
    causes.extend(fenced(state, at));
    causes.extend(stop(state, at));
    causes.extend(state.handoff_of(at).map(|handoff| movement(state, handoff)));
    causes.extend(avoided(state, at));
    causes.extend(match planned {
        Ok(plan) => outlook(plan, at, state.handoff_of(at).is_some()),
        Err(why) => Some(Cause::NotPlanned { why: why.clone() }),
    });
    causes
}

fn ownership(state: &GroupState, at: &TopicPartition) -> Cause {
    let assignment = state.assignment(at);
    match assignment.and_then(|assignment| Some((assignment, assignment.owner.as_ref()?))) {
        None => Cause::Unowned,
        Some((assignment, owner)) => Cause::Owned {
            owner: owner.name.clone(),
            presence: state.presence(&owner.member()),
            suspected: state.suspicion(&owner.member()).cloned(),
            epoch: assignment.held_epoch(),
            why: assignment.why.clone(),
        },
    }
}

fn not_begun(state: &GroupState, at: &TopicPartition) -> Option<Cause> {
    let grant = match grant_stage(state, at)? {
        GrantStage::Begun => return None,
        GrantStage::NotBegun(grant) => Some(grant.clone()),
        GrantStage::Granted => None,
    };
    Some(Cause::NotBegun { owner: state.owner(at)?.name, grant })
}

fn failing(state: &GroupState, at: &TopicPartition) -> Option<Cause> {
    let failure = failure(state, at)?.clone();
    Some(Cause::Failing { owner: state.owner(at)?.name, failure })
}

fn fenced<'s>(state: &'s GroupState, at: &'s TopicPartition) -> impl Iterator<Item = Cause> + 's {
    let readable = state.consumers().iter().filter_map(|(name, entry)| Some((name, entry.readable()?)));
    readable.filter_map(|(name, consumer)| {
        let epoch = consumer.fenced_epoch(at)?;
        Some(Cause::Fenced { consumer: name.clone(), epoch })
    })
}

fn stop(state: &GroupState, at: &TopicPartition) -> Option<Cause> {
    let stop = state.assignment(at)?.stop.clone()?;
    Some(Cause::Stopped { stop, stands: standing(state, at).is_some() })
}

fn movement(state: &GroupState, handoff: &Handoff) -> Cause {
    if handoff.phase == Phase::Cancelled {
        return Cause::Cancelled { to: handoff.new.name.clone(), why: handoff.cancelled.clone() };
    }
    Cause::Moving {
        from: handoff.old.name.clone(),
        to: handoff.new.name.clone(),
        phase: handoff.phase,
        waits_for: waits_for(state, handoff),
        partitions: handoff.unit.len(),
        why: handoff.why.clone(),
    }
}

fn avoided<'s>(state: &'s GroupState, at: &TopicPartition) -> impl Iterator<Item = Cause> + 's {
    let avoid = state.assignment(at).map_or(&[][..], |assignment| &assignment.avoid);
    avoid.iter().map(|avoid| Cause::Avoided { consumer: avoid.consumer.clone(), failures: avoid.failures })
}

/// A plan that has nothing for a partition on the move lets the move go on, which its other causes say.
fn outlook(plan: &Plan, at: &TopicPartition, moves: bool) -> Option<Cause> {
    if let Some(action) = plan.actions.iter().find(|action| action.unit.contains(at)) {
        return Some(Cause::Next { step: action.step.clone() });
    }
    match plan.deferred.iter().find(|deferral| deferral.unit.contains(at)) {
        Some(Deferral { to, why, .. }) => Some(Cause::Deferred { to: to.clone(), why: why.clone() }),
        None => (!moves).then(|| Cause::Stays { strategy: plan.strategy.clone() }),
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { error } => {
                write!(f, "It is left alone, since a record can't be read: {error}.")
            }
            Self::NotInGroup => f.write_str("The group does not have this partition."),
            Self::Unowned => f.write_str("Nobody owns it."),
            Self::Owned { owner, presence, suspected, epoch, why } => {
                write!(f, "{owner} owns it at epoch {epoch}{}: {why}.", aside(*presence, suspected.as_ref()))
            }
            Self::NotBegun { owner, grant: Some(grant) } => write!(f, "{owner} has not begun it: {grant}."),
            Self::NotBegun { owner, grant: None } => {
                write!(f, "It is granted, and {owner} has not said yet that it has begun.")
            }
            Self::Failing { owner, failure } => write!(
                f,
                "At {owner}, {failure}. It goes on by itself once the record can be handled: mend what the error names, or \
                 have the error policy of the consumer pass it over or stop. It does not stand, so that `resume` does not \
                 apply."
            ),
            Self::Fenced { consumer, epoch } => write!(
                f,
                "{consumer} is fenced of it up to epoch {epoch}, since it never let go, and has not said that it dropped it."
            ),
            Self::Stopped { stop, stands } => stop_sentence(f, stop, *stands),
            Self::Moving { from, to, phase, waits_for, partitions, why } => {
                write!(f, "It moves from {from} to {to}")?;
                if *partitions > 1 {
                    write!(f, " with {} others", partitions - 1)?;
                }
                write!(f, " and is {phase}, waiting for {waits_for}; it moves because {why}.")
            }
            Self::Cancelled { to, why: Some(why) } => write!(f, "The move to {to} was called off: {why}."),
            Self::Cancelled { to, why: None } => write!(f, "The move to {to} was called off."),
            Self::Avoided { consumer, failures: 1 } => write!(
                f,
                "The last move to {consumer} failed or was called off; it is passed over for a while."
            ),
            Self::Avoided { consumer, failures } => {
                write!(
                    f,
                    "The last {failures} moves to {consumer} failed or were called off; it is passed over for a while."
                )
            }
            Self::Next { step } => write!(f, "Next: {step}."),
            Self::Deferred { to: Some(to), why } => write!(f, "It would go to {to}, but {why}."),
            Self::Deferred { to: None, why } => write!(f, "It has to wait: {why}."),
            Self::Stays { strategy } => write!(f, "{strategy} leaves it where it is."),
            Self::NotPlanned { why } => write!(f, "Nothing is planned: {why}."),
        }
    }
}

fn stop_sentence(f: &mut fmt::Formatter<'_>, stop: &Stop, stands: bool) -> fmt::Result {
    let Stop { offset, reason, consumer, earlier, resumed, .. } = stop;
    let stopped = match stop.is_of_drain {
        true => format!("could not end its work before offset {offset}"),
        false => format!("stopped before the record at offset {offset}"),
    };
    match (earlier, resumed) {
        (_, Some(_)) => write!(f, "{consumer} {stopped}, and it is being resumed: {reason}."),
        (Some(earlier), None) => write!(
            f,
            "{earlier} and then {consumer} {stopped}, so nobody is granted it until it is resumed: {reason}."
        ),
        (None, None) if stands && !stop.is_of_drain => {
            write!(f, "{consumer} stands before the record at offset {offset}: {reason}.")
        }
        (None, None) if stands => write!(f, "{consumer} {stopped}, and stands: {reason}."),
        (None, None) => write!(f, "Its earlier owner {consumer} {stopped}: {reason}."),
    }
}

fn aside(presence: Presence, suspected: Option<&Suspicion>) -> String {
    match (presence, suspected) {
        (Presence::Here, Some(mark)) => {
            let (sign, by) = (sign_words(&mark.sign), &mark.by);
            format!(", though its process seems to be dead, since {sign}, as {by} saw")
        }
        (Presence::Here, None) => String::new(),
        (Presence::Ending, _) => ", though its session is being ended".to_owned(),
        (Presence::Gone, _) => ", though its session is over".to_owned(),
        (Presence::Unknown, _) => ", though its registration can't be read".to_owned(),
    }
}

fn sign_words(sign: &DeathSign) -> &str {
    match sign {
        DeathSign::Detached => "its stream ended",
        DeathSign::Silent => "its heartbeats stopped",
        DeathSign::Other(sign) => sign,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::Ack;
    use crate::key::Key;
    use crate::test_group::{TestGroup, tp};
    use kafka_assigner_types::id::Member;

    fn told(group: &TestGroup, at: &TopicPartition) -> Vec<String> {
        explain(&group.state, at, Ok(&group.plan())).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_settled_partition_is_explained_by_its_owner_and_the_strategy() {
        let mut group = TestGroup::with_topics(&[("t", 1)]);
        group.join("a");
        group.settle();
        let told = told(&group, &tp("t", 0));
        assert!(
            told[0].starts_with("a owns it at epoch") && told[0].ends_with("it had no owner."),
            "{told:?}"
        );
        assert_eq!(told[1], "balanced leaves it where it is.");
    }

    #[test]
    fn a_suspected_owner_is_explained_with_the_sign_and_with_the_instance_that_saw_it() {
        let mut group = TestGroup::with_topics(&[("t", 1)]);
        let a = group.join("a");
        group.settle();
        group.suspect(&a, DeathSign::Detached);
        let told = told(&group, &tp("t", 0));
        let by = &group.state.suspicion(&a).unwrap().by;
        let expected = format!("its process seems to be dead, since its stream ended, as {by} saw");
        assert!(!by.is_empty() && told[0].contains(&expected), "{told:?}");
    }

    #[test]
    fn an_owner_is_explained_with_the_epoch_that_it_holds_while_another_one_catches_up() {
        let (group, at) = crate::test_group::catching_up();
        let assignment = group.state.assignment(&at).unwrap();
        let Cause::Owned { epoch, .. } = ownership(&group.state, &at) else { panic!("it is owned") };
        assert!(assignment.reserved_epoch().is_some_and(|reserved| reserved > epoch), "{assignment:?}");
        assert_eq!(epoch, assignment.held_epoch());
    }

    /// A partition on its way to the second consumer.
    fn moving() -> (TestGroup, Member, TopicPartition) {
        let mut group = TestGroup::with_topics(&[("t", 2)]);
        group.join("a");
        group.settle();
        let b = group.join("b");
        group.pass();
        let at = group.state.handoffs().keys().next().unwrap().clone();
        (group, b, at)
    }

    #[test]
    fn a_move_says_what_it_waits_for() {
        let (mut group, b, at) = moving();
        assert!(told(&group, &at)[1].contains("is warming, waiting for b to warm up"));
        assert!(!told(&group, &at).iter().any(|cause| cause.contains("leaves it where it is")));
        group.say(&b, &at, None, &Ack::Ready);
        assert!(told(&group, &at)[1].contains("is ready, waiting for the leader to make the switch"));
        group.pass();
        assert!(told(&group, &at)[1].contains("is complete, waiting for b to say that it processes"));
    }

    #[test]
    fn a_failed_move_shows_who_is_passed_over() {
        let (mut group, b, at) = moving();
        group.say(&b, &at, None, &Ack::WarmFailed { reason: "disk full".to_owned() });
        group.carry_out(group.steps());
        let told = told(&group, &at).join(" ");
        assert!(told.contains("called off: the new owner could not warm up: disk full"), "{told}");
        assert!(told.contains("The last move to b failed or was called off"), "{told}");
    }

    #[test]
    fn what_cannot_be_read_comes_first() {
        let mut group = TestGroup::with_topics(&[("t", 1)]);
        group.join("a");
        group.settle();
        group.put(&Key::Assignment(tp("t", 0)), "nonsense");
        assert!(told(&group, &tp("t", 0))[0].starts_with("It is left alone, since a record can't be read"));
    }

    #[test]
    fn a_partition_of_no_topic_is_called_so() {
        let group = TestGroup::with_topics(&[("t", 1)]);
        let told = told(&group, &tp("t", 1));
        assert_eq!(told[..2], ["The group does not have this partition.", "Nobody owns it."]);
    }
}
