//! The events that librdkafka tells of itself.

use std::error::Error;

use kafka_assigner_session::causes::with_causes;
use rdkafka::ClientContext;
use rdkafka::client::OAuthToken;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode;
use tracing::debug;

use super::broker_watch::BrokerWatch;
use super::options::KafkaOptions;
use super::statistics::StatisticsSink;
use super::token_source::TokenSource;

/// Hears what librdkafka tells of itself, and answers what it asks.
#[derive(Debug, Clone)]
pub(super) struct KafkaEvents {
    /// `None` = librdkafka needs no tokens, or fetches them itself.
    pub(super) tokens: Option<TokenSource>,
    /// `None` = librdkafka keeps none.
    pub(super) statistics: Option<StatisticsSink>,
    /// `None` = another client of the same brokers is watched.
    watch: Option<BrokerWatch>,
}

impl KafkaEvents {
    pub(super) fn of(options: &KafkaOptions) -> Self {
        Self { tokens: options.tokens.clone(), statistics: options.statistics.clone(), watch: None }
    }

    /// The same, and tells `watch` of trouble with brokers.
    pub(super) fn watched_by(self, watch: &BrokerWatch) -> Self {
        Self { watch: Some(watch.clone()), ..self }
    }
}

impl ClientContext for KafkaEvents {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn generate_oauth_token(&self, config: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        let Some(tokens) = &self.tokens else { return Err("KafkaOptions::tokens is not set".into()) };
        // It becomes a text of C, which ends at the first null.
        let token = tokens.token(config).map_err(|error| with_causes(&*error).replace('\0', " "));
        self.watch.iter().for_each(|watch| watch.token(token.as_ref().err().map(String::as_str)));
        Ok(token?)
    }

    fn stats_raw(&self, statistics: &[u8]) {
        if let Some(sink) = &self.statistics {
            sink.take(statistics);
        }
    }

    /// It recovers from errors of brokers by itself. Ends of partitions come here as well, many times a second from a
    /// reader that is up to date; they are none, and readers learn of them from their queues.
    fn error(&self, error: KafkaError, reason: &str) {
        if !is_end(&error) {
            debug!(%error, reason, "kafka");
            self.watch.iter().for_each(|watch| watch.heard(&error, reason));
        }
    }
}

impl ConsumerContext for KafkaEvents {}

fn is_end(error: &KafkaError) -> bool {
    matches!(error, KafkaError::Global(RDKafkaErrorCode::PartitionEOF))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_from_their_source_and_errors_with_their_causes() {
        let token = |of: Option<TokenSource>| {
            KafkaEvents { tokens: of, statistics: None, watch: None }.generate_oauth_token(Some("scope=a"))
        };
        let source = TokenSource::new(|config| {
            let (token, principal_name) = (config.unwrap_or_default().to_owned(), "alice".to_owned());
            Ok(OAuthToken { token, principal_name, lifetime_ms: i64::MAX })
        });
        assert_eq!(token(Some(source)).expect("a token").token, "scope=a");
        let failed = token(Some(TokenSource::new(|_| Err("no \0 route".into())))).err().expect("an error");
        assert_eq!(failed.to_string(), "no   route");
        assert!(token(None).is_err());
    }

    #[test]
    fn a_token_that_fails_is_told_by_its_source_alone_and_over_with_the_next_one() {
        let watch = BrokerWatch::new();
        let events =
            |source| KafkaEvents { tokens: Some(source), statistics: None, watch: None }.watched_by(&watch);
        let failing = events(TokenSource::new(|_| Err("no route".into())));
        assert!(failing.generate_oauth_token(None).is_err());
        let told = "Failed to acquire SASL OAUTHBEARER token: no route";
        failing.error(KafkaError::Global(RDKafkaErrorCode::Authentication), told);
        assert_eq!(watch.text().as_deref(), Some("a token can't be fetched: no route"));
        let working = events(TokenSource::new(|_| {
            Ok(OAuthToken { token: "t".into(), principal_name: "alice".into(), lifetime_ms: i64::MAX })
        }));
        assert!(working.generate_oauth_token(None).is_ok());
        assert_eq!(watch.text(), None);
    }

    #[test]
    fn the_end_of_a_partition_is_told_apart_from_errors() {
        assert!(is_end(&KafkaError::Global(RDKafkaErrorCode::PartitionEOF)));
        assert!(!is_end(&KafkaError::Global(RDKafkaErrorCode::AllBrokersDown)));
    }
}
