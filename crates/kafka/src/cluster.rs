//! The metadata of topics, asked of one broker after the other.

mod brokers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use tokio::sync::Mutex;

use crate::address::BrokerAddress;
use crate::connection::{BrokerConnection, Connector};
use crate::error::Error;
use crate::messages::{MetadataRequest, MetadataResponse, MetadataResponseTopic};
use crate::options::Options;
use crate::tls::TlsFileError;
use crate::wire::{ApiRequest as _, Uuid};
use brokers::BrokerList;

/// The most brokers that may fail in one look. With the patience of 2 s a look takes 10 s at most before it is given
/// up; the next one begins with brokers that have not failed.
const MOST_FAILURES: usize = 5;

/// The error of a topic that does not exist.
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;

/// A Kafka cluster.
#[derive(Debug)]
pub struct Cluster {
    connector: Connector,
    /// One look at a time: others that wait are answered by the same connection.
    state: Mutex<ClusterState>,
}

#[derive(Debug)]
struct ClusterState {
    brokers: BrokerList,
    connection: Option<BrokerConnection>,
}

/// A broker's word on a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicAnswer {
    /// It exists.
    Exists {
        /// The number of its partitions; at least 1.
        partitions: u32,
        /// Its id; `None` where the broker tells none (Kafka below 2.8).
        id: Option<Uuid>,
    },
    /// It does not exist.
    Absent,
    /// The broker can't tell; Kafka's number of the error.
    Unknown(i16),
}

/// The answers of one look.
#[derive(Debug, Default)]
pub struct TopicAnswers {
    /// By name; topics of which no broker said anything are missing.
    pub topics: BTreeMap<String, TopicAnswer>,
    /// False if a broker answered that tells no ids (Kafka below 2.8).
    pub with_ids: bool,
    /// The reason for which topics are missing, where some are.
    pub missed: Option<NobodyAnswered>,
}

/// No broker answered, or none that was left.
#[derive(Debug)]
pub struct NobodyAnswered {
    /// The failures, in their order; at least one.
    pub failures: Vec<Error>,
}

impl NobodyAnswered {
    /// The kind of the last failure, as a label of metrics.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.failures.last().map_or("no_broker", Error::label)
    }
}

impl fmt::Display for NobodyAnswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.failures[..] {
            [_] => f.write_str("the broker that was asked did not answer"),
            failures => write!(f, "none of {} brokers answered; the last", failures.len()),
        }
    }
}

impl std::error::Error for NobodyAnswered {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.failures.last().map(|last| last as _)
    }
}

impl Cluster {
    /// A client of the cluster behind `options.bootstrap`. It connects when it is first asked; files are read at once,
    /// which blocks for some milliseconds.
    ///
    /// # Errors
    /// [`TlsFileError`] where a file can't be used.
    pub fn new(options: &Options) -> Result<Self, TlsFileError> {
        let connector = Connector::new(options)?;
        let brokers = BrokerList::new(options.bootstrap.clone());
        Ok(Self { connector, state: Mutex::new(ClusterState { brokers, connection: None }) })
    }

    /// Asks for the topics `names`; none is created. A request has 500 names at most, and half as many again where an
    /// answer is too long. A broker that fails is left for another, five times in all.
    ///
    /// Bounded in time, and cancel safe: asking changes nothing.
    ///
    /// # Errors
    /// [`NobodyAnswered`] where nothing was learnt of any topic.
    pub async fn topics(&self, names: &BTreeSet<String>) -> Result<TopicAnswers, NobodyAnswered> {
        let mut state = self.state.lock().await;
        let mut look = Look::new(names);
        let failures = state.look(&self.connector, &mut look).await;
        if failures.is_empty() || look.answers.topics.len() == names.len() {
            return Ok(look.answers);
        }
        let missed = NobodyAnswered { failures };
        if look.answers.topics.is_empty() {
            return Err(missed);
        }
        look.answers.missed = Some(missed);
        Ok(look.answers)
    }
}

/// A look under way.
struct Look<'a> {
    asked: &'a BTreeSet<String>,
    /// The requests that are not answered yet, the next one last.
    open: Vec<Vec<&'a str>>,
    answers: TopicAnswers,
}

impl<'a> Look<'a> {
    fn new(asked: &'a BTreeSet<String>) -> Self {
        let names: Vec<&str> = asked.iter().map(String::as_str).collect();
        let open = names.chunks(MetadataRequest::MOST_TOPICS).rev().map(<[&str]>::to_vec).collect();
        Self { asked, open, answers: TopicAnswers { with_ids: true, ..TopicAnswers::default() } }
    }

