//! The task behind all watches: keeps one stream open and the registry on it.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_types::kv::Revision;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Streaming;

use super::command::WatchCommand;
use super::progress::StreamActivity;
use super::registry::{WatchRegistry, is_progress};
use crate::backoff::Backoff;
use crate::etcd::connection::{EtcdConnection, MemberChannel};
use crate::etcd::convert::{header_revision, key_range};
use crate::etcd::fault::{self, AttemptError};
use crate::etcd::version;
use crate::etcd::wire::{RangeRequest, StatusRequest, WatchRequest, WatchResponse};

/// The interval at which dropped watches are cancelled and readers that caught up are served again.
const TIDY_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Driver {
    connection: Arc<EtcdConnection>,
    commands: mpsc::Receiver<WatchCommand>,
    registry: WatchRegistry,
    /// Streams that broke in a row without a single answer.
    failures: u32,
}

/// One stream with what is known about it.
#[derive(Debug)]
struct WatchConnection<'a> {
    link: &'a MemberChannel,
    /// Unbounded so that it can't block against a server that waits for us to read; the registry has at
    /// most one creation, one cancellation and a few progress requests per watch under way.
    requests: mpsc::UnboundedSender<WatchRequest>,
    pulse: StreamActivity,
}

impl WatchConnection<'_> {
    /// A stream that is gone takes nothing; its end is noticed where answers are read.
    fn send(&self, request: WatchRequest) {
        let _ = self.requests.send(request);
    }
}

impl Driver {
    pub(super) fn new(connection: Arc<EtcdConnection>, commands: mpsc::Receiver<WatchCommand>) -> Self {
        Self { connection, commands, registry: WatchRegistry::default(), failures: 0 }
    }

    pub(super) async fn run(mut self) {
        while let Err(fault) = self.session().await {
            let is_final = fault.is_final(self.connection.can_log_in());
            let error = fault.of_read("watch");
            tracing::debug!(?error, "the stream of watches broke");
            self.registry.disconnect();
            if is_final {
                self.registry.fail_all(|| fault::for_each(&error));
            }
            self.failures += 1;
            sleep(Backoff::default().after(&error, self.failures)).await;
        }
    }

    /// Runs all watches over one stream, until it breaks or nobody is left who could watch.
    async fn session(&mut self) -> Result<(), AttemptError> {
        self.registry.forget_unread();
        while self.registry.is_empty() {
            match self.commands.recv().await {
                Some(WatchCommand::Open(subscription)) => self.registry.park(subscription),
                Some(WatchCommand::AskForProgress) => {}
                None => return Ok(()),
            }
        }
        let link = self.connection.link().await?;
        self.serve(&link).await.inspect_err(|fault| self.connection.learn_from(&link, fault))
    }

