//! The ends of the logs that are held here, which nobody else needs to know all the time.

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream;
use kafka_assigner_types::id::{Offset, TopicPartition};

use super::client::Client;
use super::held::HeldByRunner;

/// The most partitions that are asked about each for itself at the same time: moves use the same threads.
const ALONE: usize = 4;

/// Asks for all of them at once. Where the answer of one is an error, and so that of all with it, each is asked about alone, a few
/// at a time; one that has no answer in a second keeps the end that was known before.
pub(super) async fn look(client: &Client, held: &HeldByRunner) {
    let all: Vec<TopicPartition> = held.all().into_iter().map(|(at, _)| at).collect();
    let ends = join_all(all.iter().map(|at| client.end_together(at))).await;
    let looks: Vec<_> = all.into_iter().zip(ends).map(|(at, end)| look_at(client.clone(), at, end)).collect();
    let mut known = stream::iter(looks).buffer_unordered(ALONE);
    while let Some((at, end)) = known.next().await {
        end.into_iter().for_each(|end| held.ends_at(&at, end));
    }
}

/// The end of one log, which is asked for where it is not known.
async fn look_at(
    client: Client,
    at: TopicPartition,
    end: Option<Offset>,
) -> (TopicPartition, Option<Offset>) {
    let end = match end {
        Some(end) => Some(end),
        None => client.end_alone(&at).await.ok(),
    };
    (at, end)
}
