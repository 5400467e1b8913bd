//! The trouble with brokers that does not pass by itself, and the moments at which it is told. Pure.

use std::time::Duration;

use kafka_assigner_types::moment::Moment;
use rdkafka::types::RDKafkaErrorCode;

use crate::unanswered_time::UnansweredTime;

/// The time for which a refusal counts after it was told last: librdkafka tries again within a second, and leaves the same
/// failure of one broker out for 30 s.
const REFUSED_FOR: Duration = Duration::from_secs(2 * 60);

/// A failure that librdkafka tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BrokerFailure {
    /// A connection failed, or a name has no address. One such broker is nothing; it may be the reason for what follows.
    Connection,
    /// No broker can be reached.
    AllDown,
    /// A broker refused the login, or TLS failed: nothing that time heals.
    Refused,
}

impl BrokerFailure {
    /// The failure that a code stands for; `None` = nothing that says how brokers can be reached.
    pub(super) const fn of(code: RDKafkaErrorCode) -> Option<Self> {
        match code {
            RDKafkaErrorCode::BrokerTransportFailure | RDKafkaErrorCode::Resolve => Some(Self::Connection),
            RDKafkaErrorCode::AllBrokersDown => Some(Self::AllDown),
            RDKafkaErrorCode::Authentication
            | RDKafkaErrorCode::SSL
            | RDKafkaErrorCode::SaslAuthenticationFailed => Some(Self::Refused),
            _ => None,
        }
    }
}

/// The trouble of one runner with its brokers.
#[derive(Debug, Default)]
pub(super) struct BrokerTrouble {
    /// The failure of the last connection.
    connection: Option<String>,
    /// The text of the trouble that there is, and when to tell it.
    lasting: Option<(String, UnansweredTime)>,
    refused: Option<Moment>,
}

impl BrokerTrouble {
    /// Takes a failure in.
    pub(super) fn heard(&mut self, now: Moment, failure: BrokerFailure, text: &str) {
        let text = match failure {
            BrokerFailure::Connection => {
                self.connection = Some(text.to_owned());
                return;
            }
            BrokerFailure::AllDown if self.is_refused(now) => return,
            BrokerFailure::AllDown => match &self.connection {
                Some(connection) => format!("{text}: {connection}"),
                None => text.to_owned(),
            },
            BrokerFailure::Refused => {
                self.refused = Some(now);
                text.to_owned()
            }
        };
        match &mut self.lasting {
            Some((before, _)) => *before = text,
            None => self.lasting = Some((text, UnansweredTime::since(now))),
        }
    }

    /// The text of the trouble that lasts; `None` = there is none.
    pub(super) fn text(&self) -> Option<&str> {
        self.lasting.as_ref().map(|(text, _)| &**text)
    }

    /// True if a broker has refused this process lately: that another one answers changes nothing then.
    pub(super) fn is_refused(&self, now: Moment) -> bool {
        self.refused.is_some_and(|at| now.since(at) < REFUSED_FOR)
    }

    /// The trouble lasts. Its age, if it is to be told now.
    pub(super) fn lasts(&mut self, now: Moment) -> Option<Duration> {
        self.lasting.as_mut().and_then(|(_, silence)| silence.failed(now))
    }

    /// A broker answered, and none has refused lately: there is no trouble. Its age, if it was told.
    pub(super) fn over(&mut self, now: Moment) -> Option<Duration> {
        let (_, mut silence) = std::mem::take(self).lasting?;
        silence.answered(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    #[test]
    fn a_connection_that_fails_is_told_as_the_reason_for_which_no_broker_can_be_reached() {
        let mut trouble = BrokerTrouble::default();
        trouble.heard(at(1), BrokerFailure::Connection, "b:1: refused");
        assert_eq!(trouble.text(), None, "others may answer");
        trouble.heard(at(1), BrokerFailure::AllDown, "1/1 brokers are down");
        assert_eq!(trouble.text(), Some("1/1 brokers are down: b:1: refused"));
        let told: Vec<_> = (1..=50).filter(|second| trouble.lasts(at(*second)).is_some()).collect();
        assert_eq!(told, [6, 11, 21, 41]);
        assert_eq!(trouble.over(at(60)), Some(Duration::from_secs(59)));
        assert_eq!((trouble.lasts(at(70)), trouble.over(at(70))), (None, None));
        assert_eq!(trouble.text(), None);
    }

    #[test]
    fn a_refusal_counts_while_it_comes_again_and_hides_what_follows_from_it() {
        let mut trouble = BrokerTrouble::default();
        trouble.heard(at(1), BrokerFailure::Refused, "b:1: wrong password");
        trouble.heard(at(2), BrokerFailure::AllDown, "1/1 brokers are down");
        assert_eq!(trouble.text(), Some("b:1: wrong password"));
        trouble.heard(at(31), BrokerFailure::Refused, "b:1: wrong password");
        assert!(trouble.is_refused(at(150)) && !trouble.is_refused(at(151)));
    }

    #[test]
    fn what_passes_by_itself_is_no_trouble() {
        assert_eq!(BrokerFailure::of(RDKafkaErrorCode::SSL), Some(BrokerFailure::Refused));
        assert_eq!(BrokerFailure::of(RDKafkaErrorCode::RequestTimedOut), None);
    }
}
