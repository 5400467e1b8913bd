//! Work that takes long, away from the threads that serve everybody.

use kafka_assigner_core::record::Topic;
use kafka_assigner_core::state::{Entry, GroupState};
use tokio::task::spawn_blocking;

/// The most partitions and consumers of a group through which a thread of the runtime goes at once. A plan takes some
/// 2 µs for each partition, so this many keep a thread from everything else for 2 ms; handing work to another thread
/// costs some 20 µs.
const LARGEST_INLINE: usize = 1_000;

/// True if it takes long to go through all of `state`.
pub(crate) fn is_large(state: &GroupState) -> bool {
    let partitions = |topic: &Entry<Topic>| topic.last_good().map_or(0, |topic| topic.partitions as usize);
    state.topics().values().map(partitions).sum::<usize>() + state.consumers().len() > LARGEST_INLINE
}

/// Does `work`, on a thread for such where it `is_long`. `None` where the process stops before it could begin.
///
/// Cancel safe: what has begun is done to its end, and its result dropped.
///
/// # Panics
/// Where `work` does.
pub(crate) async fn run<R: Send + 'static>(
    is_long: bool,
    work: impl FnOnce() -> R + Send + 'static,
) -> Option<R> {
    if !is_long {
        return Some(work());
    }
    match spawn_blocking(work).await {
        Ok(result) => Some(result),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => None,
    }
}
