//! Calls of an instance's Admin service.

mod connection;
mod tls;

use std::time::Duration;

use clap::Args;
use kafka_assigner_proto::v1::admin_client::AdminClient;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Response, Status};

use crate::command_error::CommandError;
use crate::output::{Output, Report};

pub(crate) use connection::ConnectionFlags;

/// The longest time of one call. Answers come from a view in memory or from one store transaction, so that ten
/// seconds mean that something is wrong, and nobody waits longer at a prompt.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The most pages of one list: with the 1 000 entries of a page ten million, far beyond what one group holds.
const MOST_PAGES: usize = 10_000;

/// An instance, connected.
#[derive(Debug, Clone)]
pub(crate) struct Admin {
    client: AdminClient<Channel>,
    server: String,
}

impl Admin {
    /// The calls themselves; cheap, since all share one connection.
    pub(crate) fn client(&self) -> AdminClient<Channel> {
        self.client.clone()
    }

    /// Waits for an answer.
    ///
    /// # Errors
    /// [`CommandError::Refused`], [`CommandError::Broken`] and [`CommandError::TimedOut`].
    pub(crate) async fn ask<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, CommandError> {
        match timeout(CALL_TIMEOUT, call).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(self.failed(status)),
            Err(_) => Err(CommandError::TimedOut { server: self.server.clone(), after: CALL_TIMEOUT }),
        }
    }

    /// The failure for a status, which may be an answer or a broken connection.
    pub(crate) fn failed(&self, status: Status) -> CommandError {
        if std::error::Error::source(&status).is_some() {
            CommandError::Broken { server: self.server.clone(), source: Box::new(status) }
        } else {
            CommandError::refused(status)
        }
    }

    /// The failure for a status that ends a stream.
    pub(crate) fn stream_failed(&self, status: Status) -> CommandError {
        if std::error::Error::source(&status).is_some() {
            CommandError::StreamLost { server: self.server.clone() }
        } else {
            CommandError::refused(status)
        }
    }

    /// The failure for an answer that breaks the interface's own rules.
    pub(crate) fn nonsense(&self, what: &'static str) -> CommandError {
        CommandError::Nonsense { server: self.server.clone(), what }
    }

    /// The failure for a stream that ended though it should go on.
    pub(crate) fn ended(&self) -> CommandError {
        CommandError::StreamEnded { server: self.server.clone() }
    }

    /// Collects all pages of a list. `page` gets a token and gives the entries and the next token.
    ///
    /// # Errors
    /// The error of `page`, and [`CommandError::Nonsense`] for a list without end.
    pub(crate) async fn pages<T>(
        &self,
        mut page: impl AsyncFnMut(String) -> Result<(Vec<T>, String), CommandError>,
    ) -> Result<Vec<T>, CommandError> {
        let mut all = Vec::new();
        let mut token = String::new();
        for _ in 0..MOST_PAGES {
            let (entries, next) = page(token).await?;
            all.extend(entries);
            if next.is_empty() {
                return Ok(all);
            }
            token = next;
        }
        Err(self.nonsense("a list without end"))
    }
}

/// A command against an instance: its arguments and what it does with them.
pub(crate) trait Operation: Args {
    /// The result.
    type Report: Report;

    /// The group that it concerns, for hints; `None` = all or none.
    fn group(&self) -> Option<&str>;

    /// Carries it out.
    ///
    /// # Errors
    /// [`CommandError`].
    async fn perform(self, admin: &Admin) -> Result<Self::Report, CommandError>;
}

/// An operation with the flags that all of them have.
#[derive(Debug, Args)]
pub(crate) struct InstanceCall<O: Operation> {
    #[command(flatten)]
    operation: O,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    connection: ConnectionFlags,
}

impl<O: Operation> InstanceCall<O> {
    /// Connects, carries the operation out and writes what it found.
    ///
    /// # Errors
    /// [`CommandError`].
    pub(crate) async fn run(self) -> Result<(), CommandError> {
        let admin = self.connection.connect().await?;
        let group = self.operation.group().map(str::to_owned);
        let report = self.operation.perform(&admin).await.map_err(|failure| failure.in_group(group))?;
        self.output.write(&report)
    }
}
