//! One stream: tells a member the difference between what it was told and what the view says it should know.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::ack::{Ack, MemberAck};
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::{Consumer, Taken};
use kafka_assigner_core::session::{self, over};
use kafka_assigner_core::state::{GroupState, Scope};
use kafka_assigner_core::suspicion::unmark_served;
use kafka_assigner_core::view::{ConsumerView, Role, consumer_view};
use kafka_assigner_proto::v1::{AckOutcome, AckResult, AssignmentCommand};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::kv::Revision;
use tokio::time::sleep;

use super::detached::DetachedStream;
use super::renewal::Renewals;
use super::service::ConsumerService;
use super::session::ConsumerSession;
use crate::bare_revision::BareRevision;
use crate::commands::{CommandRefusal, CommandSender, Commands};
use crate::connection_end::ConnectionEnd;
use crate::convert::CommandHeader;
use crate::group::{StreamConnection, TouchListener};
use crate::session::{Registered, spread};
use crate::suspicion::AttachedStream;

/// The most roles that debug builds compare with a look at everything, at each change.
const MOST_COMPARED: usize = 1_000;

/// The wait after a failure before the stream tries again what it writes in its client's stead: short against every
/// deadline, long against an answer of the store.
const RETRY: Duration = Duration::from_secs(1);

/// A stream that only says that the session is over, which was seen at `revision`.
pub(super) fn fenced_stream(cluster_id: &str, revision: Revision, reason: &FenceReason) -> Commands {
    Commands::only(CommandHeader { cluster_id, revision }.fenced(reason))
}

/// The next thing to do on a stream.
enum Next {
    /// Tell the member so, which may be nothing; then record what a client does not say itself.
    Tell(Revision, Vec<AssignmentCommand>, Vec<MemberAck>),
    /// The session is over.
    End(FenceReason),
    /// The member handed everything over and may leave.
    Leave,
}

struct ConsumerStream {
    service: ConsumerService,
    session: ConsumerSession,
    line: StreamConnection,
    attached: AttachedStream,
    connection: ConnectionEnd,
    reader: CommandSender<AssignmentCommand>,
    /// The view that the member knows; `None` before the first command.
    known: Option<ConsumerView>,
    bare: BareRevision,
}

impl ConsumerService {
    pub(super) fn start_stream(&self, session: ConsumerSession, connection: ConnectionEnd) -> Commands {
        let (reader, commands) = CommandSender::open(session.lease.ttl);
        let line = session.group.connect(&session.member);
        let attached = self.instance.stream_ends().attach(session.process_word(&connection));
        let stream = ConsumerStream {
            service: self.clone(),
            session,
            line,
            attached,
            connection,
            reader,
            known: None,
            bare: BareRevision::default(),
        };
        self.instance.tasks().spawn(stream.run());
        commands
    }
}

impl ConsumerStream {
    async fn run(mut self) {
        let instance = self.service.instance.clone();
        let renewals = Renewals::new(Arc::clone(instance.store()), self.session.clone());
        let stopping = instance.stopping().clone();
        let (gone, permit) = (self.reader.gone(), self.session.permit.clone());
        let is_client_gone = tokio::select! {
            biased;
            () = stopping.cancelled() => false,
            // The client is gone. Its session is not: it may come back to it, here or elsewhere.
            () = gone => true,
            // An instance that has other rules may take it; the session is not over.
            refusal = permit.denied() => {
                self.reader.refuse(refusal);
                false
            }
            reason = renewals.run() => {
                self.end(&reason);
                false
            }
            told = self.tell() => match told {
                Ok(()) => false,
                Err(CommandRefusal::Gone) => true,
                Err(CommandRefusal::TooSlow) => {
                    self.give_up();
                    false
                }
            },
        };
        tracing::debug!(consumer = %self.session.member, is_client_gone, "stream over");
        if let Some(detached) = self.detached(is_client_gone) {
            detached.wait_for_life().await;
        }
    }

    /// The stream whose client closed it by itself: not after it was told to go elsewhere, nor in leaving.
    fn detached(self, is_client_gone: bool) -> Option<DetachedStream> {
        let Self { service, session, attached, connection, line, .. } = self;
        let is_expected = service.instance.leaving().is_cancelled() || line.is_leaving();
        (is_client_gone && !is_expected).then_some(DetachedStream {
            instance: service.instance,
            group: session.group,
            member: session.member,
            stream: attached,
            connection,
        })
    }

    /// Tells what there is to tell, until the session is over or the view is no longer kept.
    async fn tell(&mut self) -> Result<(), CommandRefusal> {
        let leaving = self.service.instance.leaving().clone();
        let mut is_told_to_go = false;
        let mut touch = self.listen_for_touch();
        loop {
            // First: a client that reads slowly keeps what follows waiting.
            let is_refuted = self.refute_death().await;
            let is_done = match self.next() {
                Next::Tell(revision, commands, taking) => {
                    self.send_news(revision, commands).await?;
                    self.record_taken(&taking).await
                }
                Next::End(reason) => {
                    self.end(&reason);
                    return Ok(());
                }
                Next::Leave => self.leave().await,
            };
            let is_done = is_refuted && is_done;
            tokio::select! {
                biased;
                // Before the bell: where news never end, the member would never hear it. The bell keeps what it rang for.
                () = leaving.cancelled(), if !is_told_to_go => {
                    is_told_to_go = true;
                    let others = self.service.instance.peers().others();
                    self.send(vec![self.told().go_away(others)]).await?;
                }
                is_kept = self.line.rung() => {
                    if !is_kept {
                        return Ok(());
                    }
                    self.bare.owe();
                }
                // The member may find an instance that knows more.
                since = touch.lost() => self.send(vec![self.told().out_of_touch(since)]).await?,
                // Nothing followed that would have told the revision.
                () = self.bare.due() => {}
                // Nobody rings for what could not be written.
                () = sleep(RETRY), if !is_done => {}
            }
        }
    }

