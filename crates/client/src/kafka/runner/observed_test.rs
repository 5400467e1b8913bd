//! Records in spans, and librdkafka's statistics.

use std::future::ready;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::Span;

use super::test_broker::{Grant, PATIENCE, TestBroker};
use super::test_handler::Stateless;
use super::*;
use crate::kafka::spans::process_span;
use crate::kafka::statistics::StatisticsSink;

const GRANT: Grant = Grant { committed: None, start: None };

/// Begins with a runner over the broker.
async fn begin(options: &KafkaOptions, with_spans: bool) -> mpsc::UnboundedReceiver<Option<&'static str>> {
    let (names, told) = mpsc::unbounded_channel();
    // Tells the name of the span in which each record is processed.
    let handler = Stateless(move || {
        // A test that has ended needs no word any more.
        let _ = names.send(Span::current().metadata().map(tracing::Metadata::name));
        ready(Ok(()))
    });
    let runner = KafkaRunner::new(options, handler).expect("valid options");
    let runner = if with_spans { runner.with_spans(process_span) } else { runner };
    let owned = GRANT.owned();
    runner.warm(&GRANT.warm()).await.expect("it is warm");
    runner.assigned(&owned).await.expect("it begins");
    runner.drain(&owned).await.expect("it stops");
    told
}

#[tokio::test]
async fn a_record_is_processed_in_its_span_where_spans_are_wanted() {
    // The tasks of this test run on its own thread.
    let _subscribed = tracing::subscriber::set_default(tracing_subscriber::registry());
    let broker = TestBroker::start().await;
    let options = KafkaOptions::new(broker.servers(), "g");
    let mut spanned = begin(&options, true).await;
    assert_eq!(timeout(PATIENCE, spanned.recv()).await, Ok(Some(Some("process"))));
    let options = KafkaOptions::new(broker.servers(), "another");
    let mut plain = begin(&options, false).await;
    assert_eq!(timeout(PATIENCE, plain.recv()).await, Ok(Some(None)));
}

#[tokio::test]
async fn librdkafka_tells_its_statistics_where_they_are_wanted() {
    let broker = TestBroker::start().await;
    let (texts, mut told) = mpsc::unbounded_channel();
    let sink = StatisticsSink::new(Duration::from_millis(50), move |text| _ = texts.send(text.to_owned()));
    let options = KafkaOptions { statistics: Some(sink), ..KafkaOptions::new(broker.servers(), "g") };
    let _records = begin(&options, false).await;
    let text = timeout(PATIENCE, told.recv()).await.expect("in time").expect("it is read");
    assert!(text.starts_with('{') && text.contains("\"brokers\""), "{text}");
}
