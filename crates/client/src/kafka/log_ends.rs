//! The ends of the logs that are held here, which nobody else needs to know all the time.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::sleep;

use super::client::Client;
use super::held::Held;

/// The time between two looks: one request to each broker, whatever the number of partitions. What is made of it are graphs
/// and alarms, which look every ten seconds or less often.
const EVERY: Duration = Duration::from_secs(10);

/// Looks again and again, until it is dropped. A broker that does not answer costs its partitions a second, and they keep the
/// end that was known before.
pub(super) async fn keep_looking(client: Client, held: Arc<Held>) {
    loop {
        look(&client, &held).await;
        sleep(EVERY).await;
    }
}

pub(super) async fn look(client: &Client, held: &Held) {
    let all = held.all();
    let ends = join_all(all.iter().map(|(at, _)| client.end(at))).await;
    for ((at, _), end) in all.iter().zip(ends) {
        end.into_iter().for_each(|end| held.ends_at(at, end));
    }
}
