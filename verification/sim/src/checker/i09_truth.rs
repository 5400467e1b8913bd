//! I9: what a stream has told at a revision is exactly the member's view there; its first command is a snapshot;
//! revisions never go back, also not from one stream to the next.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::state::GroupState;
use kafka_assigner_core::view::{Role, consumer_view};
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{
    AssignedPartition, AssignmentCommand, CatchUpPartition, DrainPartition, ReleasePartition, Seen,
    WarmPartition,
};
use kafka_assigner_types::id::{HandoffId, Member, TopicPartition};
use kafka_assigner_types::kv::Revision;

use super::served::Histories;
use super::{Findings, Invariant, Step};
use crate::history::{Entry, What};
use crate::wire::at;

/// Everything that a member knows: the kind of its role in each partition, and the role's key.
type Roles = BTreeMap<TopicPartition, String>;

/// A stream as its commands have it.
#[derive(Debug)]
struct Told {
    member: Member,
    seen: Seen,
    revision: Revision,
    opened: bool,
    /// The history of the store of which it told last; `None`: one that was lost by then, or it has told nothing.
    history: Option<u32>,
    /// The cluster id under which it told that.
    cluster_id: String,
    roles: Roles,
}

/// Everything that a member was told in full at one revision.
#[derive(Debug)]
struct Claim {
    at: Duration,
    stream: u64,
    member: Member,
    roles: Roles,
}

#[derive(Debug, Default)]
pub(super) struct Truth {
    claims: BTreeMap<(u32, Revision), Vec<Claim>>,
    /// The history of the store now.
    history: u32,
    /// Streams that are open to the end have to be up to date there.
    open: BTreeMap<u64, Told>,
    /// The group as it was in the last revision.
    last: Option<Arc<GroupState>>,
    early: Findings,
    /// The histories as they are at the end.
    histories: Histories,
}

impl Truth {
    /// A revision's commands are complete once the next one's begin; the states are met later.
    pub(super) fn new(entries: &[Entry]) -> Self {
        let mut truth = Self::default();
        let mut histories = Histories::default();
        for entry in entries {
            histories.entry(entry);
            match &entry.what {
                What::Attached { stream, member, seen } => truth.attached(*stream, member, seen),
                What::Told { stream, command } => {
                    let history = histories.of(&command.cluster_id);
                    truth.told(entry.at, history, *stream, command);
                }
                // A router's stream is none of these.
                What::Detached { stream } | What::Routed { stream, .. } => drop(truth.open.remove(stream)),
                _ => {}
            }
        }
        Self { histories, ..truth }
    }

    fn attached(&mut self, stream: u64, member: &Member, seen: &Seen) {
        let (member, seen) = (member.clone(), seen.clone());
        let told = Told {
            member,
            seen,
            revision: Revision::default(),
            opened: false,
            history: None,
            cluster_id: String::new(),
            roles: Roles::new(),
        };
        self.open.insert(stream, told);
    }

    /// `history` is the present one; `None`: the stream is of one that is lost. What such a stream tells can be of a mixture
    /// of both, until its instance notices: only its order counts.
    fn told(&mut self, at: Duration, history: Option<u32>, stream: u64, command: &AssignmentCommand) {
        let Some(told) = self.open.get_mut(&stream) else { return };
        let before = std::mem::replace(&mut told.history, history);
        told.cluster_id.clone_from(&command.cluster_id);
        if told.seen.cluster_id == command.cluster_id {
            told.revision = told.revision.max(Revision(told.seen.revision));
        }
        let (revision, command) = (Revision(command.revision), command.command.as_ref());
        if matches!(command, Some(Command::Fenced(_) | Command::GoAway(_) | Command::OutOfTouch(_))) {
            return;
        }
        if revision < told.revision {
            let what = format!("stream {stream} went back from {} to {revision}", told.revision);
            self.early.report(at, what);
        }
        if told.opened == command.is_some_and(opens) {
            self.early.report(at, format!("stream {stream} has its snapshot in the wrong place"));
        }
        if told.opened
            && revision > told.revision
            && let Some(history) = before
        {
            let (member, roles) = (told.member.clone(), told.roles.clone());
            self.claims.entry((history, told.revision)).or_default().push(Claim {
                at,
                stream,
                member,
                roles,
            });
        }
        told.opened = true;
        told.revision = told.revision.max(revision);
        // A bare revision says that what was told holds up to there.
        command.into_iter().for_each(|command| take_in(&mut told.roles, command));
    }

    fn judge(&mut self, below: (u32, Revision), state: &GroupState, findings: &mut Findings) {
        let later = self.claims.split_off(&below);
        for claim in std::mem::replace(&mut self.claims, later).into_values().flatten() {
            if let Some(what) = difference(state, &claim.member, &claim.roles) {
                findings.report(claim.at, format!("stream {}: {what}", claim.stream));
            }
        }
    }
}

impl Invariant for Truth {
    fn step(&mut self, step: &Step<'_>, findings: &mut Findings) {
        self.judge((self.history, step.revision), step.before, findings);
        self.last = Some(Arc::clone(step.after));
    }