    async fn serve(&mut self, link: &MemberChannel) -> Result<(), AttemptError> {
        self.check_version(link).await?;
        let (requests, outgoing) = mpsc::unbounded_channel();
        let mut session = WatchConnection { link, requests, pulse: StreamActivity::new() };
        self.registry.tidy().into_iter().for_each(|request| session.send(request));
        let mut answers = self.open(link, outgoing).await?;
        let mut ticks = interval(TIDY_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                // Once a second, so it starves nobody.
                _ = ticks.tick() => self.tend(&mut session).await?,
                // Callers wait for these, and there are few.
                command = self.commands.recv() => match command {
                    Some(command) => self.obey(command, &mut session),
                    None => return Ok(()),
                },
                // Changes in the store.
                answer = answers.message() => {
                    let answer = answer?.ok_or(AttemptError::Lost(None))?;
                    self.receive(answer, &mut session)?;
                }
            }
        }
    }

    /// Refuses a member that is too old for good. Some versions tell theirs to root alone.
    async fn check_version(&self, link: &MemberChannel) -> Result<(), AttemptError> {
        let mut client = link.maintenance();
        let asking = client.status(link.request(StatusRequest {}));
        let asked = timeout(self.connection.attempt_timeout, asking).await;
        let asked = asked.map_err(|_| AttemptError::Lost(None))?.map_err(AttemptError::from);
        let status =
            self.connection.advice.unless_denied("the version of etcd, which may be too old", asked)?;
        let Some(status) = status else { return Ok(()) };
        let checked = version::check(&status.into_inner().version);
        checked
            .inspect_err(|error| tracing::error!(%error, "etcd is of no use"))
            .map_err(AttemptError::Refused)
    }

    async fn open(
        &self,
        link: &MemberChannel,
        outgoing: mpsc::UnboundedReceiver<WatchRequest>,
    ) -> Result<Streaming<WatchResponse>, AttemptError> {
        let mut client = link.watch();
        let opening = client.watch(link.stream_request(UnboundedReceiverStream::new(outgoing)));
        let opened = timeout(self.connection.attempt_timeout, opening).await;
        Ok(opened.map_err(|_| AttemptError::Lost(None))??.into_inner())
    }

    fn obey(&mut self, command: WatchCommand, session: &mut WatchConnection<'_>) {
        match command {
            WatchCommand::Open(subscription) => session.send(self.registry.place(subscription)),
            WatchCommand::AskForProgress => {
                if session.pulse.wants() {
                    self.ask_for_progress(session);
                }
            }
        }
    }

    fn ask_for_progress(&mut self, session: &mut WatchConnection<'_>) {
        if let Some(request) = self.registry.progress_request() {
            session.send(request);
            session.pulse.asked();
        }
    }

    fn receive(
        &mut self,
        answer: WatchResponse,
        session: &mut WatchConnection<'_>,
    ) -> Result<(), AttemptError> {
        session.pulse.heard();
        self.failures = 0;
        let is_due = is_progress(&answer) && session.pulse.told();
        let request = self.registry.receive(answer)?;
        request.into_iter().for_each(|request| session.send(request));
        if is_due {
            self.ask_for_progress(session);
        }
        Ok(())
    }

    /// Tidies up, and makes sure that silence is peace.
    async fn tend(&mut self, session: &mut WatchConnection<'_>) -> Result<(), AttemptError> {
        if session.pulse.is_mute(self.registry.unconfirmed_since(), self.connection.attempt_timeout) {
            return Err(AttemptError::Lost(None));
        }
        self.registry.tidy().into_iter().for_each(|request| session.send(request));
        if session.pulse.is_lost(2 * self.connection.request_timeout) {
            return self.check_silence(session).await;
        }
        if session.pulse.is_silent() {
            self.ask_for_progress(session);
        }
        Ok(())
    }

    /// etcd leaves a progress request unanswered while a watch waits for a revision that has not come.
    /// If it has, the stream is broken, however healthy the connection looks.
    async fn check_silence(&self, session: &mut WatchConnection<'_>) -> Result<(), AttemptError> {
        let (Some(prefix), Some(horizon)) = (self.registry.any_prefix(), self.registry.horizon()) else {
            return Ok(());
        };
        if self.revision(session.link, &prefix).await? >= horizon {
            return Err(AttemptError::Lost(None));
        }
        session.pulse.heard();
        Ok(())
    }

    async fn revision(&self, link: &MemberChannel, prefix: &[u8]) -> Result<Revision, AttemptError> {
        let (key, range_end) = key_range(prefix);
        let request = RangeRequest { key, range_end, limit: 1, keys_only: true, ..RangeRequest::default() };
        let mut client = link.kv();
        let answer = timeout(self.connection.attempt_timeout, client.range(link.request(request))).await;
        let answer = answer.map_err(|_| AttemptError::Lost(None))??.into_inner();
        Ok(header_revision(answer.header))
    }
}

#[cfg(test)]
#[path = "driver_test.rs"]
mod tests;
