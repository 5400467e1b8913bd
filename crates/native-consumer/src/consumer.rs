//! A consumer.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_kafka::{BrokerPool, Connector};
use tokio::sync::watch;

use crate::driver::Driver;
use crate::listener::{ListenerCalls, RebalanceListener};
use crate::partition::OwnedPartition;
use crate::shared::ConsumerCore;
use crate::{NativeFailure, NativeOptions, NativeStatus, StartFailure};

/// The time that a consumer which is dropped has to leave its group, in the background.
const DROPPED_WITHIN: Duration = Duration::from_secs(5);

/// A member of a Kafka group that hands its partitions out.
///
/// Its connections, heartbeats and plans run on a thread of its own, so no code of the application holds them up. Dropping
/// it closes it in the background; [`close`](Self::close) waits for that.
#[derive(Debug)]
pub struct NativeConsumer {
    core: Arc<ConsumerCore>,
    status: watch::Receiver<NativeStatus>,
}

impl NativeConsumer {
    /// Starts a consumer. Reads the files that the options name, which blocks for some milliseconds; brokers are reached in
    /// the background, and again until they answer.
    ///
    /// # Errors
    /// [`StartFailure`], by variant.
    pub fn start(options: NativeOptions) -> Result<Self, StartFailure> {
        Self::start_listening(options, None)
    }

    /// The same, with code that hears of rebalances.
    ///
    /// # Errors
    /// [`StartFailure`], by variant.
    ///
    /// # Panics
    /// Outside of a tokio runtime, on which the listener runs.
    pub fn start_with(
        options: NativeOptions,
        listener: impl RebalanceListener + 'static,
    ) -> Result<Self, StartFailure> {
        Self::start_listening(options, Some(Box::new(listener)))
    }

    fn start_listening(
        options: NativeOptions,
        listener: Option<Box<dyn RebalanceListener>>,
    ) -> Result<Self, StartFailure> {
        options.validate()?;
        let pool = BrokerPool::new(Connector::new(&options.kafka)?);
        let core = Arc::<ConsumerCore>::default();
        let (shown, status) = watch::channel(NativeStatus::default());
        let (own, listener) = (Arc::clone(&core), ListenerCalls::start(listener));
        let offered = options.offered()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(StartFailure::Thread)?;
        let run = move || {
            let ending = Arc::clone(&own);
            let driving = std::panic::AssertUnwindSafe(|| {
                runtime.block_on(Driver::new(options, offered, pool, own, listener, shown).run());
            });
            if std::panic::catch_unwind(driving).is_err() {
                ending.conclude(Err(NativeFailure::Panicked));
            }
        };
        let thread = std::thread::Builder::new().name("kafka-consumer".to_owned());
        thread.spawn(run).map_err(StartFailure::Thread)?;
        Ok(Self { core, status })
    }

    pub(crate) const fn core(&self) -> &Arc<ConsumerCore> {
        &self.core
    }

    /// The next partition that the member owns; `None` when the consumer is closed. To be called again and again: whoever
    /// takes no partitions counts as one that does not ask for records.
    ///
    /// # Errors
    /// [`NativeFailure`] where the member can't go on.
    ///
    /// # Cancel safety
    /// Nothing is lost where the call is dropped.
    pub async fn next_partition(&mut self) -> Result<Option<OwnedPartition>, NativeFailure> {
        let _waiting = self.core.asks();
        loop {
            let mut changed = std::pin::pin!(self.core.changed.notified());
            changed.as_mut().enable();
            if let Some(cell) = self.core.next_arrival() {
                return Ok(Some(OwnedPartition::new(cell, Arc::clone(&self.core))));
            }
            if let Some(outcome) = self.core.outcome() {
                return outcome.map(|()| None);
            }
            changed.await;
        }
    }

    /// The member's state, as it is now and as it changes.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<NativeStatus> {
        self.status.clone()
    }

    /// Gives all partitions up, commits what is done, and leaves the group: a dynamic member says so, a static one only
    /// stops, so that it has its partitions back if it returns within its session. `within` bounds all of it: what is not
    /// released by then is lost.
    ///
    /// Partitions in the application's hands end, and have to be released meanwhile.
    ///
    /// # Errors
    /// [`NativeFailure`] where the member could not go on before.
    ///
    /// # Cancel safety
    /// If the call is dropped, the consumer closes all the same.
    pub async fn close(self, within: Duration) -> Result<(), NativeFailure> {
        self.core.close(within);
        loop {
            let mut changed = std::pin::pin!(self.core.changed.notified());
            changed.as_mut().enable();
            if let Some(outcome) = self.core.outcome() {
                return outcome;
            }
            changed.await;
        }
    }
}

impl Drop for NativeConsumer {
    fn drop(&mut self) {
        self.core.close(DROPPED_WITHIN);
    }
}
