//! The ends of the logs that are held here, which nobody else needs to know all the time.

use futures::future::join_all;

use super::client::Client;
use super::held::HeldByRunner;

/// Asks for all of them at once. A broker that does not answer costs its partitions a second, and they keep the end that was
/// known before.
pub(super) async fn look(client: &Client, held: &HeldByRunner) {
    let all = held.all();
    let ends = join_all(all.iter().map(|(at, _)| client.end(at))).await;
    for ((at, _), end) in all.iter().zip(ends) {
        end.into_iter().for_each(|end| held.ends_at(at, end));
    }
}
