//! The trouble with brokers that does not pass by itself, and the moments at which it is looked at and told. Pure.

use std::time::Duration;

use kafka_assigner_types::moment::Moment;
use rdkafka::types::RDKafkaErrorCode;

use super::read_ahead::ReadAhead;
use crate::unanswered_time::UnansweredTime;

/// The time between two looks for an answer, while there is trouble. As long as trouble lasts before it is told.
const EVERY: Duration = Duration::from_secs(5);

/// The time for which a refusal counts after it was told last: librdkafka tries again within a second, and leaves the same
/// failure of one broker out for 30 s.
const REFUSED_FOR: Duration = Duration::from_secs(35);

/// The time for which the failure of a connection may be the reason for what follows. As long as a refusal counts, since
/// librdkafka leaves it out as long.
const REASON_FOR: Duration = REFUSED_FOR;

/// The begin of librdkafka's own text of a token that it could not get.
const NO_TOKEN: &str = "Failed to acquire SASL OAUTHBEARER token";

/// A client of librdkafka that a runner has. Each has connections of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchedClient {
    /// The one that commits and asks.
    Asking,
    /// The one that fetches partitions so far ahead.
    Fetching(ReadAhead),
}

impl WatchedClient {
    const ALL: [Self; 3] = [Self::Asking, Self::Fetching(ReadAhead::Full), Self::Fetching(ReadAhead::Short)];

    const fn index(self) -> usize {
        match self {
            Self::Asking => 0,
            Self::Fetching(read_ahead) => 1 + read_ahead as usize,
        }
    }
}

/// A failure that librdkafka tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BrokerFailure {
    /// A connection failed, or a name has no address. One such broker is nothing; it may be the reason for what follows.
    Connection,
    /// No broker can be reached.
    AllDown,
    /// A broker refused the login, or TLS failed: nothing that time heals. A login that is cut off by a disconnect looks the same.
    Refused,
    /// A token could not be fetched. The one before it may still be valid.
    NoToken,
}

impl BrokerFailure {
    /// The failure that a code stands for; `None` = nothing that says how brokers can be reached.
    pub(super) fn of(code: RDKafkaErrorCode, text: &str) -> Option<Self> {
        match code {
            RDKafkaErrorCode::BrokerTransportFailure | RDKafkaErrorCode::Resolve => Some(Self::Connection),
            RDKafkaErrorCode::AllBrokersDown => Some(Self::AllDown),
            RDKafkaErrorCode::Authentication if text.starts_with(NO_TOKEN) => Some(Self::NoToken),
            RDKafkaErrorCode::Authentication
            | RDKafkaErrorCode::SSL
            | RDKafkaErrorCode::SaslAuthenticationFailed => Some(Self::Refused),
            _ => None,
        }
    }
}

/// A text, and the time at which it was heard.
type HeardText = (Moment, String);

/// The trouble that one client has.
#[derive(Debug, Default)]
struct ClientTrouble {
    /// The number of failures heard so far that only an answer ends.
    heard: u64,
    /// The failure of the last connection. No trouble by itself.
    connection: Option<HeardText>,
    down: Option<HeardText>,
    refused: Option<HeardText>,
    /// Ended by a token; where librdkafka fetches them itself, by an answer, since it does not tell of a token.
    no_token: Option<HeardText>,
    tokens_are_told: bool,
}

impl ClientTrouble {
    fn heard(&mut self, now: Moment, failure: BrokerFailure, text: &str) {
        let heard = Some((now, text.to_owned()));
        self.heard += u64::from(failure != BrokerFailure::Connection);
        match failure {
            BrokerFailure::Connection => self.connection = heard,
            BrokerFailure::Refused => self.refused = heard,
            BrokerFailure::NoToken => self.no_token = heard,
            BrokerFailure::AllDown => self.all_down(now, text),
        }
    }

    /// No broker can be reached. Where nothing failed since a refusal, it follows from that.
    fn all_down(&mut self, now: Moment, text: &str) {
        let reason = self.connection.as_ref().filter(|(at, _)| now.since(*at) < REASON_FOR);
        let refused_at = self.refused.as_ref().map(|(at, _)| *at).filter(|_| self.is_refused(now));
        self.down = match (reason, refused_at) {
            (Some((at, connection)), refused_at) if refused_at.is_none_or(|refused| refused < *at) => {
                Some((now, format!("{text}: {connection}")))
            }
            (_, Some(_)) => return,
            (_, None) => Some((now, text.to_owned())),
        };
    }

    /// True if a broker has refused the client lately: that another one answers changes nothing then.
    fn is_refused(&self, now: Moment) -> bool {
        self.refused.as_ref().is_some_and(|(at, _)| now.since(*at) < REFUSED_FOR)
    }

