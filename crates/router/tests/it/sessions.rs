//! The session: repeated acknowledgements, and the closing of the table.

use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_router::proto::v1::FenceReason;
use kafka_assigner_router::{RequestError, RouterError, Unsent};

use crate::fake::{Asked, Fake, TTL_MS, at, open, stash};
use crate::owners::{Owners, Running, answer, start};

fn is_attach(asked: &Asked) -> bool {
    matches!(asked, Asked::Attach { .. })
}

async fn is_closed(router: &Running) -> bool {
    let request = router.requests.request(&at(0), Bytes::new());
    matches!(request.await, Err(RequestError::Unsent(Unsent::Closed)))
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_an_acknowledgement_is_made_up_for() {
    let service = Fake::new(vec![stash(0, "h")]);
    service.lose_acks(2);
    let mut router = start(&service, &Owners::new()).await;
    router.status.wait_for(|status| status.acknowledged == 1).await.expect("it runs");
    assert_eq!(service.acks().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn h27_an_acknowledgement_that_was_deleted_is_written_again() {
    let service = Fake::new(vec![stash(0, "h")]);
    let mut router = start(&service, &Owners::new()).await;
    router.status.wait_for(|status| status.acknowledged == 3).await.expect("it runs");
}

#[tokio::test(start_paused = true)]
async fn a_reconnect_keeps_the_session_and_acknowledges_again() {
    let service = Fake::new(vec![stash(0, "h")]);
    let _router = start(&service, &Owners::new()).await;
    service.wait_for_ack(0, "h").await;
    let before = tokio::time::Instant::now();
    service.break_stream();
    service.wait_for(|log| log.iter().filter(|asked| is_attach(asked)).count() == 2).await;
    service.wait_for(|log| log.iter().rposition(is_attach) < Some(log.len() - 1)).await;
    assert!(before.elapsed() < Duration::from_secs(1), "at once, not with the next repetition");
    let attached: Vec<_> = service.asked().into_iter().filter(is_attach).collect();
    let [Asked::Attach { incarnation: first, .. }, Asked::Attach { incarnation, resume_lease: 1 }] =
        &attached[..]
    else {
        panic!("{attached:?}")
    };
    assert_eq!(first, incarnation);
}

#[tokio::test(start_paused = true)]
async fn h31_a_new_session_acknowledges_under_its_own_incarnation() {
    let service = Fake::new(vec![stash(0, "h")]);
    let router = start(&service, &Owners::new()).await;
    let acked_by = |log: &[Asked]| {
        log.iter().rev().find_map(|asked| match asked {
            Asked::Ack(.., by) => Some(by.clone()),
            Asked::Attach { .. } | Asked::Detach => None,
        })
    };
    service.wait_for_ack(0, "h").await;
    let first = acked_by(&service.asked()).expect("acknowledged");
    service.fence(FenceReason::Expired);
    service.wait_for(|log| acked_by(log).is_some_and(|by| by != first)).await;
    assert_eq!(router.status.borrow().sessions_lost, 1);
}

// Held requests outlive the session; none is sent to the owner of the lost session's table.
#[tokio::test(start_paused = true)]
async fn a_lost_session_keeps_the_stash_for_the_next_owner() {
    let (service, owners) = (Fake::new(vec![stash(0, "h")]), Owners::new());
    let router = start(&service, &owners).await;
    let stashed = router.ask(0, "stashed");
    service.break_stream();
    service.set(open(0, "winner", 9));
    assert_eq!(answer(stashed).await, Ok("winner".into()));
}

#[tokio::test(start_paused = true)]
async fn h30_a_router_that_is_not_confirmed_closes_its_table_and_comes_back() {
    let (service, owners) = (Fake::new(vec![open(0, "o", 1)]), Owners::new());
    let mut router = start(&service, &owners).await;
    service.be_silent(true);
    router.status.wait_for(|status| !status.is_open).await.expect("it runs");
    assert!(is_closed(&router).await);
    assert!(router.table.lookup(&at(0)).is_err());
    service.be_silent(false);
    router.status.wait_for(|status| status.is_open).await.expect("it runs");
    assert_eq!(answer(router.ask(0, "again")).await, Ok("o".into()));
    assert_eq!(router.status.borrow().sessions_lost, 0);
}

// The claim is asked at each request, so a process that was suspended does not send before its loop has noticed.
#[tokio::test(start_paused = true)]
async fn the_table_closes_by_the_clock_alone() {
    let (service, owners) = (Fake::new(vec![open(0, "o", 1)]), Owners::new());
    let router = start(&service, &owners).await;
    service.be_silent(true);
    tokio::time::advance(Duration::from_millis(TTL_MS)).await;
    assert!(!router.table.is_open());
    assert!(is_closed(&router).await);
    assert_eq!(owners.requests(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn two_routers_of_one_name_do_not_take_it_from_each_other() {
    let service = Fake::new(vec![open(0, "o", 1)]);
    let router = start(&service, &Owners::new()).await;
    service.fence(FenceReason::Superseded);
    let end = router.run.await.expect("no panic");
    assert!(matches!(end, Err(RouterError::Superseded(_))), "{end:?}");
    assert!(!router.table.is_open());
}