    fn take_in(&mut self, answer: MetadataResponse, version: i16) {
        self.answers.with_ids &= version >= MetadataRequest::WITH_IDS;
        for topic in answer.topics {
            let word = word_on(&topic);
            if let Some(name) = topic.name.filter(|name| self.asked.contains(name)) {
                self.answers.topics.insert(name, word);
            }
        }
    }

    /// Asks for half as many topics at a time. True if there was more than one.
    fn halve(&mut self) -> bool {
        let Some(request) = self.open.last_mut().filter(|request| request.len() > 1) else { return false };
        let rest = request.split_off(request.len() / 2);
        self.open.insert(self.open.len() - 1, rest);
        true
    }

    /// Asks for the others first. True if there are any.
    fn put_off(&mut self) -> bool {
        self.open.rotate_right(1);
        self.open.len() > 1
    }

    /// Goes on after an answer that was too long. False where nothing is left but to ask another broker.
    fn go_on_after(&mut self, error: &Error) -> bool {
        let is_too_long = matches!(error, Error::TooLong { asked, .. } if *asked == MetadataRequest::NAME);
        is_too_long && (self.halve() || self.put_off())
    }
}

fn word_on(topic: &MetadataResponseTopic) -> TopicAnswer {
    let id = Some(topic.topic_id).filter(|id| *id != Uuid::ZERO);
    match (topic.error_code, u32::try_from(topic.partitions.len())) {
        (0, Ok(partitions @ 1..)) => TopicAnswer::Exists { partitions, id },
        (UNKNOWN_TOPIC_OR_PARTITION, _) => TopicAnswer::Absent,
        (code, _) => TopicAnswer::Unknown(code),
    }
}

impl ClusterState {
    /// Asks until everything is answered, or too much has failed; returns the failures.
    async fn look(&mut self, connector: &Connector, look: &mut Look<'_>) -> Vec<Error> {
        let (mut failures, mut candidates) = (Vec::new(), self.candidates());
        while let (Some(names), Some(broker)) = (look.open.last(), candidates.last().cloned()) {
            let (request, is_one) = (MetadataRequest::of_names(names.iter().copied()), names.len() == 1);
            let error = match self.ask(connector, &broker, &request).await {
                Ok((answer, version)) => {
                    self.brokers.answered(&broker);
                    self.brokers.learn(&answer);
                    look.open.pop();
                    look.take_in(answer, version);
                    continue;
                }
                Err(error) => error,
            };
            let goes_on = look.go_on_after(&error);
            if goes_on && !is_one {
                continue;
            }
            tracing::debug!(%error, "a broker could not be asked");
            self.brokers.failed(&broker);
            if !goes_on {
                candidates.pop();
            }
            let is_enough = error.is_of_every_broker() || failures.len() + 1 == MOST_FAILURES;
            failures.push(error);
            if is_enough {
                break;
            }
        }
        failures
    }

    /// The brokers to ask, the first one last.
    fn candidates(&self) -> Vec<BrokerAddress> {
        let mut candidates = self.brokers.in_turn(self.connection.as_ref().map(BrokerConnection::broker));
        candidates.reverse();
        candidates
    }

    /// Asks `broker`, over the connection that is open, or a new one. Brokers close connections that were quiet for
    /// long: then a new one is tried before the broker counts as failed.
    async fn ask(
        &mut self,
        connector: &Connector,
        broker: &BrokerAddress,
        request: &MetadataRequest,
    ) -> Result<(MetadataResponse, i16), Error> {
        // Put back only after an answer: a call that failed or was dropped leaves half a message behind.
        let kept = self.connection.take().filter(|kept| kept.broker() == broker && kept.is_logged_in());
        if let Some(mut kept) = kept {
            match kept.call(request).await {
                Err(error) if error.is_end_of_connection() => {}
                answer => return self.keep(kept, answer?),
            }
        }
        let mut fresh = connector.open(broker).await?;
        let answer = fresh.call(request).await?;
        self.keep(fresh, answer)
    }

    fn keep(
        &mut self,
        connection: BrokerConnection,
        (answer, version): (MetadataResponse, i16),
    ) -> Result<(MetadataResponse, i16), Error> {
        if answer.error_code != 0 {
            let (broker, asked) = (connection.broker().clone(), MetadataRequest::NAME);
            return Err(Error::Refused { broker, asked, code: answer.error_code });
        }
        self.connection = Some(connection);
        Ok((answer, version))
    }
}

#[cfg(test)]
#[path = "cluster_test.rs"]
mod cluster_test;
