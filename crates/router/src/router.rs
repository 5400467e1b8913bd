//! The router: built from options and a transport, it runs as a member of a group.

use std::sync::Arc;

use kafka_assigner_session::GrpcTransport;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::cutover::Cutover;
use crate::driver::{Driver, RouterParts};
use crate::forward::Forward;
use crate::forwarder::Forwarder;
use crate::options::{RouterOptions, RouterOptionsError};
use crate::status::RouterStatus;
use crate::stopped::{RouterError, RouterStopped};
use crate::table::RoutingTable;
use crate::transport::RoutingTransport;

/// A named member of a group that forwards requests to the owners of partitions.
///
/// It keeps one session: opens it, renews it, reconnects to any instance, and opens another one, under a new
/// incarnation, after a loss. While it has none, its table is closed.
#[derive(Debug)]
pub struct Router<C, T = GrpcTransport>(RouterParts<C, T>);

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
        options.endpoints.iter().try_for_each(|endpoint| transport.check(endpoint))?;
        let (transport, status) = (Arc::new(transport), watch::Sender::default());
        Ok(Self(RouterParts { options, table, cutover, transport, status }))
    }

    /// The table that the router keeps.
    #[must_use]
    pub fn table(&self) -> RoutingTable {
        self.0.table.clone()
    }

    /// The [`Cutover`] that switches the traffic; a [`Forwarder`] also takes requests.
    #[must_use]
    pub fn cutover(&self) -> Arc<C> {
        self.0.cutover.clone()
    }

    /// Watches the router while it runs.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<RouterStatus> {
        self.0.status.subscribe()
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
        Driver::new(self.0).run(shutdown).await
    }
}
