//! Metadata: when it is asked for, and what follows from it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_group_member::RetryWait;
use kafka_assigner_kafka::messages::{MetadataRequest, MetadataResponse};
use kafka_assigner_kafka::{BrokerAddress, BrokerPool, Error};
use kafka_assigner_types::moment::Moment;

use super::Driver;
use super::answer::Answer;
use super::coordinator::ask_any;
use crate::TopicChoice;
use crate::group_member::MemberEvent;

/// The least time between two questions, so that errors which metadata does not mend yet don't become a storm; as
/// Kafka's `retry.backoff.ms`.
const LEAST_BETWEEN: Duration = Duration::from_millis(100);

/// The times at which metadata is asked for: when it is old, and when it is requested. Pure.
///
/// A request is fulfilled by an answer whose question came after it.
#[derive(Debug, Default)]
pub(super) struct MetadataSchedule {
    requested: u64,
    fulfilled: u64,
    /// The requests that the question under way covers.
    flight: Option<u64>,
    /// It is old then.
    old_at: Moment,
    not_before: Moment,
    wait: RetryWait,
    /// Leaders that were still unknown, time after time.
    leaderless: RetryWait,
    /// Leaders are missing, and asked for from then on; `None`: all are known.
    leaders_at: Option<Moment>,
    has_come: bool,
}

impl MetadataSchedule {
    /// It is requested at once.
    pub(super) fn new() -> Self {
        Self { requested: 1, ..Self::default() }
    }

    /// Requests newer metadata; the number of the request.
    pub(super) const fn request(&mut self) -> u64 {
        self.requested += 1;
        self.requested
    }

    /// Requests the leaders of partitions that have none, less and less often: a partition may have none for long, and
    /// the topics that match a pattern are all of the cluster's. It is called at every look.
    pub(super) fn look_for_leaders(&mut self, now: Moment, is_complete: bool) {
        if is_complete {
            self.leaderless.succeeded();
            self.leaders_at = None;
        } else if self.leaders_at.is_none_or(|at| at <= now) && self.requested <= self.fulfilled {
            self.request();
            self.leaders_at = Some(now + self.leaderless.failed());
        }
    }

    pub(super) const fn has_fulfilled(&self, request: u64) -> bool {
        self.fulfilled >= request
    }

    pub(super) const fn has_come(&self) -> bool {
        self.has_come
    }

    /// True where it is to be asked for now; then it counts as asked.
    fn serve(&mut self, now: Moment) -> bool {
        let is_wanted = self.requested > self.fulfilled || self.old_at <= now;
        let asks = is_wanted && self.flight.is_none() && self.not_before <= now;
        if asks {
            self.flight = Some(self.requested);
        }
        asks
    }

    fn came(&mut self, now: Moment, age: Duration) {
        self.fulfilled = self.fulfilled.max(self.flight.take().unwrap_or(0));
        (self.has_come, self.old_at, self.not_before) = (true, now + age, now + LEAST_BETWEEN);
        self.wait.succeeded();
    }

    fn failed(&mut self, now: Moment) {
        self.flight = None;
        self.not_before = now + self.wait.failed();
    }

    pub(super) fn next_step(&self) -> Option<Moment> {
        let at =
            if self.requested > self.fulfilled { self.not_before } else { self.old_at.max(self.not_before) };
        let leaders_at = self.leaders_at.map_or(at, |leaders_at| leaders_at.max(self.not_before));
        self.flight.is_none().then_some(at.min(leaders_at))
    }
}

impl Driver {
    pub(super) fn look_for_metadata(&mut self, now: Moment) {
        if !self.metadata.serve(now) {
            return;
        }
        let (pool, brokers, names) = (Arc::clone(&self.pool), self.any_brokers(), self.names_of_interest());
        self.tasks.spawn(async move { Answer::Metadata(look(&pool, &brokers, names).await) });
    }

    /// The topics that are subscribed to, read, or planned; `None`: all there are.
    fn names_of_interest(&self) -> Option<BTreeSet<String>> {
        if let TopicChoice::Matching(_) = self.options.topics {
            return None;
        }
        let mut names: BTreeSet<String> = self.topics.iter().map(|topic| topic.as_str().to_owned()).collect();
        names.extend(self.cells.keys().map(|partition| partition.topic.as_str().to_owned()));
        names.extend(self.planned_topics());
        Some(names)
    }

