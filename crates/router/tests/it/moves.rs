//! Many moves under load, in an order that a seed chooses: every request is executed once, in order, by the one owner
//! that may, and none fails.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use kafka_assigner_router::{Forward, RouteTarget, Router, SendError, TopicPartition};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio_util::sync::CancellationToken;

use crate::fake::{Fake, at, open, stash};
use crate::owners::options;

const PARTITIONS: i32 = 3;
const REQUESTS: u64 = 200;
const MOVES: u64 = 12;

/// The owners: the partitions that each admits, and the executed requests.
#[derive(Debug)]
struct World {
    dice: StdRng,
    /// The one owner and epoch that admits requests for a partition.
    admits: BTreeMap<i32, (String, u64)>,
    executed: BTreeMap<i32, Vec<u64>>,
    refusals: u64,
}

#[derive(Debug, Clone)]
struct Owners(Arc<Mutex<World>>);

impl Owners {
    fn new(seed: u64) -> Self {
        let admits = (0..PARTITIONS).map(|partition| (partition, ("a".to_owned(), 1))).collect();
        let dice = StdRng::seed_from_u64(seed);
        Self(Arc::new(Mutex::new(World { dice, admits, executed: BTreeMap::new(), refusals: 0 })))
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().expect("no test panics while it holds this")
    }

    fn chance(&self, of: u32) -> bool {
        self.world().dice.random_ratio(1, of)
    }

    /// Lets up to so many milliseconds pass.
    async fn pause(&self, most: u64) {
        let pause = self.world().dice.random_range(0..=most);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
}

#[async_trait]
impl Forward for Owners {
    type Response = u64;

    async fn send(&self, to: &RouteTarget, at: &TopicPartition, request: Bytes) -> Result<u64, SendError> {
        let number = request.as_ref().try_into().map(u64::from_be_bytes).expect("8 bytes");
        let admitted = {
            let mut world = self.world();
            let admits = world.admits.get(&at.kafka_number());
            let is_admitted =
                admits.is_some_and(|(owner, epoch)| **owner == *to.owner.name && *epoch == to.epoch.0);
            if is_admitted {
                world.executed.entry(at.kafka_number()).or_default().push(number);
            } else {
                world.refusals += 1;
            }
            is_admitted
        };
        self.pause(8).await;
        if admitted { Ok(number) } else { Err(SendError::Refused("not mine".into())) }
    }
}

/// Moves the partition back and forth, as the service does.
async fn move_about(service: Fake, owners: Owners, partition: i32) {
    let mut epoch = 1;
    for number in 0..MOVES {
        owners.pause(40).await;
        let handoff = format!("{partition}-{number}");
        let owner = owners.world().admits[&partition].0.clone();
        let next = if owner == "a" { "b".to_owned() } else { "a".to_owned() };
        service.set(stash(partition, &handoff));
        let is_cancelled = owners.chance(4);
        if is_cancelled {
            owners.pause(3).await;
        } else {
            service.wait_for_ack(partition, &handoff).await;
        }
        // From draining on the old owner admits nothing; a cancel grants it again under a higher epoch.
        owners.world().admits.remove(&partition);
        owners.pause(5).await;
        epoch += 1;
        let owner = if is_cancelled { owner } else { next };
        grant(&service, &owners, partition, (owner, epoch)).await;
    }
}

/// Either the owner or the router hears of a grant first.
async fn grant(service: &Fake, owners: &Owners, partition: i32, (owner, epoch): (String, u64)) {
    if owners.chance(2) {
        owners.world().admits.insert(partition, (owner.clone(), epoch));
        owners.pause(30).await;
        service.set(open(partition, &owner, epoch));
    } else {
        service.set(open(partition, &owner, epoch));
        owners.pause(30).await;
        owners.world().admits.insert(partition, (owner, epoch));
    }
}

async fn run(seed: u64) -> u64 {
    let service = Fake::new((0..PARTITIONS).map(|partition| open(partition, "a", 1)).collect());
    let owners = Owners::new(seed);
    let router = Router::forwarding_over(options(), owners.clone(), service.clone()).expect("valid");
    let (requests, mut status) = (router.cutover(), router.status());
    let shutdown = CancellationToken::new();
    let router = tokio::spawn(router.run(shutdown.clone()));
    status.wait_for(|status| status.is_open).await.expect("it runs");

    let moves = (0..PARTITIONS).map(|partition| move_about(service.clone(), owners.clone(), partition));
    let moves = tokio::spawn(futures::future::join_all(moves));
    let mut answers = Vec::new();
    for number in 0..REQUESTS {
        for partition in 0..PARTITIONS {
            let request = Bytes::copy_from_slice(&number.to_be_bytes());
            answers.push(requests.request(&at(partition), request));
        }
        owners.pause(6).await;
    }
    for answer in answers {
        answer.await.unwrap_or_else(|error| panic!("seed {seed}: a request failed: {error}"));
    }
    moves.await.expect("no panic");
    shutdown.cancel();
    router.await.expect("no panic").expect("in good order");
    let world = owners.world();
    for (partition, executed) in &world.executed {
        assert!(executed.iter().copied().eq(0..REQUESTS), "seed {seed}, partition {partition}: {executed:?}");
    }
    world.refusals
}

#[tokio::test(start_paused = true)]
async fn requests_are_executed_once_and_in_order_through_any_moves() {
    let mut refusals = 0;
    for seed in 0..30 {
        refusals += run(seed).await;
    }
    assert!(refusals > 100, "owners have to refuse, or this shows little: {refusals}");
}
