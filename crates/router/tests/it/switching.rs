//! Requests while their partitions move.

use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_router::{KeyHash, RequestError, Unsent};

use crate::fake::{Fake, at, open, stash};
use crate::owners::{Owners, answer, start};

#[tokio::test(start_paused = true)]
async fn a_switch_fails_no_request_and_keeps_their_order() {
    let (service, owners) = (Fake::new(vec![open(0, "old", 1)]), Owners::new());
    let router = start(&service, &owners).await;
    owners.hold_answers();
    let first = router.ask(0, "first");
    owners.wait_for(1).await;

    service.set(stash(0, "h"));
    router.status.clone().wait_for(|status| status.held == 1).await.expect("it runs");
    let stashed: Vec<_> = ["a", "b", "c"].iter().map(|request| router.ask(0, request)).collect();
    assert_eq!(service.acks(), [], "one is still on its way");
    owners.answer(1);
    service.wait_for_ack(0, "h").await;
    assert_eq!(answer(first).await, Ok("old".into()));
    assert_eq!(owners.requests(), ["first"], "nothing goes out after the stop");

    owners.answer(10);
    service.set(open(0, "new", 2));
    for request in stashed {
        assert_eq!(answer(request).await, Ok("new".into()));
    }
    assert_eq!(answer(router.ask(0, "later")).await, Ok("new".into()));
    assert_eq!(owners.requests(), ["first", "a", "b", "c", "later"]);
    assert!(owners.arrived()[1..].iter().all(|(_, epoch, ..)| *epoch == 2));
}

#[tokio::test(start_paused = true)]
async fn h23_a_drain_that_never_ends_keeps_no_other_acknowledgement_waiting() {
    let service = Fake::new(vec![open(0, "old", 1), open(1, "old", 1)]);
    let owners = Owners::new();
    let router = start(&service, &owners).await;
    owners.hold_answers();
    let _stuck = router.ask(0, "stuck");
    owners.wait_for(1).await;
    service.set(stash(0, "h"));
    service.set(stash(1, "g"));
    service.wait_for_ack(1, "g").await;
    assert_eq!(service.acks(), [(1, "g".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_ends_a_drain_after_its_bound() {
    let (service, owners) = (Fake::new(vec![open(0, "old", 1)]), Owners::new());
    let router = start(&service, &owners).await;
    owners.hold_answers();
    let lost = router.ask(0, "lost");
    owners.wait_for(1).await;
    service.set(stash(0, "h"));
    service.wait_for_ack(0, "h").await;
    assert_eq!(answer(lost).await, Err("no answer within 5s".into()));
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_was_not_told_yet_keeps_the_request_in_its_place() {
    let (service, owners) = (Fake::new(vec![open(0, "new", 2)]), Owners::new());
    owners.admit_only("new", 1);
    let router = start(&service, &owners).await;
    let early: Vec<_> = ["a", "b"].iter().map(|request| router.ask(0, request)).collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    owners.admit_only("new", 2);
    for request in early {
        assert_eq!(answer(request).await, Ok("new".into()));
    }
    assert_eq!(owners.requests(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_may_have_been_executed_is_not_repeated() {
    let (service, owners) = (Fake::new(vec![open(0, "old", 1)]), Owners::new());
    owners.cut("old");
    let router = start(&service, &owners).await;
    let request = router.requests.request(&at(0), Bytes::new());
    let error = request.await.expect_err("it failed");
    assert!(matches!(error, RequestError::Failed(_)) && !error.is_safe_to_repeat(), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_partition_without_an_owner_fails_requests_after_their_age_only() {
    let (service, owners) = (Fake::new(vec![stash(0, "h")]), Owners::new());
    let router = start(&service, &owners).await;
    let before = tokio::time::Instant::now();
    let error = router.requests.request(&at(0), Bytes::new()).await;
    let error = error.expect_err("nobody came");
    assert!(matches!(error, RequestError::Unsent(Unsent::TooOld)) && error.is_safe_to_repeat(), "{error:?}");
    assert_eq!(before.elapsed().as_secs(), 15);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_request_is_taken_back() {
    let (service, owners) = (Fake::new(vec![stash(0, "h")]), Owners::new());
    let router = start(&service, &owners).await;
    let request = router.requests.request(&at(0), Bytes::from("gone"));
    assert_eq!(router.requests.counts(), (1, 0));
    drop(request);
    assert_eq!(router.requests.counts(), (0, 0));
    service.set(open(0, "new", 2));
    assert_eq!(answer(router.ask(0, "next")).await, Ok("new".into()));
    assert_eq!(owners.requests(), ["next"]);
}

#[tokio::test(start_paused = true)]
async fn a_key_finds_its_partition() {
    let service = Fake::new((0..4).map(|partition| open(partition, "o", 1)).collect());
    let owners = Owners::new();
    let router = start(&service, &owners).await;
    for (nth, hash) in [KeyHash::Murmur2, KeyHash::Crc32].into_iter().enumerate() {
        let at = router.table.partition_of("t", b"customer-7", hash).expect("the topic is there");
        let answer = router.requests.request_by_key("t", b"customer-7", hash, Bytes::from("x")).await;
        assert_eq!(answer.expect("it is answered"), "o");
        assert_eq!(owners.arrived()[nth].2, at.kafka_number());
    }
    let unknown = router.requests.request_by_key("other", b"k", KeyHash::Murmur2, Bytes::new()).await;
    assert!(matches!(unknown, Err(RequestError::Unsent(Unsent::NoPartition))), "{unknown:?}");
}
