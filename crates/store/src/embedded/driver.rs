//! The way of calls to the engine, which differs between the memory and the file store.

use std::fmt::Debug;
use std::sync::Arc;

use kafka_assigner_types::kv::Revision;
use tokio::time::Instant;

use super::engine::Engine;
use super::shared::SharedEngine;
use crate::error::Error;

/// Carries calls to the engine, and publishes what they did once it is settled.
pub(crate) trait Driver: Debug + Send + Sync + 'static {
    /// The engine and its watchers.
    fn shared(&self) -> &SharedEngine;

    /// Ends the leases whose time is over, then runs `job`, and answers when all of it is settled.
    fn run<R: Send + 'static>(
        self: &Arc<Self>,
        operation: &'static str,
        job: impl FnOnce(&mut Engine, Instant) -> Result<R, Error> + Send + 'static,
    ) -> impl Future<Output = Result<R, Error>> + Send;

    /// Ends the leases whose time is over.
    fn expire(self: &Arc<Self>) -> impl Future<Output = Result<(), Error>> + Send {
        self.run("expire", |_, _| Ok(()))
    }

    /// Forgets the changes before `oldest`.
    fn compact(self: &Arc<Self>, oldest: Revision) -> impl Future<Output = Result<(), Error>> + Send {
        self.run("compact", move |engine, _| {
            engine.compact(oldest);
            Ok(())
        })
    }
}
