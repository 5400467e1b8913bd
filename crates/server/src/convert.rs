//! Between the core's values and the wire's messages.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_core::view::{ConsumerView, Difference, Role};
use kafka_assigner_proto::v1::{
    AssignedPartition, Assignment, AssignmentCommand, CatchUp, CatchUpPartition, Drain, DrainPartition,
    HandledRecord, Release, ReleasePartition, SessionInfo, Snapshot, UnassignReason, UnassignedPartition,
    UndecidedPartition, Warm, WarmPartition, assignment_command::Command,
};
use kafka_assigner_types::id::{Offset, TopicPartition};
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;
use kafka_assigner_types::name::TopicName;
use tonic::Status;

use crate::refusal;

mod session_words;

pub(crate) use session_words::{FAREWELL, fenced, go_away, out_of_touch, session_info};

/// The most partitions of one command: some 500 KB, and with the longest names below gRPC's usual 4 MiB.
const MOST_PARTITIONS: usize = 5_000;

/// The cluster's id and the revision, which every command carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandHeader<'a> {
    pub(crate) cluster_id: &'a str,
    pub(crate) revision: Revision,
}

impl CommandHeader<'_> {
    fn command(&self, command: Command) -> AssignmentCommand {
        AssignmentCommand {
            cluster_id: self.cluster_id.to_owned(),
            revision: self.revision.0,
            command: Some(command),
        }
    }

    pub(crate) fn fenced(&self, reason: &FenceReason) -> AssignmentCommand {
        self.command(Command::Fenced(fenced(reason)))
    }

    pub(crate) fn go_away(&self, endpoints: Vec<String>) -> AssignmentCommand {
        self.command(Command::GoAway(go_away(endpoints)))
    }

    /// That nothing more concerns the member up to this revision.
    pub(crate) fn bare(&self) -> AssignmentCommand {
        AssignmentCommand { cluster_id: self.cluster_id.to_owned(), revision: self.revision.0, command: None }
    }

    /// That this instance may know less than there is, for `since` already.
    pub(crate) fn out_of_touch(&self, since: Duration) -> AssignmentCommand {
        self.command(Command::OutOfTouch(out_of_touch(since)))
    }

    /// The first commands of a stream: everything, as one snapshot (in parts where it is large) where the client
    /// understands it (then `session` is given), else as a full assignment and what else there is to know. `state` is where
    /// the view comes from.
    pub(crate) fn opening(
        &self,
        state: &GroupState,
        session: Option<&SessionInfo>,
        view: &ConsumerView,
        deadline_ms: u64,
    ) -> Vec<AssignmentCommand> {
        let roles = WireRoles::of(state, &view.roles, deadline_ms);
        if session.is_some() {
            let undecided = view.undecided.iter().map(wire_unit).collect();
            let parts = parts(session, roles, undecided).into_iter();
            return parts.map(|part| self.command(Command::Snapshot(part))).collect();
        }
        let mut roles = roles;
        let mut owned = chunks(std::mem::take(&mut roles.assigned)).into_iter();
        let full = owned.next().unwrap_or_default();
        let mut commands = vec![self.assignment(true, full, Vec::new())];
        commands.extend(owned.map(|assigned| self.assignment(false, assigned, Vec::new())));
        self.preparations(roles, &mut commands);
        commands
    }

    /// A difference as commands, each of bounded size; `state` is where it comes from.
    pub(crate) fn commands(
        &self,
        state: &GroupState,
        difference: &Difference,
        deadline_ms: u64,
    ) -> Vec<AssignmentCommand> {
        let mut roles = WireRoles::of(state, &difference.roles, deadline_ms);
        let mut commands = Vec::new();
        for unassigned in chunks(difference.ended.iter().map(|(at, role)| ended(state, at, role)).collect()) {
            commands.push(self.assignment(false, Vec::new(), unassigned));
        }
        for assigned in chunks(std::mem::take(&mut roles.assigned)) {
            commands.push(self.assignment(false, assigned, Vec::new()));
        }
        self.preparations(roles, &mut commands);
        commands
    }

    fn assignment(
        &self,
        full: bool,
        assigned: Vec<AssignedPartition>,
        unassigned: Vec<UnassignedPartition>,
    ) -> AssignmentCommand {
        self.command(Command::Assignment(Assignment { full, assigned, unassigned }))
    }

    /// All but what is owned.
    fn preparations(&self, roles: WireRoles, commands: &mut Vec<AssignmentCommand>) {
        for partitions in chunks(roles.draining) {
            commands.push(self.command(Command::Drain(Drain { partitions })));
        }
        for partitions in chunks(roles.catching_up) {
            commands.push(self.command(Command::CatchUp(CatchUp { partitions })));
        }
        for partitions in chunks(roles.warming) {
            commands.push(self.command(Command::Warm(Warm { partitions })));
        }
        for partitions in chunks(roles.releasing) {
            commands.push(self.command(Command::Release(Release { partitions })));
        }
    }
}

