//! The way to the coordinator, and to any broker.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_group_member::{AnswerFailure, GroupCoordinator, KafkaError, RequestNumber};
use kafka_assigner_kafka::messages::FindCoordinatorRequest;
use kafka_assigner_kafka::wire::ApiRequest;
use kafka_assigner_kafka::{BrokerAddress, BrokerLane, BrokerPool, Error};
use kafka_assigner_types::moment::Moment;

use super::Driver;
use super::answer::Answer;
use crate::TopicChoice;
use crate::group_member::MemberEvent;

/// The time that one broker has for an answer that it has at hand.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The brokers that are asked one after the other, before the question is asked again after a wait.
const MOST_ASKED: usize = 3;

impl Driver {
    /// The coordinator's address, where it is known.
    pub(super) fn coordinator(&self) -> Option<BrokerAddress> {
        let known = self.finder.known()?;
        BrokerAddress::new(&known.host, known.port.into())
    }

    /// Asks for the coordinator, where it is not known. Who subscribes by a pattern joins with the topics that match.
    pub(super) fn find_coordinator(&mut self, now: Moment) {
        let is_ready = matches!(self.options.topics, TopicChoice::Named(_)) || self.metadata.has_come();
        let Some(number) = is_ready.then(|| self.finder.serve(now)).flatten() else { return };
        let (pool, brokers, group) = (Arc::clone(&self.pool), self.any_brokers(), self.options.group.clone());
        self.tasks.spawn(async move { Answer::Coordinator(number, find(&pool, &brokers, &group).await) });
    }

    pub(super) fn coordinator_found(
        &mut self,
        number: RequestNumber,
        answer: Result<Result<GroupCoordinator, KafkaError>, AnswerFailure>,
        now: Moment,
    ) {
        self.turn += usize::from(answer.is_err());
        if let Err(error) = self.finder.answered(number, answer, now) {
            self.events.push_back(MemberEvent::CoordinatorRefused(error));
        }
        if self.finder.known().is_some() {
            self.events.push_back(MemberEvent::Coordinator);
        }
    }

    /// All brokers that are known, each once, in an order that turns with each failure.
    pub(super) fn any_brokers(&self) -> Vec<BrokerAddress> {
        let mut brokers = self.topology.addresses();
        brokers.extend(self.options.kafka.bootstrap.iter().cloned());
        let mut seen = std::collections::BTreeSet::new();
        brokers.retain(|broker| seen.insert(broker.clone()));
        let turn = self.turn.checked_rem(brokers.len()).unwrap_or(0);
        brokers.rotate_left(turn);
        brokers
    }
}

/// Asks a few brokers, one after the other, until one answers.
pub(super) async fn ask_any<R: ApiRequest>(
    pool: &BrokerPool,
    brokers: &[BrokerAddress],
    make: impl Fn(i16) -> R,
) -> Result<R::Answer, Error> {
    let mut asked = brokers.iter().take(MOST_ASKED).peekable();
    loop {
        let broker = asked.next().expect("options name a broker, and so there is a last one that failed");
        match pool.ask(broker, BrokerLane::Requests, &make, PATIENCE).await {
            Ok((answer, _)) => return Ok(answer),
            Err(error) if asked.peek().is_none() => return Err(error),
            Err(error) => tracing::debug!(%error, "a broker could not be asked"),
        }
    }
}

async fn find(
    pool: &BrokerPool,
    brokers: &[BrokerAddress],
    group: &str,
) -> Result<Result<GroupCoordinator, KafkaError>, AnswerFailure> {
    let answer = ask_any(pool, brokers, |version| FindCoordinatorRequest::of_group(group, version)).await;
    let answer = answer.map_err(|error| {
        tracing::warn!(%error, group, "no broker says who coordinates the group; it is asked for again");
        AnswerFailure
    })?;
    let found = |(node, BrokerAddress { host, port })| GroupCoordinator { node, host, port };
    Ok(answer.of_group(group).map(found).map_err(KafkaError))
}
