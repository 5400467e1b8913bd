//! Compaction of etcd's history that is older than an hour; by itself etcd keeps everything.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use kafka_assigner_store::{Error, EtcdStore, Store as _};
use kafka_assigner_types::kv::Revision;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// The length of the kept history: far longer than any watch that is still wanted lags behind.
const KEPT: Duration = Duration::from_secs(3_600);

/// The interval between two compactions. An hour then grows by at most a twelfth, for one small read and one small write.
const EVERY: Duration = Duration::from_secs(300);

/// Compacts until it is dropped. Every instance does so: compacting what is compacted already costs nothing, and no
/// instance has to be the one. A user who may not do so is told once; the right may be granted later. `key` is any key
/// that may be read.
///
/// Cancel safe.
pub(super) async fn run(store: &EtcdStore, key: &str) -> Infallible {
    let (mut history, mut denials) = (History::default(), Denials::default());
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = ticks.tick().await;
        let looked = look(store, key, &mut history, now).await;
        denials.note(&looked).into_iter().for_each(|news| tell(&news));
    }
}

/// Compacts what is old enough; returns true if something was. A failed compaction is done again after the next interval.
async fn look(store: &EtcdStore, key: &str, history: &mut History, now: Instant) -> Result<bool, Error> {
    let revision = match store.get(key.as_bytes()).await {
        Ok((_, revision)) => revision,
        Err(error) => {
            tracing::debug!(%error, "compaction put off");
            return Ok(false);
        }
    };
    let Some(oldest) = history.note(now, revision) else { return Ok(false) };
    store.compact(oldest).await?;
    tracing::debug!(revision = oldest.0, "history compacted");
    Ok(true)
}

/// The news of a compaction for operators.
#[derive(Debug, PartialEq, Eq)]
enum CompactionNews {
    Denied(String),
    AllowedAgain,
    Failed(String),
}

fn tell(news: &CompactionNews) {
    match news {
        CompactionNews::Denied(error) => tracing::warn!(
            error,
            "the user of etcd may not compact: let somebody else do so, and set etcd_compaction to off"
        ),
        CompactionNews::AllowedAgain => tracing::info!("the user of etcd may compact again"),
        CompactionNews::Failed(error) => tracing::warn!(error, "etcd's history can't be compacted"),
    }
}

/// True while compactions are denied.
#[derive(Debug, Default)]
struct Denials(bool);

impl Denials {
    /// Notes an outcome; returns its news. Where nothing was compacted nothing is known.
    fn note(&mut self, looked: &Result<bool, Error>) -> Option<CompactionNews> {
        match looked {
            Ok(false) => None,
            Ok(true) => std::mem::take(&mut self.0).then_some(CompactionNews::AllowedAgain),
            Err(error @ Error::Denied(_)) => {
                let is_news = !std::mem::replace(&mut self.0, true);
                is_news.then(|| CompactionNews::Denied(error.to_string()))
            }
            Err(error) => Some(CompactionNews::Failed(error.to_string())),
        }
    }
}

/// The revisions with the times at which they were the newest.
#[derive(Debug, Default)]
struct History(VecDeque<(Instant, Revision)>);

impl History {
    /// Adds a note, and returns the newest revision that was already the present one [`KEPT`] ago.
    fn note(&mut self, now: Instant, revision: Revision) -> Option<Revision> {
        self.0.push_back((now, revision));
        let mut oldest = None;
        while self.0.front().is_some_and(|(at, _)| now.duration_since(*at) >= KEPT) {
            oldest = self.0.pop_front().map(|(_, revision)| revision);
        }
        oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_older_than_an_hour_is_forgotten() {
        let start = Instant::now();
        let mut history = History::default();
        let mut forgotten = Vec::new();
        for look in 0..15_u32 {
            let revision = Revision(u64::from(look) * 10);
            forgotten.push(history.note(start + EVERY * look, revision).map(|revision| revision.0));
        }
        let mut expected = vec![None; 12];
        expected.extend([Some(0), Some(10), Some(20)]);
        assert_eq!(forgotten, expected);
        assert!(history.0.len() <= 12, "notes are bounded");
    }

    #[test]
    fn a_denial_is_told_once_and_its_end_as_well() {
        let mut denials = Denials::default();
        let denied = || Err(Error::Denied("no".to_owned()));
        let told: Vec<bool> = [Ok(true), denied(), Ok(false), denied(), Err(Error::NoSpace), denied()]
            .iter()
            .map(|looked| matches!(denials.note(looked), Some(CompactionNews::Denied(_))))
            .collect();
        assert_eq!(told, [false, true, false, false, false, false]);
        assert_eq!(denials.note(&Ok(true)), Some(CompactionNews::AllowedAgain));
        assert_eq!(denials.note(&Ok(true)), None);
        assert!(matches!(denials.note(&Err(Error::NoSpace)), Some(CompactionNews::Failed(_))));
    }
}
