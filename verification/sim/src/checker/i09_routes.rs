//! I9 for routers: what a stream has told at a revision is exactly the routes there; it begins with a table, and never goes
//! back behind what its router has seen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::counts::partitions;
use kafka_assigner_core::route::{Route, is_undecided, route};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::route_command::Command;
use kafka_assigner_proto::v1::{RouteCommand, Seen};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::kv::Revision;

use super::served::Histories;
use super::{Findings, Invariant, Step};
use crate::history::{Entry, What};
use crate::wire::at;

/// Everything that a router knows: each partition's route, in words.
type Table = BTreeMap<TopicPartition, String>;

/// A stream as its commands have it.
#[derive(Debug, Clone, Default)]
struct Told {
    seen: Seen,
    revision: Revision,
    opened: bool,
    /// The history of the store of which it told last; `None`: one that was lost by then, or it has told nothing.
    history: Option<u32>,
    /// The cluster id under which it told that.
    cluster_id: String,
    table: Table,
}

/// Everything that a router was told in full at one revision.
#[derive(Debug)]
struct Claim {
    at: Duration,
    stream: u64,
    table: Table,
}

#[derive(Debug, Default)]
pub(super) struct TrueRoutes {
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

impl TrueRoutes {
    /// A revision's commands are complete once the next one's begin; the states are met later.
    pub(super) fn new(entries: &[Entry]) -> Self {
        let mut truth = Self::default();
        let (mut seen, mut histories) = (BTreeMap::new(), Histories::default());
        for entry in entries {
            histories.entry(entry);
            match &entry.what {
                What::Attached { stream, seen: known, .. } => drop(seen.insert(*stream, known)),
                What::Routed { stream, command } => {
                    let seen = seen.get(stream).copied().cloned().unwrap_or_default();
                    truth.open.entry(*stream).or_insert_with(|| Told { seen, ..Told::default() });
                    truth.told(entry.at, histories.of(&command.cluster_id), *stream, command);
                }
                What::Detached { stream } => drop(truth.open.remove(stream)),
                _ => {}
            }
        }
        Self { histories, ..truth }
    }

    /// `history` is the present one; `None`: the stream is of one that is lost. What such a stream tells can be of a mixture
    /// of both, until its instance notices: only its order counts.
    fn told(&mut self, at: Duration, history: Option<u32>, stream: u64, command: &RouteCommand) {
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
        if !told.opened && !matches!(command, Some(Command::Table(_))) {
            self.early.report(at, format!("stream {stream} begins without a table"));
        }
        if told.opened
            && revision > told.revision
            && let Some(history) = before
        {
            let claim = Claim { at, stream, table: told.table.clone() };
            self.claims.entry((history, told.revision)).or_default().push(claim);
        }
        told.opened = true;
        told.revision = revision;
        // A bare revision says that what was told holds up to there.
        command.into_iter().for_each(|command| take_in(&mut told.table, command));
    }

    fn judge(&mut self, below: (u32, Revision), state: &GroupState, findings: &mut Findings) {
        let later = self.claims.split_off(&below);
        for claim in std::mem::replace(&mut self.claims, later).into_values().flatten() {
            if let Some(what) = difference(state, &claim.table) {
                findings.report(claim.at, format!("stream {}: {what}", claim.stream));
            }
        }
    }
}

impl Invariant for TrueRoutes {
    fn step(&mut self, step: &Step<'_>, findings: &mut Findings) {
        let below = (self.history, step.revision);
        if self.claims.first_key_value().is_some_and(|(first, _)| *first < below) {
            self.judge(below, step.before, findings);
        }
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
            } else if let Some(what) = difference(state, &told.table) {
                findings.report(end, format!("stream {stream}, at the end: {what}"));
            }
        }
        findings.0.append(&mut self.early.0);
    }
}

/// The difference between the truth and what a router was told; partitions that can't be decided are passed over.
fn difference(state: &GroupState, told: &Table) -> Option<String> {
    let truth: Table =
        partitions(state, None).filter_map(|at| Some((at.clone(), words(&route(state, &at)?)))).collect();
    let is_wrong =
        |(at, said): &(&TopicPartition, &String)| !is_undecided(state, at) && truth.get(*at) != Some(*said);
    let untrue = told.iter().find(is_wrong);
    let untold = truth.keys().find(|at| !told.contains_key(*at));
    let (at, said) = untrue.map(|(at, said)| (at, said.as_str())).or_else(|| Some((untold?, "nothing")))?;
    Some(format!("{at} is {:?} and {said} was told by revision {}", truth.get(at), state.revision()))
}

fn words(route: &Route) -> String {
    match route {
        Route::Open { owner, epoch, endpoint } => open(owner.name.as_str(), endpoint, epoch.0),
        Route::Stash { handoff } => stash(handoff.as_str()),
        Route::Unowned => "unowned".to_owned(),
    }
}

fn open(owner: &str, endpoint: &str, epoch: u64) -> String {
    format!("open to {owner} at {endpoint} under {epoch}")
}

fn stash(handoff: &str) -> String {
    format!("held for {handoff}")
}

fn take_in(table: &mut Table, command: &Command) {
    match command {
        Command::Table(part) => set(table, &part.routes),
        Command::Change(change) => {
            for gone in &change.removed {
                table.remove(&at(&gone.topic, gone.partition));
            }
            set(table, &change.routes);
        }
        Command::GoAway(_) | Command::Fenced(_) | Command::OutOfTouch(_) => {}
    }
}

fn set(table: &mut Table, routes: &[v1::Route]) {
    for route in routes {
        let words = match (route.state(), &route.owner) {
            (v1::RouteState::Open, Some(owner)) => open(&owner.consumer_name, &owner.endpoint, route.epoch),
            (v1::RouteState::Stash, _) => stash(&route.handoff_id),
            _ => "unowned".to_owned(),
        };
        table.insert(at(&route.topic, route.partition), words);
    }
}