    fn told(&self) -> CommandHeader<'_> {
        self.told_at(self.session.group.read(GroupState::revision))
    }

    fn told_at(&self, revision: Revision) -> CommandHeader<'_> {
        CommandHeader { cluster_id: self.session.group.cluster_id(), revision }
    }

    fn listen_for_touch(&self) -> TouchListener {
        let instance = &self.service.instance;
        self.session.group.touch().listen(spread(instance, instance.options().stream_patience))
    }

    fn next(&mut self) -> Next {
        let group = self.session.group.clone();
        group.read(|state| match over::<Consumer>(state, &self.session.member) {
            // It may have left by another instance, which only its own can tell from an expiry.
            Some(FenceReason::Gone | FenceReason::Superseded) if self.line.is_leaving() => {
                Next::End(FenceReason::Left)
            }
            Some(reason) => Next::End(reason),
            None if session::dismiss(state, &self.session.member).is_some() => Next::Leave,
            None => self.news(state, &self.line.take_scope()),
        })
    }

    fn news(&mut self, state: &GroupState, scope: &Scope) -> Next {
        let member = &self.session.member;
        let told = CommandHeader { cluster_id: self.session.group.cluster_id(), revision: state.revision() };
        let deadline_ms = state.configured(|config| config.warm_deadline_ms);
        let Some(known) = &mut self.known else {
            let view = consumer_view(state, member);
            let opening = told.opening(state, self.session.describe().as_ref(), &view, deadline_ms);
            let taking = self.taking(&view.roles);
            self.known = Some(view);
            return Next::Tell(state.revision(), opening, taking);
        };
        let difference = known.follow(state, member, scope);
        debug_assert!(
            known.roles.len() > MOST_COMPARED || known.is_up_to_date(&consumer_view(state, member)),
            "{scope:?} left something out"
        );
        let commands = told.commands(state, &difference, deadline_ms);
        let taking = match scope {
            Scope::Partitions(_) => self.taking(&difference.roles),
            Scope::Everything => self.known.as_ref().map_or_else(Vec::new, |known| self.taking(&known.roles)),
        };
        Next::Tell(state.revision(), commands, taking)
    }

    /// The acknowledgements of `roles` that its client does not send: it counts as processing what it was told to own.
    fn taking(&self, roles: &BTreeMap<TopicPartition, Role>) -> Vec<MemberAck> {
        if self.session.says_taken {
            return Vec::new();
        }
        roles.iter().filter_map(|(at, role)| taken(at, role)).collect()
    }

    /// Sends what is news at `revision`, or the bare revision where there is none and it is owed.
    async fn send_news(
        &mut self,
        revision: Revision,
        commands: Vec<AssignmentCommand>,
    ) -> Result<(), CommandRefusal> {
        if self.bare.is_due(!commands.is_empty()) {
            return self.send(vec![self.told_at(revision).bare()]).await;
        }
        self.send(commands).await
    }

    async fn send(&self, commands: Vec<AssignmentCommand>) -> Result<(), CommandRefusal> {
        for command in commands {
            self.reader.send(command).await?;
        }
        Ok(())
    }

    /// Says why the session is over.
    fn end(&mut self, reason: &FenceReason) {
        let fenced = self.told().fenced(reason);
        self.reader.end(fenced);
    }

    /// Cuts a client off that reads nothing. It may come back to its session; where this instance renewed it,
    /// nobody does so any more.
    fn give_up(&mut self) {
        tracing::info!(group = %self.session.group.name(), consumer = %self.session.member, "reads nothing: cut off");
        self.reader.cut_off("register");
    }

    /// Records that partitions are taken. False where that could not be recorded now; then everything is looked at
    /// anew, since nobody remembers which.
    async fn record_taken(&self, taking: &[MemberAck]) -> bool {
        let recorded = self.service.record(&self.session.group, &self.session.member, taking).await;
        let is_decided = |result: &AckResult| result.outcome() != AckOutcome::Undecided;
        let is_done = recorded.is_ok_and(|results| results.iter().all(is_decided));
        if !is_done {
            self.line.doubt();
        }
        is_done
    }

    /// Removes the mark that the member's last stream ended, since this one is here. False where that could not be done now.
    async fn refute_death(&self) -> bool {
        let group = &self.session.group;
        let Some(write) = group.read(|state| unmark_served(state, &self.session.member)) else { return true };
        match self.service.instance.store().txn(write.unfenced()).await {
            Ok(outcome) if outcome.succeeded => {
                let (instance, member) = (&self.service.instance, &self.session.member);
                Registered::<Consumer>::at(instance, group, member).note_unmarked("stream");
                true
            }
            // The view will show the change that it met, and this is called again.
            Ok(_) => true,
            Err(_) => false,
        }
    }

    /// The member has nothing left: its registration goes, and the next look at the view ends the stream. False
    /// where that could not be done now.
    async fn leave(&self) -> bool {
        let left = self.service.remove(&self.session.group, &self.session.member).await;
        if let Err(error) = &left {
            tracing::debug!(consumer = %self.session.member, %error, "drained, and not removed yet");
        }
        left.is_ok()
    }
}

/// The acknowledgement that a client without that call would send of a partition that was handed to it.
fn taken(at: &TopicPartition, role: &Role) -> Option<MemberAck> {
    let Role::Owner { taking: Some(id), .. } = role else { return None };
    Some(MemberAck { at: at.clone(), handoff: Some(id.clone()), ack: Ack::Taken(Taken::default()) })
}
