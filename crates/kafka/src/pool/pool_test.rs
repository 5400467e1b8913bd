//! Links are shared, separate by lane, and opened again.

use super::*;
use crate::messages::MetadataRequest;
use crate::options::Options;
use crate::testing::FakeBroker;

const PATIENCE: Duration = Duration::from_secs(5);

fn pool() -> BrokerPool {
    let options = Options { patience: PATIENCE, ..Options::new(Vec::new()) };
    BrokerPool::new(Connector::new(&options).unwrap())
}

async fn ask(pool: &BrokerPool, broker: &BrokerAddress, lane: BrokerLane) -> Result<usize, Error> {
    let made = |_| MetadataRequest::of_names(["orders"]);
    Ok(pool.ask(broker, lane, made, PATIENCE).await?.0.topics.len())
}

#[tokio::test]
async fn requests_of_a_lane_share_a_link() {
    let (broker, pool) = (FakeBroker::start().await.unwrap(), pool());
    for lane in [BrokerLane::Requests, BrokerLane::Requests, BrokerLane::Polls, BrokerLane::Requests] {
        assert_eq!(ask(&pool, &broker.address, lane).await.unwrap(), 1);
    }
    assert_eq!(broker.state().accepted, 2);
}

#[tokio::test]
async fn many_who_ask_at_once_open_one_link() {
    let (broker, pool) = (FakeBroker::start().await.unwrap(), Arc::new(pool()));
    let mut tasks = Vec::new();
    for _ in 0..20 {
        let (pool, address) = (Arc::clone(&pool), broker.address.clone());
        tasks.push(tokio::spawn(async move { ask(&pool, &address, BrokerLane::Requests).await.unwrap() }));
    }
    for task in tasks {
        assert_eq!(task.await.unwrap(), 1);
    }
    assert_eq!(broker.state().accepted, 1);
}

#[tokio::test]
async fn a_link_that_has_ended_is_opened_again() {
    let (broker, pool) = (FakeBroker::start().await.unwrap(), pool());
    assert_eq!(ask(&pool, &broker.address, BrokerLane::Requests).await.unwrap(), 1);
    let slot = Arc::clone(pool.slots().values().next().unwrap());
    let link = slot.0.lock().await.link.clone().unwrap();
    broker.disconnect_all();
    tokio::time::timeout(PATIENCE, link.ended()).await.expect("it is noticed");
    assert_eq!(ask(&pool, &broker.address, BrokerLane::Requests).await.unwrap(), 1);
    assert_eq!(broker.state().accepted, 2);
}

#[tokio::test]
async fn a_broker_that_cannot_be_reached_rests_and_says_so() {
    let (pool, nowhere) = (pool(), "127.0.0.1:1".parse().unwrap());
    let made = |_| MetadataRequest::of_names(["orders"]);
    for _ in 0..3 {
        let refused = pool.ask(&nowhere, BrokerLane::Group, made, PATIENCE).await.unwrap_err();
        assert!(matches!(refused, Error::Connect { .. }), "{refused}");
    }
    let refused = pool.ask(&nowhere, BrokerLane::Group, made, Duration::from_millis(1)).await.unwrap_err();
    assert!(matches!(refused, Error::Resting { .. }), "{refused}");
}

#[tokio::test]
async fn brokers_that_have_left_are_forgotten() {
    let (broker, pool) = (FakeBroker::start().await.unwrap(), pool());
    assert_eq!(ask(&pool, &broker.address, BrokerLane::Requests).await.unwrap(), 1);
    pool.retain(std::slice::from_ref(&broker.address));
    assert_eq!(pool.slots().len(), 1);
    pool.retain(&[]);
    assert_eq!(pool.slots().len(), 0);
}
