//! Questions to Kafka that are asked for a while.

use std::time::Duration;

use kafka_assigner_types::id::TopicPartition;
use rdkafka::types::RDKafkaErrorCode;
use tokio::time::{Instant, sleep};
use tracing::warn;

use crate::kafka::error::KafkaRunnerError;

/// The time for which a question is asked where its failure would end a move, or is that of all partitions: it covers the election of
/// a leader, or of another coordinator, and is well within the 5 min that a preparation may take without progress.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// The wait before a question is asked again; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest such wait: an election takes seconds, and what waits for its end may be a move.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The answer to a question about a partition. One that fails is asked again for as long as there is `patience`: a broker that moves
/// must not cost the whole preparation.
///
/// Cancel safe if the question is.
///
/// # Errors
///
/// That of the last time.
pub(super) async fn asked_for_a_while<T, Q: Future<Output = Result<T, KafkaRunnerError>>>(
    at: &TopicPartition,
    patience: Duration,
    question: impl Fn() -> Q,
) -> Result<T, KafkaRunnerError> {
    let (until, mut wait) = (Instant::now() + patience, FIRST_WAIT);
    loop {
        match question().await {
            Err(error) if may_pass(&error) && Instant::now() + wait < until => {
                warn!(partition = %at, error = &error as &dyn std::error::Error, "asking again");
                sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
            answer => return answer,
        }
    }
}

/// True if the answer may be another one soon. A right is given by people.
fn may_pass(error: &KafkaRunnerError) -> bool {
    use RDKafkaErrorCode::{ClusterAuthorizationFailed, GroupAuthorizationFailed, TopicAuthorizationFailed};
    let (KafkaRunnerError::Read { source, .. } | KafkaRunnerError::Committed { source, .. }) = error else {
        return false;
    };
    !matches!(
        source.rdkafka_error_code(),
        Some(ClusterAuthorizationFailed | GroupAuthorizationFailed | TopicAuthorizationFailed)
    )
}
