//! Questions over HTTP: `GET /TOPIC/PARTITION/KEY`, `GET /by-key/TOPIC/KEY`, and the probes of a supervisor: `GET /live`,
//! `GET /ready`.
//!
//! | answer | when |
//! | --- | --- |
//! | 200, the value | the key has one; `x-offset` is the offset of its record, `x-epoch` the epoch of its owner |
//! | 404 | it has none; `x-epoch` as well |
//! | 421 | the partition is not owned here: ask another one |
//! | 503 | too many ask, or no broker says how many partitions the topic has |

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use kafka_assigner_client::kafka::{RunnerHandle, StateReadError};
use kafka_assigner_client::{ConsumerHandle, Epoch, KeyHash, TopicPartition};

use crate::shelf::{Shelf, ShelfEntry};

/// The routes to the shelves of a runner. Producers give the partition of a key by `hash`.
pub(crate) fn routes(shelves: RunnerHandle<Shelf>, hash: KeyHash) -> Router {
    let by_key =
        Router::new().route("/by-key/{topic}/{key}", get(look_by_key)).with_state((shelves.clone(), hash));
    Router::new().route("/{topic}/{partition}/{key}", get(look)).with_state(shelves).merge(by_key)
}

/// The routes of probes: 200 or 503.
pub(crate) fn probes(consumer: ConsumerHandle) -> Router {
    let live = |State(consumer): State<ConsumerHandle>| async move { yes_or_no(consumer.is_live()) };
    let ready = |State(consumer): State<ConsumerHandle>| async move { yes_or_no(consumer.is_ready()) };
    Router::new().route("/live", get(live)).route("/ready", get(ready)).with_state(consumer)
}

const fn yes_or_no(holds: bool) -> StatusCode {
    if holds { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

async fn look(
    State(shelves): State<RunnerHandle<Shelf>>,
    Path((topic, partition, key)): Path<(String, u32, String)>,
) -> Response {
    let Ok(at) = TopicPartition::try_from((topic.as_str(), partition)) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    // The look runs between two records; its answer counts only if the partition is still owned after it.
    match shelves.read(&at, move |shelf, epoch| (shelf.get(&key), epoch)).await {
        Ok((entry, epoch)) => found(entry, epoch),
        Err(error) => not_read(&error).into_response(),
    }
}

async fn look_by_key(
    State((shelves, hash)): State<(RunnerHandle<Shelf>, KeyHash)>,
    Path((topic, key)): Path<(String, String)>,
) -> Response {
    let of_key = key.clone();
    let look = move |shelf: &Shelf, epoch| (shelf.get(&of_key), epoch);
    match shelves.read_by_key(&topic, key.as_bytes(), hash, look).await {
        Ok((entry, epoch)) => found(entry, epoch),
        Err(error) => not_read(&error).into_response(),
    }
}

const fn not_read(error: &StateReadError) -> StatusCode {
    match error {
        StateReadError::Busy(_) | StateReadError::PartitionsUnknown { .. } => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::MISDIRECTED_REQUEST,
    }
}

fn found(entry: Option<ShelfEntry>, epoch: Epoch) -> Response {
    let epoch = [("x-epoch", epoch.to_string())];
    match entry {
        Some(ShelfEntry { value, offset }) => {
            (epoch, [("x-offset", offset.to_string())], value).into_response()
        }
        None => (StatusCode::NOT_FOUND, epoch).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use kafka_assigner_client::kafka::{KafkaOptions, KafkaRunner};
    use kafka_assigner_client::{Consumer, ConsumerOptions, Offset};

    use super::*;
    use crate::shelf::Keeper;

    #[test]
    fn an_answer_says_how_new_it_is_and_under_which_epoch() {
        let entry = ShelfEntry { value: Bytes::from_static(b"7"), offset: Offset::ZERO };
        let answer = found(Some(entry), Epoch(5));
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(
            (&answer.headers()["x-epoch"], &answer.headers()["x-offset"]),
            (&"5".parse().unwrap(), &"0".parse().unwrap())
        );
        let answer = found(None, Epoch(5));
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        assert_eq!(answer.headers()["x-epoch"], "5");
    }

    #[test]
    fn a_consumer_that_has_not_begun_is_live_and_not_ready_and_one_that_is_gone_neither() {
        let consumer = Consumer::new(ConsumerOptions::new("c", ["http://127.0.0.1:1"])).unwrap();
        let handle = consumer.handle();
        assert_eq!(yes_or_no(handle.is_live()), StatusCode::OK);
        assert_eq!(yes_or_no(handle.is_ready()), StatusCode::SERVICE_UNAVAILABLE);
        drop(consumer);
        assert_eq!(yes_or_no(handle.is_live()), StatusCode::SERVICE_UNAVAILABLE);
    }

    #[tokio::test]
    async fn a_partition_of_another_consumer_is_refused() {
        let runner = KafkaRunner::new(&KafkaOptions::new("127.0.0.1:1", "g"), Keeper).unwrap();
        let ask = |topic: &str| {
            let path = Path((topic.to_owned(), 3, "a".to_owned()));
            look(State(runner.handle()), path)
        };
        assert_eq!(ask("prices").await.status(), StatusCode::MISDIRECTED_REQUEST);
        assert_eq!(ask("no topic").await.status(), StatusCode::BAD_REQUEST);
        // No broker is there to say how many partitions there are.
        let path = Path(("prices".to_owned(), "a".to_owned()));
        let by_key = look_by_key(State((runner.handle(), KeyHash::Crc32)), path).await;
        assert_eq!(by_key.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