    fn wants_answer(&self, now: Moment) -> bool {
        let ends_by_answer = self.no_token.is_some() && !self.tokens_are_told;
        (self.down.is_some() || self.refused.is_some() || ends_by_answer) && !self.is_refused(now)
    }

    fn answered(&mut self) {
        (self.down, self.refused) = (None, None);
        if !self.tokens_are_told {
            self.no_token = None;
        }
    }
}

/// A question to the brokers, and what had been heard when it was asked: an answer says nothing of what came later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BrokerQuestion {
    /// The client that asks.
    pub(super) client: WatchedClient,
    heard: u64,
}

/// The word that is due about the trouble, with its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TroubleWord {
    /// It lasts: brokers can't be used.
    Lasts(Duration),
    /// It lasts: no token can be fetched. With the one before, brokers may still be used.
    NoToken(Duration),
    /// It is over, and was told before.
    Over(Duration),
}

/// The trouble of one runner with its brokers.
#[derive(Debug, Default)]
pub(super) struct BrokerTrouble {
    clients: [ClientTrouble; 3],
    /// The times to tell it and to look next; `None` = there is none.
    lasting: Option<(UnansweredTime, Moment)>,
}

impl BrokerTrouble {
    /// Takes a failure of `client` in.
    pub(super) fn heard(&mut self, now: Moment, client: WatchedClient, failure: BrokerFailure, text: &str) {
        self.clients[client.index()].heard(now, failure, text);
        self.begin(now);
    }

    /// Takes in what came of a token that `client` asked its source for; `None` = it has one.
    pub(super) fn token(&mut self, now: Moment, client: WatchedClient, failed: Option<&str>) {
        let trouble = &mut self.clients[client.index()];
        trouble.tokens_are_told = true;
        trouble.no_token = failed.map(|text| (now, format!("a token can't be fetched: {text}")));
        self.begin(now);
    }

    /// True if librdkafka's word of a token is none that the client does not know already.
    pub(super) fn knows_tokens(&self, client: WatchedClient) -> bool {
        self.clients[client.index()].tokens_are_told
    }

    fn begin(&mut self, now: Moment) {
        if self.lasting.is_none() && self.text().is_some() {
            self.lasting = Some((UnansweredTime::since(now), now + EVERY));
        }
    }

    /// The texts of the trouble that lasts, the newest of each kind, the newest first; `None` = there is none.
    pub(super) fn text(&self) -> Option<String> {
        let newest = |of: fn(&ClientTrouble) -> Option<&HeardText>| {
            self.clients.iter().filter_map(of).max_by_key(|(at, _)| *at)
        };
        let kinds = [
            newest(|of| of.refused.as_ref()),
            newest(|of| of.down.as_ref()),
            newest(|of| of.no_token.as_ref()),
        ];
        let mut texts: Vec<_> = kinds.into_iter().flatten().collect();
        texts.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let texts: Vec<_> = texts.into_iter().map(|(_, text)| text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }

    /// The time at which to look next; `None` = there is no trouble.
    pub(super) fn next_look(&self) -> Option<Moment> {
        self.lasting.as_ref().map(|(_, at)| *at)
    }

    /// The questions of a look. A client that was refused lately has none.
    pub(super) fn questions(&self, now: Moment) -> Vec<BrokerQuestion> {
        let wanting =
            WatchedClient::ALL.into_iter().filter(|client| self.clients[client.index()].wants_answer(now));
        wanting.map(|client| BrokerQuestion { client, heard: self.clients[client.index()].heard }).collect()
    }

    /// The look is over, with these questions answered. Returns the word that is due.
    pub(super) fn after_look(&mut self, now: Moment, answered: &[BrokerQuestion]) -> Option<TroubleWord> {
        for question in answered {
            let client = &mut self.clients[question.client.index()];
            if client.heard == question.heard {
                client.answered();
            }
        }
        let (mut silence, _) = self.lasting.take()?;
        if self.text().is_none() {
            return silence.answered(now).map(TroubleWord::Over);
        }
        let due = silence.failed(now);
        self.lasting = Some((silence, now + EVERY));
        due.map(|age| if self.is_of_tokens() { TroubleWord::NoToken(age) } else { TroubleWord::Lasts(age) })
    }

    /// True if nothing but tokens is missing, as far as is known.
    fn is_of_tokens(&self) -> bool {
        self.clients.iter().all(|client| client.down.is_none() && client.refused.is_none())
    }
}

#[cfg(test)]
#[path = "broker_trouble_test.rs"]
mod broker_trouble_test;