    /// The last revisions of a history are judged with its end.
    fn went_back(&mut self, _at: Duration, state: &Arc<GroupState>, findings: &mut Findings) {
        let Some(last) = self.last.take().filter(|last| last.revision() != state.revision()) else { return };
        self.judge((self.history, last.revision().next()), &last, findings);
        self.history += 1;
        self.claims = self.claims.split_off(&(self.history, Revision::default()));
    }

    fn finish(&mut self, end: Duration, state: &Arc<GroupState>, findings: &mut Findings) {
        self.judge((u32::MAX, Revision::default()), state, findings);
        for (stream, told) in std::mem::take(&mut self.open) {
            if told.opened && !self.histories.is_present(&told.cluster_id) {
                findings.report(end, format!("stream {stream} tells of a history that is lost, at the end"));
            } else if let Some(what) = difference(state, &told.member, &told.roles) {
                findings.report(end, format!("stream {stream}, at the end: {what}"));
            }
        }
        findings.0.append(&mut self.early.0);
    }
}

/// The difference between the truth and what `member` was told; partitions that can't be decided are passed over.
fn difference(state: &GroupState, member: &Member, told: &Roles) -> Option<String> {
    let view = consumer_view(state, member);
    let decided = |at: &TopicPartition| !view.undecided.contains(at);
    let truth: Roles =
        view.roles.iter().filter(|(at, _)| decided(at)).map(|(at, role)| (at.clone(), key(role))).collect();
    let told: Roles =
        told.iter().filter(|(at, _)| decided(at)).map(|(at, r)| (at.clone(), r.clone())).collect();
    (truth != told).then(|| {
        let only = |a: &Roles, b: &Roles| {
            let only = a.iter().filter(|(at, role)| b.get(*at) != Some(*role));
            only.map(|(at, role)| format!("{at} {role}")).collect::<Vec<_>>()
        };
        let (untold, untrue) = (only(&truth, &told), only(&told, &truth));
        format!("{member} was not told {untold:?} and was told {untrue:?} by revision {}", state.revision())
    })
}

fn key(role: &Role) -> String {
    match role {
        Role::Owner { epoch, resting, .. } => owner(epoch.0, resting.as_ref().map_or("", HandoffId::as_str)),
        Role::Warming { handoff, .. } => warming(handoff.as_str()),
        Role::Releasing { handoff, .. } => releasing(handoff.as_str()),
        Role::Draining { handoff, .. } => draining(handoff.as_str()),
        Role::CatchingUp { handoff, .. } => catching_up(handoff.as_str()),
    }
}

fn owner(epoch: u64, rest: &str) -> String {
    format!("owner under {epoch}, resting for {rest:?}")
}

fn warming(handoff: &str) -> String {
    format!("warming for {handoff}")
}

fn releasing(handoff: &str) -> String {
    format!("releasing for {handoff}")
}

fn draining(handoff: &str) -> String {
    format!("draining for {handoff}")
}

fn catching_up(handoff: &str) -> String {
    format!("catching up for {handoff}")
}

/// True if it says all that there is: a client that can't read snapshots is told all that it owns first.
const fn opens(command: &Command) -> bool {
    match command {
        Command::Snapshot(_) => true,
        Command::Assignment(assignment) => assignment.full,
        _ => false,
    }
}

fn take_in(roles: &mut Roles, command: &Command) {
    match command {
        Command::Snapshot(all) => {
            roles.clear();
            own(roles, &all.assigned);
            warm(roles, &all.warming);
            release(roles, &all.releasing);
            drain(roles, &all.draining);
            catch_up(roles, &all.catching_up);
        }
        Command::Assignment(assignment) => {
            if assignment.full {
                roles.clear();
            }
            for gone in &assignment.unassigned {
                roles.remove(&at(&gone.topic, gone.partition));
            }
            own(roles, &assignment.assigned);
        }
        Command::Warm(more) => warm(roles, &more.partitions),
        Command::Release(more) => release(roles, &more.partitions),
        Command::Drain(more) => drain(roles, &more.partitions),
        Command::CatchUp(more) => catch_up(roles, &more.partitions),
        Command::GoAway(_) | Command::Fenced(_) | Command::OutOfTouch(_) => {}
    }
}

fn own(roles: &mut Roles, partitions: &[AssignedPartition]) {
    roles.extend(partitions.iter().map(|p| (at(&p.topic, p.partition), owner(p.epoch, &p.rest_handoff_id))));
}

fn warm(roles: &mut Roles, partitions: &[WarmPartition]) {
    roles.extend(partitions.iter().map(|p| (at(&p.topic, p.partition), warming(&p.handoff_id))));
}

fn drain(roles: &mut Roles, partitions: &[DrainPartition]) {
    roles.extend(partitions.iter().map(|p| (at(&p.topic, p.partition), draining(&p.handoff_id))));
}

fn catch_up(roles: &mut Roles, partitions: &[CatchUpPartition]) {
    roles.extend(partitions.iter().map(|p| (at(&p.topic, p.partition), catching_up(&p.handoff_id))));
}

fn release(roles: &mut Roles, partitions: &[ReleasePartition]) {
    roles.extend(partitions.iter().map(|p| (at(&p.topic, p.partition), releasing(&p.handoff_id))));
}
