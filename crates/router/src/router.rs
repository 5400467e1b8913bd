//! The router: built from options and a transport, it runs as a member of a group.

use std::sync::Arc;

use kafka_assigner_client::{GrpcTransport, SessionStatus};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::cutover::{Cutover, CutoverError};
use crate::driver::Driver;
use crate::forward::Forward;
use crate::forwarder::Forwarder;
use crate::options::{RouterOptions, RouterOptionsError};
use crate::table::RoutingTable;
use crate::transport::RoutingTransport;

/// A named member of a group that forwards requests to the owners of partitions.
///
/// It keeps one session: opens it, renews it, reconnects to any instance, and opens another one, under a new
/// incarnation, after a loss. While it has none, its table is closed.
#[derive(Debug)]
pub struct Router<C, T = GrpcTransport> {
    pub(crate) options: RouterOptions,
    pub(crate) table: RoutingTable,
    pub(crate) cutover: Arc<C>,
    pub(crate) transport: Arc<T>,
    pub(crate) status: watch::Sender<RouterStatus>,
}

/// A router at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RouterStatus {
    /// The session; `None` = there is none just now.
    pub session: Option<SessionStatus>,
    /// The table is open.
    pub is_open: bool,
    /// The number of partitions that are held for handoffs.
    pub held: usize,
    /// The number of acknowledgements that took effect so far.
    pub acknowledged: u64,
    /// The number of sessions lost so far.
    pub sessions_lost: u64,
}

/// The ways in which a router stops regularly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouterStopped {
    /// It deregistered, so that no switch waits for it.
    Detached,
    /// It had no session to end, or could not tell: the session runs out by itself.
    WithoutSession,
}

/// The reasons for which a router stopped by itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RouterError {
    /// Another process runs under the same name; taking the name back would start an endless exchange.
    #[error("another router attached under the same name: {0}")]
    Superseded(String),
    /// The service refused the session, and would again.
    #[error("session refused ({code:?}): {message}")]
    Refused {
        /// The gRPC code.
        code: tonic::Code,
        /// The service's message.
        message: String,
    },
    /// [`Cutover::work`] stood still, or ended. The router took itself out of the group; run a new one.
    #[error("forwarding stands still")]
    Stuck,
    /// [`Cutover::drain`] failed too often in a row. The router took itself out of the group; run a new one.
    #[error("{failures} drains in a row failed")]
    Drains {
        /// The number of failures in a row.
        failures: u32,
        /// The last failure.
        #[source]
        last: CutoverError,
    },
}

impl<F: Forward> Router<Forwarder<F>> {
    /// A router that forwards requests over `forward`, and calls the service over gRPC without TLS. Requests are given
    /// to its [`cutover`](Self::cutover).
    ///
    /// # Errors
    ///
    /// An option is out of its bounds.
    pub fn forwarding(options: RouterOptions, forward: F) -> Result<Self, RouterOptionsError> {
        Self::forwarding_over(options, forward, GrpcTransport::new())
    }
}

impl<F: Forward, T: RoutingTransport> Router<Forwarder<F>, T> {
    /// A router that forwards requests over `forward`, and calls the service over `transport`.
    ///
    /// # Errors
    ///
    /// An option is out of its bounds.
    pub fn forwarding_over(
        options: RouterOptions,
        forward: F,
        transport: T,
    ) -> Result<Self, RouterOptionsError> {
        let table = RoutingTable::new();
        let forwarder = Forwarder::new(forward, table.clone(), options.stash, options.send_timeout);
        Self::over(options, table, Arc::new(forwarder), transport)
    }
}

impl<C: Cutover, T: RoutingTransport> Router<C, T> {
    /// A router that fills `table`, has `cutover` switch the traffic, and calls the service over `transport`.
    ///
    /// # Errors
    ///
    /// An option is out of its bounds.
    pub fn over(
        options: RouterOptions,
        table: RoutingTable,
        cutover: Arc<C>,
        transport: T,
    ) -> Result<Self, RouterOptionsError> {
        options.validate()?;
        let (transport, status) = (Arc::new(transport), watch::Sender::default());
        Ok(Self { options, table, cutover, transport, status })
    }

    /// The table that the router keeps.
    #[must_use]
    pub fn table(&self) -> RoutingTable {
        self.table.clone()
    }

    /// The [`Cutover`] that switches the traffic; a [`Forwarder`] also takes requests.
    #[must_use]
    pub fn cutover(&self) -> Arc<C> {
        self.cutover.clone()
    }

    /// Watches the router while it runs.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<RouterStatus> {
        self.status.subscribe()
    }

    /// Runs until `shutdown` is cancelled and the router has left in good order, within `close_timeout` and a few
    /// seconds; or until there is no sense in going on.
    ///
    /// Not cancel safe: dropping the future closes the table, fails held requests, and the session runs out by itself.
    ///
    /// # Errors
    ///
    /// [`RouterError`], by variant.
    pub async fn run(self, shutdown: CancellationToken) -> Result<RouterStopped, RouterError> {
        Driver::new(self).run(shutdown).await
    }
}
