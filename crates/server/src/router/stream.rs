//! One router's stream: tells it the difference between the routes that it was told and those of the view.

use std::collections::BTreeMap;

use kafka_assigner_core::id::Member;
use kafka_assigner_core::kv::{Lease, Revision};
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::state::{Entry, GroupState, Scope};
use kafka_assigner_proto::v1::route_command::Command;
use kafka_assigner_proto::v1::{GoAway, RouteCommand, SessionInfo};
use kafka_assigner_proto::{Reason, status};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendTimeoutError;

use super::table::Table;
use super::{RouterService, Routes};
use crate::commands::{Item, Sender, channel};
use crate::convert::{FAREWELL, fenced};
use crate::group::{Group, Line};

/// Commands that may wait for a reader. More would only be older news: while a reader does not read, differences are
/// not even computed.
const QUEUE: usize = 2;

/// The most routes that debug builds compare with a look at everything, at each change.
const MOST_COMPARED: usize = 1_000;

/// A router's session.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) group: Group,
    pub(super) router: Member,
    pub(super) lease: Lease,
}

/// A stream that only says that the session is over, which was seen at `revision`.
pub(super) fn fenced_stream(cluster_id: &str, revision: Revision, reason: &FenceReason) -> Routes {
    let (sender, routes) = channel(1);
    let _room = sender.try_send(Box::new(Ok(told(cluster_id, revision, Command::Fenced(fenced(reason))))));
    routes
}

fn told(cluster_id: &str, revision: Revision, command: Command) -> RouteCommand {
    RouteCommand { cluster_id: cluster_id.to_owned(), revision: revision.0, command: Some(command) }
}

/// Why a command was not handed to the reader.
enum Unsent {
    /// The router is gone. Its session is not: it may come back to it, here or elsewhere.
    Gone,
    /// The router is there and reads nothing.
    TooSlow,
}

struct Stream {
    service: RouterService,
    session: Session,
    line: Line,
    sender: Sender<RouteCommand>,
    /// A place in the queue for the last word, so that nobody has to wait with it for the reader.
    last: Option<mpsc::OwnedPermit<Box<Item<RouteCommand>>>>,
    /// What the router knows; `None` before the first command.
    table: Option<Table>,
}

impl RouterService {
    pub(super) fn start_stream(&self, session: Session) -> Routes {
        let (sender, routes) = channel(QUEUE + 1);
        let last = sender.clone().try_reserve_owned().ok();
        let line = session.group.connect_router(&session.router);
        let stream = Stream { service: self.clone(), session, line, sender, last, table: None };
        self.instance.tasks().spawn(stream.run());
        routes
    }
}

impl Stream {
    async fn run(mut self) {
        let stopping = self.service.instance.stopping().clone();
        let sender = self.sender.clone();
        tokio::select! {
            biased;
            // The instance cuts what is left.
            () = stopping.cancelled() => {}
            // Nobody reads any more.
            () = sender.closed() => {}
            unsent = self.tell() => if let Err(Unsent::TooSlow) = unsent { self.give_up() },
        }
        tracing::debug!(router = %self.session.router, "stream over");
    }

    /// Tells what there is to tell, until the session is over or the view is no longer kept.
    async fn tell(&mut self) -> Result<(), Unsent> {
        let leaving = self.service.instance.leaving().clone();
        let mut is_told_to_go = false;
        loop {
            match self.next() {
                (revision, Ok(commands)) => self.send(revision, commands).await?,
                (revision, Err(reason)) => {
                    self.last_word(Ok(self.told(revision, Command::Fenced(fenced(&reason)))));
                    return Ok(());
                }
            }
            tokio::select! {
                biased;
                // Routes before the farewell: the router may still have to freeze.
                is_kept = self.line.rung() => if !is_kept { return Ok(()) },
                // Once; the stream goes on until the router has gone elsewhere.
                () = leaving.cancelled(), if !is_told_to_go => {
                    is_told_to_go = true;
                    let revision = self.session.group.read(GroupState::revision);
                    self.send(revision, vec![self.go_away()]).await?;
                }
            }
        }
    }

    /// What is to be told at the revision at which the view stands, or why the session is over.
    fn next(&mut self) -> (Revision, Result<Vec<Command>, FenceReason>) {
        let group = self.session.group.clone();
        group.read(|state| {
            let news = match over(state, &self.session.router) {
                Some(_) if self.line.is_leaving() => Err(FenceReason::Left),
                Some(reason) => Err(reason),
                None => Ok(self.news(state, &self.line.take_scope())),
            };
            (state.revision(), news)
        })
    }

    fn news(&mut self, state: &GroupState, scope: &Scope) -> Vec<Command> {
        let Some(table) = &mut self.table else {
            let (table, commands) = Table::open(state, &self.describe());
            self.table = Some(table);
            return commands;
        };
        let commands = table.follow(state, scope);
        debug_assert!(
            table.len() > MOST_COMPARED || table.is_up_to_date(state),
            "{scope:?} left something out"
        );
        commands
    }

    fn describe(&self) -> SessionInfo {
        SessionInfo {
            incarnation: self.session.router.incarnation.to_string(),
            lease: self.session.lease.id.0,
            ttl_ms: u64::try_from(self.session.lease.ttl.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn go_away(&self) -> Command {
        let deadline_ms = u64::try_from(FAREWELL.as_millis()).expect("five seconds fit");
        Command::GoAway(GoAway { endpoints: self.service.instance.peers().others(), deadline_ms })
    }

    fn told(&self, revision: Revision, command: Command) -> RouteCommand {
        told(self.service.instance.cluster_id(), revision, command)
    }

    /// Hands commands to the reader, which has as long for each as its whole session may be silent.
    async fn send(&self, revision: Revision, commands: Vec<Command>) -> Result<(), Unsent> {
        for command in commands {
            self.line.note_told(revision);
            let item = Box::new(Ok(self.told(revision, command)));
            match self.sender.send_timeout(item, self.session.lease.ttl).await {
                Ok(()) => {}
                Err(SendTimeoutError::Closed(_)) => return Err(Unsent::Gone),
                Err(SendTimeoutError::Timeout(_)) => return Err(Unsent::TooSlow),
            }
        }
        Ok(())
    }

    /// Cuts a router off that reads nothing. It may come back to its session.
    fn give_up(&mut self) {
        tracing::info!(group = %self.session.group.name(), router = %self.session.router, "reads nothing: cut off");
        let message = format!("nothing was read for {:?}; read, and attach again", self.session.lease.ttl);
        self.last_word(Err(status(Reason::ReaderTooSlow, message)));
    }

    fn last_word(&mut self, item: Item<RouteCommand>) {
        if let Some(place) = self.last.take() {
            drop(place.send(Box::new(item)));
        }
    }
}

/// Why the session of `router` is over, where it is. A registration that can't be read is there.
fn over(state: &GroupState, router: &Member) -> Option<FenceReason> {
    let routers: &BTreeMap<_, _> = state.routers();
    match routers.get(&router.name) {
        None => Some(FenceReason::Gone),
        Some(Entry::Unreadable(_)) => None,
        Some(Entry::Readable(registered)) => {
            (registered.incarnation != router.incarnation).then_some(FenceReason::Superseded)
        }
    }
}
