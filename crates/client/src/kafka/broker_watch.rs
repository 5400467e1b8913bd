//! Watches over trouble with brokers: hears of it from librdkafka, tells it, and looks for its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::join_all;
use kafka_assigner_session::Clock;
use kafka_assigner_types::moment::Moment;
use rdkafka::error::KafkaError;
use tokio::sync::Notify;
use tracing::{info, warn};

use super::broker_trouble::{BrokerFailure, BrokerQuestion, BrokerTrouble, TroubleWord, WatchedClient};
use super::client::Client;

/// The trouble of one runner with its brokers, as one of its clients tells of it; clones and those of the other clients share it.
#[derive(Debug, Clone)]
pub(super) struct BrokerWatch {
    shared: Arc<SharedTrouble>,
    client: WatchedClient,
}

#[derive(Debug)]
struct SharedTrouble {
    clock: Clock,
    trouble: Mutex<BrokerTrouble>,
    begun: Notify,
}

impl BrokerWatch {
    /// The one of the client that asks.
    pub(super) fn new() -> Self {
        let (clock, trouble, begun) = (Clock::of_the_runtime(), Mutex::default(), Notify::new());
        Self { shared: Arc::new(SharedTrouble { clock, trouble, begun }), client: WatchedClient::Asking }
    }

    /// The one of another client of the same runner.
    pub(super) fn of(&self, client: WatchedClient) -> Self {
        Self { shared: self.shared.clone(), client }
    }

    /// librdkafka tells of an error, from any thread.
    pub(super) fn heard(&self, error: &KafkaError, text: &str) {
        let failure = error.rdkafka_error_code().and_then(|code| BrokerFailure::of(code, text));
        let Some(failure) = failure else { return };
        let mut trouble = self.trouble();
        if failure == BrokerFailure::NoToken && trouble.knows_tokens(self.client) {
            return;
        }
        trouble.heard(self.now(), self.client, failure, text);
        self.wake(&trouble);
    }

    /// The client's source of tokens was asked; `failed` = it has none.
    pub(super) fn token(&self, failed: Option<&str>) {
        let mut trouble = self.trouble();
        trouble.token(self.now(), self.client, failed);
        self.wake(&trouble);
    }

    fn wake(&self, trouble: &BrokerTrouble) {
        if trouble.next_look().is_some() {
            self.shared.begun.notify_one();
        }
    }

    /// The text of the trouble that there is.
    pub(super) fn text(&self) -> Option<String> {
        self.trouble().text()
    }

    /// Tells trouble until it is over, again and again, until this is dropped.
    pub(super) async fn keep_telling(self, client: Client, kafka_group: String) {
        loop {
            let next_look = self.trouble().next_look();
            match next_look {
                Some(at) => {
                    self.shared.clock.sleep_until(at).await;
                    self.look(&client, &kafka_group).await;
                }
                None => self.shared.begun.notified().await,
            }
        }
    }

    /// The lock is not held while brokers are asked: events of librdkafka wait for it.
    async fn look(&self, client: &Client, kafka_group: &str) {
        let questions = self.trouble().questions(self.now());
        let answered = answered(client, questions).await;
        let word = self.trouble().after_look(self.now(), &answered);
        let error = self.text();
        match word {
            Some(TroubleWord::Lasts(age)) => {
                warn!(kafka_group, error, ?age, "the brokers can't be used; trying all the time");
            }
            Some(TroubleWord::NoToken(age)) => {
                warn!(kafka_group, error, ?age, "no token for the brokers; trying all the time");
            }
            Some(TroubleWord::Over(age)) => info!(kafka_group, ?age, "the brokers can be used again"),
            None => {}
        }
    }

    fn trouble(&self) -> MutexGuard<'_, BrokerTrouble> {
        self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Moment {
        self.shared.clock.now()
    }
}

/// The questions among these that a broker answers.
async fn answered(client: &Client, questions: Vec<BrokerQuestion>) -> Vec<BrokerQuestion> {
    let asked = questions.into_iter().map(|question| async move {
        let is_answered = client.is_answered(question.client).await;
        is_answered.then_some(question)
    });
    join_all(asked).await.into_iter().flatten().collect()
}