/// A snapshot in parts, of which all but the last say that there are more.
fn parts(
    session: Option<&SessionInfo>,
    roles: WireRoles,
    undecided: Vec<UndecidedPartition>,
) -> Vec<Snapshot> {
    let count = roles.count() + undecided.len();
    let (mut assigned, mut warming) = (roles.assigned.into_iter(), roles.warming.into_iter());
    let (mut draining, mut catching_up) = (roles.draining.into_iter(), roles.catching_up.into_iter());
    let (mut releasing, mut undecided) = (roles.releasing.into_iter(), undecided.into_iter());
    let last = count.div_ceil(MOST_PARTITIONS).max(1);
    let part = |number: usize| {
        let mut room = MOST_PARTITIONS;
        Snapshot {
            session: session.cloned(),
            assigned: fill(&mut assigned, &mut room),
            warming: fill(&mut warming, &mut room),
            releasing: fill(&mut releasing, &mut room),
            draining: fill(&mut draining, &mut room),
            catching_up: fill(&mut catching_up, &mut room),
            undecided: fill(&mut undecided, &mut room),
            more: number < last,
        }
    };
    (1..=last).map(part).collect()
}

fn fill<T>(from: &mut impl Iterator<Item = T>, room: &mut usize) -> Vec<T> {
    let items: Vec<T> = from.take(*room).collect();
    *room -= items.len();
    items
}

fn chunks<T>(items: Vec<T>) -> Vec<Vec<T>> {
    let mut chunks = Vec::new();
    let mut rest = items.into_iter();
    loop {
        let chunk: Vec<T> = rest.by_ref().take(MOST_PARTITIONS).collect();
        if chunk.is_empty() {
            return chunks;
        }
        chunks.push(chunk);
    }
}

#[derive(Default)]
struct WireRoles {
    assigned: Vec<AssignedPartition>,
    warming: Vec<WarmPartition>,
    releasing: Vec<ReleasePartition>,
    draining: Vec<DrainPartition>,
    catching_up: Vec<CatchUpPartition>,
}

impl WireRoles {
    const fn count(&self) -> usize {
        self.assigned.len()
            + self.warming.len()
            + self.releasing.len()
            + self.draining.len()
            + self.catching_up.len()
    }

    fn of(state: &GroupState, roles: &BTreeMap<TopicPartition, Role>, deadline_ms: u64) -> Self {
        let mut sorted = Self::default();
        for (at, role) in roles {
            let topic_id = state.topic_id(&at.topic).map(|id| id.to_string()).unwrap_or_default();
            sorted.take((at, topic_id), role, deadline_ms);
        }
        sorted
    }

