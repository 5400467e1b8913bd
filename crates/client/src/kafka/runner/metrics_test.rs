//! The metrics of a runner, as a recorder is told.

use std::collections::BTreeMap;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

use super::steering_test::{EPOCH, Noting, Steered};
use super::test_broker::partition;
use super::*;
use crate::kafka::survey::Survey;

/// The values by name and labels.
fn told(snapshotter: &Snapshotter) -> BTreeMap<String, f64> {
    let values = snapshotter.snapshot().into_vec().into_iter().map(|(key, _, _, value)| {
        let (_, key) = key.into_parts();
        let labels: Vec<_> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let value = match value {
            DebugValue::Counter(count) => count as f64,
            DebugValue::Gauge(value) => value.0,
            DebugValue::Histogram(values) => values.len() as f64,
        };
        (format!("{} {}", key.name(), labels.join(" ")), value)
    });
    values.collect()
}

fn labels(consumer: &str) -> MetricLabels {
    MetricLabels::of(&KafkaOptions { consumer: consumer.to_owned(), ..KafkaOptions::new("b:9092", "g") })
}

#[tokio::test]
async fn two_runners_of_one_group_are_told_apart_by_their_consumers() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    // The tasks of this test run on its own thread.
    let _recording = metrics::set_default_local_recorder(&recorder);
    let (owner, idle) = (
        Steered::begin(true).await,
        KafkaRunner::new(&KafkaOptions::new("127.0.0.1:1", "g"), Noting::default()),
    );
    let idle = idle.expect("valid options");
    Survey::new(owner.runner.parts.client.clone(), owner.handle.clone(), labels("a")).look().await;
    Survey::new(idle.parts.client.clone(), idle.handle(), labels("b")).look().await;
    let told = told(&snapshotter);
    let owned = ["a", "b"].map(|consumer| {
        told[&format!("kafka_assigner_client_partitions kafka_group=g consumer={consumer} phase=owned")]
    });
    assert_eq!(owned, [1.0, 0.0], "{told:?}");
}

#[tokio::test]
async fn a_look_tells_the_lag_the_phases_and_the_counts() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    // The tasks of this test run on its own thread.
    let _recording = metrics::set_default_local_recorder(&recorder);
    let steered = Steered::begin(true).await;
    let client = steered.runner.parts.client.clone();
    let mut survey = Survey::new(client, steered.handle.clone(), labels(""));
    survey.look().await;
    let paused = told(&snapshotter);
    let value = |told: &BTreeMap<String, f64>, name: &str| {
        told.get(&format!("kafka_assigner_client_{name}")).copied().unwrap_or(f64::NAN)
    };
    assert_eq!(value(&paused, "lag_records kafka_group=g topic=t"), 10.0, "{paused:?}");
    assert_eq!(value(&paused, "partitions kafka_group=g phase=owned"), 1.0, "{paused:?}");
    assert_eq!(value(&paused, "paused_partitions kafka_group=g"), 1.0, "{paused:?}");
    assert_eq!(value(&paused, "records_processed_total kafka_group=g"), 0.0, "{paused:?}");
    steered.handle.resume(&partition(), EPOCH);
    steered.handler.to_the_end().await;
    steered.runner.drain(&steered.owned).await.expect("it stops");
    survey.look().await;
    let drained = told(&snapshotter);
    assert_eq!(value(&drained, "lag_records kafka_group=g topic=t"), 0.0, "{drained:?}");
    assert_eq!(value(&drained, "partitions kafka_group=g phase=drained"), 1.0, "{drained:?}");
    assert_eq!(value(&drained, "records_processed_total kafka_group=g"), 10.0, "{drained:?}");
    assert!(value(&drained, "commit_seconds kafka_group=g") >= 1.0, "{drained:?}");
    assert_eq!(value(&drained, "commits_failed_total kafka_group=g"), 0.0, "{drained:?}");
}
