//! The access file, which is read again whenever it changes.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_access::{InvalidPolicy, LARGEST_FILE, Policy};
use kafka_assigner_types::moment::Moment;
use tokio::io::AsyncReadExt as _;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::metrics::Metrics;
use crate::refusal::describe;
use crate::repeated_warning::RepeatedWarning;

/// The time between two looks at the file: a change counts after two. A look is one read of a small file.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// An access file that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum AccessFileError {
    /// It can't be read.
    #[error("{path} can't be read", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// It is no policy.
    #[error("{path} is no access file", path = path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: InvalidPolicy,
    },
}

/// Reads the file, and returns the future that does so whenever it changes.
pub(super) async fn open(
    path: PathBuf,
    metrics: Metrics,
) -> Result<(watch::Receiver<Arc<Policy>>, impl Future<Output = Infallible>), AccessFileError> {
    let text = read(&path).await?;
    let policy = parse(&path, &text)?;
    note(&path, &policy, "access file read");
    let (sender, receiver) = watch::channel(Arc::new(policy));
    metrics.access_file_usable(true);
    let (candidate, trouble) = (None, RepeatedWarning::default());
    let file = AccessFile { path, text, candidate, sender, metrics, trouble, since: Instant::now() };
    Ok((receiver, file.follow()))
}

/// The file as it was read last.
struct AccessFile {
    path: PathBuf,
    /// The text that counts.
    text: String,
    /// Another text that was read since. It counts when two looks show it: the file may be in the middle of being written.
    candidate: Option<String>,
    sender: watch::Sender<Arc<Policy>>,
    metrics: Metrics,
    trouble: RepeatedWarning,
    since: Instant,
}

impl AccessFile {
    async fn follow(mut self) -> Infallible {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let looked = self.look().await;
            self.tell(looked.err());
        }
    }

    fn tell(&mut self, trouble: Option<AccessFileError>) {
        self.metrics.access_file_usable(trouble.is_none());
        let Some(error) = trouble else {
            self.trouble.is_over();
            return;
        };
        let why = describe(&error);
        if self.trouble.is_due(&why, Moment(self.since.elapsed())) {
            tracing::warn!(why, "the access file can't be used: what it said before goes on to count");
        }
    }

    /// Reads the file; takes it in where it has changed, and two looks show the same.
    async fn look(&mut self) -> Result<(), AccessFileError> {
        let text = read(&self.path).await?;
        if text == self.text {
            self.candidate = None;
            return Ok(());
        }
        if self.candidate.as_ref() != Some(&text) {
            self.candidate = Some(text);
            return Ok(());
        }
        let policy = parse(&self.path, &text)?;
        note(&self.path, &policy, "access file read again");
        self.text = text;
        self.sender.send_replace(Arc::new(policy));
        Ok(())
    }
}

fn note(path: &Path, policy: &Policy, what: &str) {
    let (tokens, rules) = policy.size();
    tracing::info!(path = %path.display(), tokens, rules, "{what}");
}

async fn read(path: &Path) -> Result<String, AccessFileError> {
    let unreadable = |source| AccessFileError::Unreadable { path: path.to_owned(), source };
    let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    let mut text = String::new();
    // One byte more than it may have shows that it is too long.
    let most = u64::try_from(LARGEST_FILE).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_string(&mut text).await.map_err(unreadable)?;
    Ok(text)
}

fn parse(path: &Path, text: &str) -> Result<Policy, AccessFileError> {
    Policy::parse(text).map_err(|source| AccessFileError::Invalid { path: path.to_owned(), source })
}