    pub(super) fn metadata_came(&mut self, answer: Result<Vec<MetadataResponse>, Error>, now: Moment) {
        match answer {
            Ok(answers) => {
                let of_all = matches!(self.options.topics, TopicChoice::Matching(_));
                answers.into_iter().for_each(|answer| self.topology.learn(answer, of_all));
                if let Some(names) = self.names_of_interest() {
                    self.topology.retain(&names);
                }
                self.metadata.came(now, self.options.metadata_age);
                self.forget_brokers();
                self.subscribe();
                self.events.push_back(MemberEvent::Named(self.topology.names()));
                self.compare_plan();
            }
            Err(error) => {
                tracing::warn!(%error, "no broker tells metadata; it is asked for again");
                self.turn += 1;
                self.metadata.failed(now);
            }
        }
    }

    /// Closes links to brokers that have left the cluster, and forgets their fetches.
    fn forget_brokers(&mut self) {
        let mut known = self.any_brokers();
        known.extend(self.coordinator());
        self.pool.retain(&known);
        // A fetch under way comes back to its broker.
        let topology = &self.topology;
        self.brokers.retain(|node, broker| !broker.is_idle() || topology.has_broker(*node));
    }

    /// Topics that match the pattern are subscribed to.
    fn subscribe(&mut self) {
        let TopicChoice::Matching(pattern) = &self.options.topics else { return };
        let topics = self.topology.matching(|name| pattern.is_match(name));
        if topics != self.topics {
            self.topics.clone_from(&topics);
            self.events.push_back(MemberEvent::Subscribed(topics));
        }
    }
}

/// Asks for the topics, some hundred at a time; none is created.
async fn look(
    pool: &BrokerPool,
    brokers: &[BrokerAddress],
    names: Option<BTreeSet<String>>,
) -> Result<Vec<MetadataResponse>, Error> {
    let Some(names) = names else {
        let all = |_| MetadataRequest { topics: None, ..MetadataRequest::of_names([]) };
        return Ok(vec![ask_any(pool, brokers, all).await?]);
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut answers = Vec::new();
    for part in names.chunks(MetadataRequest::MOST_TOPICS) {
        answers.push(ask_any(pool, brokers, |_| MetadataRequest::of_names(part.iter().copied())).await?);
    }
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment(Duration::from_millis(millis))
    }

    #[test]
    fn a_request_is_fulfilled_by_a_question_that_came_after_it() {
        let (mut schedule, age) = (MetadataSchedule::new(), Duration::from_secs(300));
        assert!(schedule.serve(at(0)));
        let request = schedule.request();
        assert!(!schedule.serve(at(1)), "one question is under way");
        schedule.came(at(10), age);
        assert!(!schedule.has_fulfilled(request));
        assert!(!schedule.serve(at(109)), "not at once");
        assert!(schedule.serve(at(110)));
        schedule.came(at(120), age);
        assert!(schedule.has_fulfilled(request));
        assert_eq!(schedule.next_step(), Some(at(300_120)));
    }

    #[test]
    fn leaders_that_stay_unknown_are_asked_for_less_and_less() {
        let (mut schedule, age) = (MetadataSchedule::new(), Duration::from_secs(300));
        let asked = |schedule: &mut MetadataSchedule, times: std::ops::Range<u64>, is_complete| {
            let asks = times.filter(|now| {
                schedule.look_for_leaders(at(*now), is_complete);
                let asks = schedule.serve(at(*now));
                if asks {
                    schedule.came(at(*now), age);
                }
                asks
            });
            asks.count()
        };
        let count = asked(&mut schedule, 0..10_000, false);
        assert!((8..20).contains(&count), "{count}");
        assert_eq!(asked(&mut schedule, 10_000..20_000, true), 0);
        assert_eq!(asked(&mut schedule, 20_000..20_001, false), 1, "the next one is asked for at once");
    }

    #[test]
    fn failures_are_tried_again_less_and_less() {
        let mut schedule = MetadataSchedule::new();
        let mut tries = 0;
        for now in 0..10_000 {
            if schedule.serve(at(now)) {
                tries += 1;
                schedule.failed(at(now));
            }
        }
        assert!((8..20).contains(&tries), "{tries}");
        assert!(!schedule.has_come());
    }
}