    fn take(&mut self, (at, topic_id): (&TopicPartition, String), role: &Role, deadline_ms: u64) {
        let topic = at.topic.to_string();
        let partition = wire_partition(at.partition);
        match role {
            Role::Owner { epoch, run, mode, start, taking, resting, skip, was_committed } => {
                self.assigned.push(AssignedPartition {
                    topic,
                    partition,
                    epoch: epoch.0,
                    run: run.0,
                    start_offset: start.map(Offset::get),
                    handoff_id: taking.as_ref().map(ToString::to_string).unwrap_or_default(),
                    mode: wire_mode(*mode).into(),
                    topic_id,
                    rest_handoff_id: resting.as_ref().map(ToString::to_string).unwrap_or_default(),
                    skip_offset: skip.map(Offset::get),
                    was_committed: *was_committed,
                });
            }
            Role::Warming { handoff, current_owner } => self.warming.push(WarmPartition {
                topic,
                partition,
                handoff_id: handoff.to_string(),
                current_owner: current_owner.to_string(),
                deadline_ms,
                topic_id,
            }),
            Role::Draining { handoff, epoch, run, start } => self.draining.push(DrainPartition {
                topic,
                partition,
                handoff_id: handoff.to_string(),
                epoch: epoch.0,
                run: run.0,
                start_offset: start.map(Offset::get),
            }),
            Role::CatchingUp { handoff, epoch, until } => self.catching_up.push(CatchUpPartition {
                topic,
                partition,
                handoff_id: handoff.to_string(),
                epoch: epoch.0,
                until_offset: until.map(Offset::get),
                topic_id,
            }),
            Role::Releasing { handoff, epoch, new_owner } => self.releasing.push(ReleasePartition {
                topic,
                partition,
                handoff_id: handoff.to_string(),
                epoch: epoch.0,
                new_owner: new_owner.to_string(),
            }),
        }
    }
}

fn ended(state: &GroupState, at: &TopicPartition, role: &Role) -> UnassignedPartition {
    let (epoch, reason) = match role {
        Role::Owner { epoch, .. } if !state.exists(at) => (epoch.0, UnassignReason::Removed),
        Role::Owner { epoch, .. } | Role::Draining { epoch, .. } => (epoch.0, UnassignReason::Reassigned),
        Role::Warming { .. } | Role::CatchingUp { .. } => (0, UnassignReason::Cancelled),
        Role::Releasing { epoch, .. } => (epoch.0, UnassignReason::HandedOver),
    };
    UnassignedPartition {
        topic: at.topic.to_string(),
        partition: wire_partition(at.partition),
        epoch,
        reason: reason.into(),
    }
}

/// The mode of a grant, on the wire.
pub(crate) const fn wire_mode(mode: Mode) -> kafka_assigner_proto::v1::Mode {
    match mode {
        Mode::Overlap => kafka_assigner_proto::v1::Mode::Overlap,
        Mode::Exclusive => kafka_assigner_proto::v1::Mode::Exclusive,
        Mode::Routed => kafka_assigner_proto::v1::Mode::Routed,
    }
}

/// A partition that a caller names.
pub(crate) fn partition(topic: &str, partition: i32) -> Result<TopicPartition, Status> {
    let topic = TopicName::new(topic).map_err(|e| refusal::name(&e))?;
    let number = u32::try_from(partition).map_err(|_| {
        refusal::field(format!("partition = {partition} is refused: it must not be negative"))
    })?;
    Ok(TopicPartition::new(topic, number))
}

/// An offset of the wire.
///
/// # Errors
///
/// `INVALID_FIELD`, with the `field` and its rule.
pub(crate) fn offset(field: &str, offset: i64) -> Result<Offset, Status> {
    let refused = |error| refusal::field(format!("{field} = {error}; what is not known is left out"));
    Offset::new(offset).map_err(refused)
}

/// The offset of the record at the edge of a switch, where one is told.
///
/// # Errors
///
/// As [`offset`].
pub(crate) fn handled_offset(handled: Option<&HandledRecord>) -> Result<Option<Offset>, Status> {
    handled.map(|record| offset("handled.offset", record.offset)).transpose()
}

/// A partition's number on the wire, which has Kafka's signed type.
pub(crate) fn wire_partition(partition: u32) -> i32 {
    i32::try_from(partition).unwrap_or(i32::MAX)
}

fn wire_unit(at: &TopicPartition) -> UndecidedPartition {
    UndecidedPartition { topic: at.topic.to_string(), partition: wire_partition(at.partition) }
}

