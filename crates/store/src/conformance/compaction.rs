//! Watches after a compaction of the store.

use futures::StreamExt;
use kafka_assigner_types::kv::{Change, Revision};
use tokio::time::timeout;

use super::bench::{Bench, Outcome, PATIENCE, changes, list_cases};
use crate::error::Error;
use crate::traits::Watch;

list_cases![a_compaction_is_reported_and_a_listing_leads_on];

/// One after the other: a compaction for one of them would be in the other's way.
async fn a_compaction_is_reported_and_a_listing_leads_on(bench: Bench) -> Outcome {
    a_compacted_revision_is_reported(&bench).await?;
    a_watch_after_a_compaction_goes_on_from_the_listing(&bench).await
}

/// Three changes, of which the store forgets the first two.
async fn compacted(bench: &Bench) -> Result<(Revision, Revision), Error> {
    let first = bench.put("a", "1").await?;
    bench.put("a", "2").await?;
    let last = bench.put("a", "3").await?;
    bench.subject.compact(last).await;
    Ok((first, last))
}

async fn a_compacted_revision_is_reported(bench: &Bench) -> Outcome {
    let (first, last) = compacted(bench).await?;
    let error = match bench.watch(first).await {
        Err(error) => error,
        Ok(mut watch) => refused(&mut watch).await,
    };
    match error {
        Error::Compacted { asked, oldest } => {
            assert!(asked == first && oldest > first && oldest <= last.next());
        }
        other => panic!("the compaction is told, not {other:?}"),
    }
    Ok(())
}

/// The error that a watch begins with, and ends with.
async fn refused(watch: &mut Watch) -> Error {
    let first = timeout(PATIENCE, watch.next()).await.expect("an answer comes").expect("an item comes");
    assert!(watch.next().await.is_none(), "a watch ends after its first error");
    first.expect_err("nothing is delivered over a hole")
}

async fn a_watch_after_a_compaction_goes_on_from_the_listing(bench: &Bench) -> Outcome {
    let (_, last) = compacted(bench).await?;
    let listed = bench.list().await?;
    assert_eq!(listed.records.len(), 1, "records are not compacted away");
    let mut watch = bench.watch(listed.revision.next()).await?;
    let next = bench.put("a", "4").await?;
    let seen = changes(&bench.read_to(&mut watch, next).await?);
    assert_eq!(seen.iter().map(Change::revision).collect::<Vec<_>>(), [next]);
    let mut oldest = bench.watch(last).await?;
    assert_eq!(changes(&bench.read_to(&mut oldest, next).await?).len(), 2, "what was kept can be replayed");
    Ok(())
}
