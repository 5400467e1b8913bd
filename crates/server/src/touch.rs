//! Keeps watch on the touch between the views of this instance and the store, for those who hang on its streams.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::group::ServedGroup;
use crate::instance::Instance;

/// The time between two looks at the views; an answer of the store that takes longer says nothing.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A view whose watch was silent for longer is held against the store: one read for all groups of the instance. With the
/// looks before and after it, far below `stream_patience`.
const ASK_AFTER: Duration = Duration::from_millis(1_500);

/// Looks until the instance stops.
pub(crate) async fn stay_in_touch(instance: Instance) {
    let offset = Duration::from_millis(instance.entropy().number() % 1_000);
    let mut looks = interval_at(Instant::now() + offset, LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut lost = 0;
    loop {
        tokio::select! {
            biased;
            () = instance.stopping().cancelled() => return,
            _ = looks.tick() => lost = look(&instance, lost).await,
        }
    }
}

/// Looks at every group; returns how many are out of touch, where so many were before.
async fn look(instance: &Instance, before: usize) -> usize {
    let (served, idle): (Vec<_>, Vec<_>) =
        instance.groups().into_iter().partition(|group| group.streams() > 0);
    idle.iter().for_each(|group| group.touch().rest());
    let patience = instance.options().stream_patience;
    let oldest = served.iter().map(|group| look_at(group, patience)).max().unwrap_or_default();
    if oldest > ASK_AFTER {
        ask(instance, &served).await;
    }
    let lost = served.iter().filter(|group| group.touch().is_lost()).count();
    tell(instance, (before, lost), oldest);
    lost
}

fn look_at(group: &ServedGroup, patience: Duration) -> Duration {
    let health = group.view().health();
    group.touch().look(health.revision, health.last_progress, patience)
}

async fn ask(instance: &Instance, served: &[ServedGroup]) {
    let (store, asked) = (instance.store(), Instant::now());
    let key = instance.options().prefix.as_bytes();
    if let Ok(Ok((_, revision))) = timeout(LOOK_EVERY, store.get(key)).await {
        for group in served {
            group.touch().said(revision, asked);
            group.view().ask_for(revision);
        }
    }
}

/// Says so once, however many groups there are.
fn tell(instance: &Instance, (before, lost): (usize, usize), oldest: Duration) {
    instance.metrics().out_of_touch(lost);
    if before == 0 && lost > 0 {
        tracing::warn!(groups = lost, since = ?oldest, "out of touch with the store: streams may miss changes");
    } else if before > 0 && lost == 0 {
        tracing::info!("in touch with the store again");
    }
}
