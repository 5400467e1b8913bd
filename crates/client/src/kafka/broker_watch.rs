//! Watches over trouble with brokers: hears of it from librdkafka, tells it, and looks for its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kafka_assigner_session::Clock;
use kafka_assigner_types::moment::Moment;
use rdkafka::error::KafkaError;
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::{info, warn};

use super::broker_trouble::{BrokerFailure, BrokerTrouble};
use super::client::Client;

/// The time between two looks for an answer, while there is trouble. As long as trouble lasts before it is told.
const EVERY: Duration = Duration::from_secs(5);

/// The trouble of one runner with its brokers; clones share it.
#[derive(Debug, Clone)]
pub(super) struct BrokerWatch(Arc<SharedTrouble>);

#[derive(Debug)]
struct SharedTrouble {
    clock: Clock,
    trouble: Mutex<BrokerTrouble>,
    begun: Notify,
}

impl BrokerWatch {
    pub(super) fn new() -> Self {
        let (clock, trouble, begun) = (Clock::of_the_runtime(), Mutex::default(), Notify::new());
        Self(Arc::new(SharedTrouble { clock, trouble, begun }))
    }

    /// librdkafka tells of an error, from any thread.
    pub(super) fn heard(&self, error: &KafkaError, text: &str) {
        let Some(failure) = error.rdkafka_error_code().and_then(BrokerFailure::of) else { return };
        let mut trouble = self.trouble();
        trouble.heard(self.now(), failure, text);
        if trouble.text().is_some() {
            self.0.begun.notify_one();
        }
    }

    /// The text of the trouble that there is.
    pub(super) fn text(&self) -> Option<String> {
        self.trouble().text().map(str::to_owned)
    }

    /// Tells trouble until it is over, again and again, until this is dropped.
    pub(super) async fn keep_telling(self, client: Client, kafka_group: String) {
        loop {
            self.0.begun.notified().await;
            while self.text().is_some() {
                sleep(EVERY).await;
                self.look(&client, &kafka_group).await;
            }
        }
    }

    /// The lock is held for each question alone: events of librdkafka wait for it.
    async fn look(&self, client: &Client, kafka_group: &str) {
        let is_refused = self.trouble().is_refused(self.now());
        if !is_refused && client.is_answered().await {
            let told = self.trouble().over(self.now());
            if let Some(age) = told {
                info!(kafka_group, ?age, "a broker answers again");
            }
            return;
        }
        let lasting = self.trouble().lasts(self.now());
        if let Some(age) = lasting {
            let error = self.text();
            warn!(kafka_group, error, ?age, "the brokers can't be used; trying all the time");
        }
    }

    fn trouble(&self) -> MutexGuard<'_, BrokerTrouble> {
        self.0.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Moment {
        self.0.clock.now()
    }
}
