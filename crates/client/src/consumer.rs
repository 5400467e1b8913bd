//! The consumer: options and a handler in, a running member of a group out.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::claim::SessionClaim;
use crate::clock::Clock;
use crate::driver::Driver;
use crate::grpc::GrpcTransport;
use crate::handler::PartitionHandler;
use crate::options::{ConsumerOptions, OptionsError};
use crate::status::{ConsumerHandle, ConsumerStatus};
use crate::transport::Transport;

/// A named member of a group that owns partitions.
///
/// It keeps one session: opens it, renews it, reconnects to any instance, and opens another after a loss. The commands
/// of the service become calls of a [`PartitionHandler`].
#[derive(Debug)]
pub struct Consumer<T = GrpcTransport> {
    pub(crate) options: ConsumerOptions,
    pub(crate) transport: Arc<T>,
    pub(crate) clock: Clock,
    pub(crate) claim: SessionClaim,
    pub(crate) status: watch::Sender<ConsumerStatus>,
}

/// The ways in which a consumer stops in good order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// It deregistered as its options say.
    Left,
    /// It had no session to leave, or lost it while leaving.
    WithoutSession,
}

/// The reasons for which a consumer stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConsumerError {
    /// Another process runs under the same name; taking the name back would start an endless exchange.
    #[error("another consumer registered under the same name: {0}")]
    Superseded(String),
    /// The service refused the registration, and would again.
    #[error("registration refused ({code:?}): {message}")]
    Refused {
        /// The gRPC code.
        code: tonic::Code,
        /// The service's words.
        message: String,
    },
    /// Handlers did not finish within `close_timeout` and were aborted; the service was told nothing about these
    /// partitions, which others get when the session is over.
    #[error("{partitions} partitions were not given up in time")]
    Unfinished {
        /// Their number.
        partitions: usize,
    },
}

impl Consumer<GrpcTransport> {
    /// A consumer that calls over gRPC without TLS.
    ///
    /// # Errors
    ///
    /// An option is out of its bounds.
    pub fn new(options: ConsumerOptions) -> Result<Self, OptionsError> {
        Self::over(options, GrpcTransport::new())
    }
}

impl<T: Transport> Consumer<T> {
    /// A consumer that calls over `transport`.
    ///
    /// # Errors
    ///
    /// An option is out of its bounds.
    pub fn over(options: ConsumerOptions, transport: T) -> Result<Self, OptionsError> {
        Self::on_clock(options, transport, Clock::start())
    }

    /// A consumer that calls over `transport` and tells the time by `clock`.
    ///
    /// # Errors
    ///
    /// An option is out of its bounds.
    pub fn on_clock(options: ConsumerOptions, transport: T, clock: Clock) -> Result<Self, OptionsError> {
        options.validate()?;
        let (claim, status) = (SessionClaim::new(clock.clone()), watch::Sender::default());
        Ok(Self { options, transport: Arc::new(transport), clock, claim, status })
    }

    /// Watches the consumer while it runs.
    #[must_use]
    pub fn handle(&self) -> ConsumerHandle {
        ConsumerHandle { status: self.status.subscribe(), claim: self.claim.clone() }
    }

    /// Runs until `shutdown` is cancelled and the consumer has left in good order, within `drain_timeout` plus
    /// twice `close_timeout` and a few seconds; or until there is no sense in going on.
    ///
    /// Not cancel safe: dropping the future aborts all handlers, and the session runs out by itself.
    ///
    /// # Errors
    ///
    /// [`ConsumerError`], by variant.
    pub async fn run(
        self,
        handler: impl PartitionHandler,
        shutdown: CancellationToken,
    ) -> Result<Stopped, ConsumerError> {
        Driver::new(self, Arc::new(handler)).run(shutdown).await
    }
}
