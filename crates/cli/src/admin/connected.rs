//! A connected instance.

use std::time::Duration;

use kafka_assigner_proto::BearerToken;
use kafka_assigner_proto::v1::admin_client::AdminClient;
use tokio::time::timeout;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Response, Status};

use crate::command_error::CommandError;

/// The longest time of one call. Answers come from a view in memory or from one store transaction, so that ten
/// seconds mean that something is wrong, and nobody waits longer at a prompt.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The most pages of one list: with the 1 000 entries of a page ten million, far beyond what one group holds.
const MOST_PAGES: usize = 10_000;

/// The largest answer: the 20 000 entries of a plan with the longest names fit in.
const LARGEST_ANSWER: usize = 64 << 20;

/// A channel whose calls show the token of `--token-file`, where one was given.
pub(crate) type CallerChannel = InterceptedService<Channel, BearerToken>;

/// An instance, connected.
#[derive(Debug, Clone)]
pub(crate) struct Admin {
    client: AdminClient<CallerChannel>,
    server: String,
}

impl Admin {
    pub(super) fn new(client: AdminClient<CallerChannel>, server: String) -> Self {
        Self { client: client.max_decoding_message_size(LARGEST_ANSWER), server }
    }

    /// The calls themselves; cheap, since all share one connection.
    pub(crate) fn client(&self) -> AdminClient<CallerChannel> {
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
