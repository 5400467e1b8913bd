//! Questions to Kafka that are asked for a while.

use std::time::Duration;

use kafka_assigner_types::id::TopicPartition;
use rdkafka::types::RDKafkaErrorCode;
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use crate::kafka::error::KafkaRunnerError;

/// The wait before a question is asked again; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest such wait: an election takes seconds, and what waits for its end may be a move.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// The part of a wait by which it may be shorter: partitions whose leader moves would all ask at once.
const JITTER: f64 = 0.2;

/// The time that is left for the questions of one step of a partition. Other work of the step takes nothing of it.
#[derive(Debug)]
pub(super) struct Patience(Duration);

impl Patience {
    /// The time of a step for which others wait: an election of a leader or of another coordinator is over within seconds, and
    /// three such steps fit into a phase of a handoff (30 s by default).
    const OF_A_START: Duration = Duration::from_secs(10);
    /// The time of a step whose failure would end a move, or cost all that was read so far, while the owner works: well within
    /// the 5 min that a preparation may take without progress.
    const OF_A_PREPARATION: Duration = Duration::from_secs(30);

    pub(super) const fn of(time: Duration) -> Self {
        Self(time)
    }

    /// That of the last steps of a partition to its owner.
    pub(super) const fn of_a_start() -> Self {
        Self::of(Self::OF_A_START)
    }

    /// That of a preparation that has something to lose.
    pub(super) const fn of_a_preparation() -> Self {
        Self::of(Self::OF_A_PREPARATION)
    }

    /// At least as much time is left as something took that a failed question would cost, up to that of a preparation.
    pub(super) fn extend_to(&mut self, took: Duration) {
        self.0 = self.0.max(took.min(Self::OF_A_PREPARATION));
    }

    /// The answer to a question about a partition. One that fails is asked again for as long as there is time left: a broker that
    /// moves must not cost the whole step.
    ///
    /// Cancel safe if the question is; the time that it took is not counted then.
    ///
    /// # Errors
    ///
    /// That of the last time.
    pub(super) async fn ask<T, Q: Future<Output = Result<T, KafkaRunnerError>>>(
        &mut self,
        at: &TopicPartition,
        question: impl Fn() -> Q,
    ) -> Result<T, KafkaRunnerError> {
        let (asked_at, mut longest, mut times) = (Instant::now(), FIRST_WAIT, 0_u32);
        let answer = loop {
            match question().await {
                Err(error) if may_pass(&error) && asked_at.elapsed() + longest < self.0 => {
                    tell(at, times, &error);
                    sleep(longest.mul_f64(1.0 - JITTER * rand::random::<f64>())).await;
                    (longest, times) = ((longest * 2).min(LONGEST_WAIT), times.saturating_add(1));
                }
                answer => break answer,
            }
        };
        self.0 = self.0.saturating_sub(asked_at.elapsed());
        answer
    }
}

/// Tells of an answer that failed after so many others. The first one is news; with the last one the step fails, which is told.
fn tell(at: &TopicPartition, times: u32, error: &KafkaRunnerError) {
    let error = error as &dyn std::error::Error;
    match times {
        0 => warn!(partition = %at, error, "asking again"),
        _ => debug!(partition = %at, error, times, "asking again"),
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use rdkafka::error::KafkaError;

    use super::*;

    fn at() -> TopicPartition {
        TopicPartition::try_from(("t", 0)).expect("a valid name")
    }

    #[test]
    fn what_took_long_is_not_lost_for_a_short_silence() {
        let left = |took: u64| {
            let mut patience = Patience::of(Duration::from_secs(2));
            patience.extend_to(Duration::from_secs(took));
            patience.0.as_secs()
        };
        assert_eq!([0, 2, 12, 600].map(left), [2, 2, 12, 30]);
    }

    fn no_leader() -> KafkaRunnerError {
        let source = KafkaError::MetadataFetch(RDKafkaErrorCode::LeaderNotAvailable);
        KafkaRunnerError::Read { partition: at(), source }
    }

    #[tokio::test(start_paused = true)]
    async fn the_questions_of_a_step_share_its_time() {
        let (mut patience, begun, asked) = (Patience::of_a_start(), Instant::now(), Cell::new(0));
        let late = || {
            asked.set(asked.get() + 1);
            std::future::ready(if asked.get() > 4 { Ok(7) } else { Err(no_leader()) })
        };
        assert_eq!(patience.ask(&at(), late).await.expect("the fifth answer"), 7);
        let took = begun.elapsed();
        assert!(took > Duration::from_millis(1_100) && took < Duration::from_secs(2), "{took:?}");
        // Time of another kind, for example for records.
        sleep(Duration::from_secs(600)).await;
        let begun = Instant::now();
        patience.ask(&at(), || std::future::ready(Err::<(), _>(no_leader()))).await.expect_err("no answer");
        let both = took + begun.elapsed();
        assert!(both > Duration::from_secs(7) && both < Duration::from_secs(10), "{both:?}");
    }
}
