//! One router's stream: tells it the difference between the routes that it was told and those of the view.

use std::time::Duration;

use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::Router;
use kafka_assigner_core::session::over;
use kafka_assigner_core::state::{GroupState, Scope};
use kafka_assigner_proto::v1::RouteCommand;
use kafka_assigner_proto::v1::route_command::Command;
use kafka_assigner_types::id::Member;
use kafka_assigner_types::kv::{Lease, Revision};

use super::sent_routes::SentRoutes;
use super::service::RouterService;
use crate::access::StreamPermit;
use crate::bare_revision::BareRevision;
use crate::commands::{CommandRefusal, CommandSender, Commands};
use crate::convert::{fenced, go_away, out_of_touch, session_info};
use crate::group::{ServedGroup, StreamConnection, TouchListener};
use crate::session::spread;

/// The most routes that debug builds compare with a look at everything, at each change.
const MOST_COMPARED: usize = 1_000;

/// The routes of one stream, as whoever carries them reads them.
pub type Routes = Commands<RouteCommand>;

/// A router's session.
#[derive(Debug, Clone)]
pub(super) struct RouterSession {
    pub(super) group: ServedGroup,
    pub(super) router: Member,
    pub(super) lease: Lease,
    /// The permission of its caller for the stream.
    pub(super) permit: StreamPermit,
}

/// A stream that only says that the session is over, which was seen at `revision`.
pub(super) fn fenced_stream(cluster_id: &str, revision: Revision, reason: &FenceReason) -> Routes {
    Routes::only(told(cluster_id, revision, Command::Fenced(fenced(reason))))
}

fn told(cluster_id: &str, revision: Revision, command: Command) -> RouteCommand {
    RouteCommand { command: Some(command), ..bare(cluster_id, revision) }
}

/// That every route is told up to `revision`.
fn bare(cluster_id: &str, revision: Revision) -> RouteCommand {
    RouteCommand { cluster_id: cluster_id.to_owned(), revision: revision.0, command: None }
}

struct RouterStream {
    service: RouterService,
    session: RouterSession,
    line: StreamConnection,
    reader: CommandSender<RouteCommand>,
    /// The table that the router knows; `None` before the first command.
    table: Option<SentRoutes>,
    bare: BareRevision,
}

impl RouterService {
    pub(super) fn start_stream(&self, session: RouterSession) -> Routes {
        let (reader, routes) = CommandSender::open(session.lease.ttl);
        let line = session.group.connect_router(&session.router);
        let stream = RouterStream {
            service: self.clone(),
            session,
            line,
            reader,
            table: None,
            bare: BareRevision::default(),
        };
        self.instance.tasks().spawn(stream.run());
        routes
    }
}

impl RouterStream {
    async fn run(mut self) {
        let stopping = self.service.instance.stopping().clone();
        let (gone, permit) = (self.reader.gone(), self.session.permit.clone());
        tokio::select! {
            biased;
            // The instance cuts what is left.
            () = stopping.cancelled() => {}
            // Nobody reads any more.
            () = gone => {}
            // An instance that has other rules may take it; the session is not over.
            refusal = permit.denied() => self.reader.refuse(refusal),
            unsent = self.tell() => if let Err(CommandRefusal::TooSlow) = unsent { self.give_up() },
        }
        tracing::debug!(router = %self.session.router, "stream over");
    }

    /// Tells what there is to tell, until the session is over or the view is no longer kept.
    async fn tell(&mut self) -> Result<(), CommandRefusal> {
        let leaving = self.service.instance.leaving().clone();
        let mut is_told_to_go = false;
        let mut touch = self.listen_for_touch();
        loop {
            match self.next() {
                (revision, Ok(commands)) => self.send_news(revision, commands).await?,
                (revision, Err(reason)) => {
                    let fenced = self.told(revision, Command::Fenced(fenced(&reason)));
                    self.reader.end(fenced);
                    return Ok(());
                }
            }
            tokio::select! {
                biased;
                // Once, and before the bell: where routes never stop changing, the router would never hear it. The bell keeps what
                // it rang for, and the stream goes on until the router has gone elsewhere.
                () = leaving.cancelled(), if !is_told_to_go => {
                    is_told_to_go = true;
                    let others = self.service.instance.peers().others();
                    self.send(self.stands_at(), vec![Command::GoAway(go_away(others))]).await?;
                }
                is_kept = self.line.rung() => {
                    if !is_kept {
                        return Ok(());
                    }
                    self.bare.owe();
                }
                // The router may find an instance that knows more.
                since = touch.lost() => {
                    self.send(self.stands_at(), vec![Command::OutOfTouch(out_of_touch(since))]).await?;
                }
                // Nothing followed that would have told the revision.
                () = self.bare.due() => {}
            }
        }
    }

    /// The commands that are to be told at the revision at which the view stands, or the reason why the session is
    /// over.
    fn next(&mut self) -> (Revision, Result<Vec<Command>, FenceReason>) {
        let group = self.session.group.clone();
        group.read(|state| {
            let news = match over::<Router>(state, &self.session.router) {
                Some(_) if self.line.is_leaving() => Err(FenceReason::Left),
                Some(reason) => Err(reason),
                None => Ok(self.news(state, &self.line.take_scope())),
            };
            (state.revision(), news)
        })
    }

    fn news(&mut self, state: &GroupState, scope: &Scope) -> Vec<Command> {
        let Some(table) = &mut self.table else {
            let (table, commands) = SentRoutes::open(
                state,
                &session_info(&self.session.router, self.session.lease, Duration::ZERO),
            );
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

    fn stands_at(&self) -> Revision {
        self.session.group.read(GroupState::revision)
    }

    fn listen_for_touch(&self) -> TouchListener {
        let instance = &self.service.instance;
        self.session.group.touch().listen(spread(instance, instance.options().stream_patience))
    }

    fn told(&self, revision: Revision, command: Command) -> RouteCommand {
        told(self.session.group.cluster_id(), revision, command)
    }

    /// Sends what is news at `revision`, or the bare revision where there is none and it is owed.
    async fn send_news(&mut self, revision: Revision, commands: Vec<Command>) -> Result<(), CommandRefusal> {
        if self.bare.is_due(!commands.is_empty()) {
            return self.reader.send(bare(self.session.group.cluster_id(), revision)).await;
        }
        self.send(revision, commands).await
    }

    async fn send(&self, revision: Revision, commands: Vec<Command>) -> Result<(), CommandRefusal> {
        for command in commands {
            self.reader.send(self.told(revision, command)).await?;
        }
        Ok(())
    }

    /// Cuts a router off that reads nothing. It may come back to its session.
    fn give_up(&mut self) {
        tracing::info!(group = %self.session.group.name(), router = %self.session.router, "reads nothing: cut off");
        self.reader.cut_off("attach");
    }
}