/// The time at which a record was handled; what a client says of times before 1970 counts as 1970.
pub(crate) fn time_of(record: &HandledRecord) -> WallMillis {
    WallMillis(u64::try_from(record.time_unix_ms).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use kafka_assigner_core::key::{DEFAULT_PREFIX, Key, Layout};
    use kafka_assigner_core::record::{Source, Topic, encode};
    use kafka_assigner_types::id::Epoch;
    use kafka_assigner_types::kv::{Change, LeaseId, Record};
    use kafka_assigner_types::name::MAX_LENGTH;
    use prost::Message as _;

    use super::*;

    const ID: &str = "BwcHBwcHBwcHBwcHBwcHBw";

    /// gRPC's usual limit of one message.
    const LIMIT: usize = 4 << 20;

    fn told() -> CommandHeader<'static> {
        CommandHeader { cluster_id: "c", revision: Revision(1) }
    }

    fn longest_name() -> TopicName {
        "t".repeat(MAX_LENGTH).parse().unwrap()
    }

    /// A group that knows the id of the topic with the longest name.
    fn state() -> GroupState {
        let layout = Layout::new(DEFAULT_PREFIX, "g".parse().unwrap());
        let topic = Topic { topic_id: Some(ID.to_owned()), ..Topic::new(60_000, Source::Kafka) };
        let record = Record {
            key: layout.encode(&Key::Topic(longest_name())),
            value: encode(&topic),
            create_revision: Revision(1),
            mod_revision: Revision(1),
            lease: LeaseId::NONE,
        };
        let mut state = GroupState::new(layout);
        let _touched = state.apply(&[Change::Put(record)], Revision(1));
        state
    }

    /// A member of 60 000 partitions with the longest names.
    fn large() -> ConsumerView {
        let topic = longest_name();
        let (epoch, run) = (Epoch(u64::MAX), Epoch(u64::MAX));
        let role = |partition| {
            let at = TopicPartition::new(topic.clone(), partition);
            let mode = Mode::Overlap;
            let (start, taking, resting, skip) = (None, None, None, None);
            (at, Role::Owner { epoch, run, mode, start, taking, resting, skip, was_committed: true })
        };
        ConsumerView { roles: (0..60_000).map(role).collect(), ..ConsumerView::default() }
    }

    #[test]
    fn a_large_snapshot_comes_in_parts_of_bounded_size_that_say_whether_more_follows() {
        let commands = told().opening(&state(), Some(&SessionInfo::default()), &large(), 0);
        assert!(commands.iter().all(|command| command.encoded_len() < LIMIT));
        let parts: Vec<Snapshot> = commands
            .into_iter()
            .map(|command| match command.command {
                Some(Command::Snapshot(part)) => part,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(parts.iter().map(|part| part.assigned.len()).sum::<usize>(), 60_000);
        assert!(parts.iter().rev().skip(1).all(|part| part.more) && !parts.last().unwrap().more);
        assert!(parts.iter().all(|part| part.session.is_some()));
        let mut assigned = parts.iter().flat_map(|part| &part.assigned);
        assert!(assigned.all(|assigned| assigned.topic_id == ID), "each grant names its topic's id");
    }

    #[test]
    fn a_large_opening_of_the_smallest_client_comes_in_bounded_messages_of_which_the_first_is_full() {
        let commands = told().opening(&state(), None, &large(), 0);
        assert!(commands.iter().all(|command| command.encoded_len() < LIMIT));
        let full =
            |command: &AssignmentCommand| matches!(&command.command, Some(Command::Assignment(a)) if a.full);
        assert!(full(&commands[0]) && !commands[1..].iter().any(full));
    }

    #[test]
    fn whoever_has_nothing_is_told_so() {
        let (view, session) = (ConsumerView::default(), SessionInfo::default());
        assert_eq!(told().opening(&state(), Some(&session), &view, 0).len(), 1);
        assert_eq!(told().opening(&state(), None, &view, 0).len(), 1);
    }
}
