//! The parts of a router that its driver works with.

use std::sync::Arc;

use tokio::sync::watch;

use crate::options::RouterOptions;
use crate::status::RouterStatus;
use crate::table::RoutingTable;

/// The parts of a router.
#[derive(Debug)]
pub(crate) struct RouterParts<C, T> {
    pub(crate) options: RouterOptions,
    pub(crate) table: RoutingTable,
    pub(crate) cutover: Arc<C>,
    pub(crate) transport: Arc<T>,
    pub(crate) status: watch::Sender<RouterStatus>,
}
