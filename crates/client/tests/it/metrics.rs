//! What a recorder of metrics, and a probe, are told of a consumer.

use kafka_assigner_client::{METRICS, MetricKind};
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

use crate::fake::Pulse;
use crate::recorder::Manner;
use crate::strict::owning;

#[tokio::test(start_paused = true)]
async fn a_claim_that_lapses_is_counted_and_not_ready() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    // The consumer runs in place, on the thread of this test.
    let _recording = metrics::set_default_local_recorder(&recorder);
    let mut running = owning(Manner::Plain).await;
    assert!(running.handle.is_ready() && running.handle.is_live());
    running.fake.pulse(Pulse::Silence);
    running.recorder.wait_for(&["lost t/0", "warm t/0"]).await;
    assert!(!running.handle.is_ready() && running.handle.is_live());
    let told = snapshotter.snapshot().into_vec();
    let lapsed =
        told.iter().find(|(key, ..)| key.key().name() == "kafka_assigner_client_claims_lapsed_total");
    let (key, _, _, value) = lapsed.expect("it is counted");
    let labels: Vec<_> = key.key().labels().map(|label| (label.key(), label.value())).collect();
    assert_eq!((labels, value), (vec![("group", "default"), ("consumer", "a")], &DebugValue::Counter(1)));
    running.end.abort();
    assert!(running.handle.wait_for(|_| false).await.is_err() && !running.handle.is_live());
}

#[test]
fn the_name_of_each_metric_says_its_unit() {
    for metric in METRICS {
        let name = metric.name.strip_prefix("kafka_assigner_client_").expect(metric.name);
        let is_named = match metric.kind {
            MetricKind::Counter => name.ends_with("_total"),
            MetricKind::Seconds => name.ends_with("_seconds"),
            MetricKind::Gauge => ["_records", "partitions", "_ratio"].iter().any(|unit| name.ends_with(unit)),
        };
        assert!(is_named && metric.meaning.ends_with('.'), "{metric:?}");
    }
}
