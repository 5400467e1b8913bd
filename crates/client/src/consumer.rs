//! The consumer: options and a handler in, a running member of a group out.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::claim::SessionClaim;
use crate::clock::Clock;
use crate::driver::{ConsumerParts, Driver};
use crate::grpc::GrpcTransport;
use crate::handler::PartitionHandler;
use crate::options::{ConsumerOptions, OptionsError};
use crate::status::ConsumerHandle;
use crate::stopped::{ConsumerError, Stopped};
use crate::transport::Transport;

/// A named member of a group that owns partitions.
///
/// It keeps one session: opens it, renews it, reconnects to any instance, and opens another after a loss. The commands
/// of the service become calls of a [`PartitionHandler`].
#[derive(Debug)]
pub struct Consumer<T = GrpcTransport>(ConsumerParts<T>);

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
        Ok(Self(ConsumerParts { options, transport: Arc::new(transport), clock, claim, status }))
        options.endpoints.iter().try_for_each(|endpoint| transport.check(endpoint))?;
    }

    /// Watches the consumer while it runs.
    #[must_use]
    pub fn handle(&self) -> ConsumerHandle {
        ConsumerHandle { status: self.0.status.subscribe(), claim: self.0.claim.clone() }
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
        Driver::new(self.0, Arc::new(handler)).run(shutdown).await
    }
}
