//! The consumer: options and a handler in, a running member of a group out.

use std::sync::Arc;

use kafka_assigner_session::{Clock, GrpcTransport, Transport};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::claim::SessionClaim;
use crate::driver::{ConsumerParts, Driver};
use crate::handler::PartitionHandler;
use crate::options::{ConsumerOptions, OptionsError};
use crate::own_thread::on_own_thread;
use crate::status::ConsumerHandle;
use crate::stopped::{ConsumerError, Stopped};

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
        options.endpoints.iter().try_for_each(|endpoint| transport.check(endpoint))?;
        let (claim, status) = (SessionClaim::new(clock.clone()), watch::Sender::default());
        Ok(Self(ConsumerParts { options, transport: Arc::new(transport), clock, claim, status }))
    }

    /// Watches the consumer while it runs.
    #[must_use]
    pub fn handle(&self) -> ConsumerHandle {
        ConsumerHandle { status: self.0.status.subscribe(), claim: self.0.claim.clone() }
    }

    /// Runs until `shutdown` is cancelled and the consumer has left in good order, within `drain_timeout` plus
    /// twice `close_timeout` and a few seconds; or until there is no sense in going on.
    ///
    /// The session, its heartbeats and its claims have a thread and a runtime of their own: a handler that blocks every
    /// thread of the caller's runtime, on which it is called, costs no session.
    ///
    /// Not cancel safe: dropping the future aborts all handlers, and the session runs out by itself.
    ///
    /// # Errors
    ///
    /// [`ConsumerError`], by variant.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, and where the transport panics.
    pub async fn run(
        self,
        handler: impl PartitionHandler,
        shutdown: CancellationToken,
    ) -> Result<Stopped, ConsumerError> {
        self.check_limit(&handler)?;
        let work = Driver::new(self.0, Arc::new(handler), Handle::current()).run(shutdown);
        on_own_thread(work).await.unwrap_or_else(|error| Err(ConsumerError::Thread(error.to_string())))
    }

    /// As [`run`](Self::run), with everything on the caller's runtime: for simulations and for tests that pause the clock. A
    /// handler that blocks delays heartbeats then.
    ///
    /// # Errors
    ///
    /// [`ConsumerError`], by variant, but for [`ConsumerError::Thread`].
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, and where the transport panics.
    pub async fn run_in_place(
        self,
        handler: impl PartitionHandler,
        shutdown: CancellationToken,
    ) -> Result<Stopped, ConsumerError> {
        self.check_limit(&handler)?;
        Driver::new(self.0, Arc::new(handler), Handle::current()).run(shutdown).await
    }

    fn check_limit(&self, handler: &impl PartitionHandler) -> Result<(), ConsumerError> {
        let max_partitions = self.0.options.max_partitions;
        match handler.most_partitions() {
            Some(most) if max_partitions == 0 || max_partitions > most => {
                Err(ConsumerError::PartitionLimit { max_partitions, most })
            }
            _ => Ok(()),
        }
    }
}
