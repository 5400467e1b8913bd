//! The access file, which is read again whenever it changes.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_access::{InvalidPolicy, LARGEST_FILE, Policy};
use tokio::io::AsyncReadExt as _;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::metrics::Metrics;

/// The time between two looks at the file. A mounted secret changes within a minute; a look is one read of a small file.
const LOOK_EVERY: Duration = Duration::from_secs(2);

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
    Ok((receiver, AccessFile { path, text, sender, metrics, is_usable: true }.follow()))
}

/// The file as it was read last.
struct AccessFile {
    path: PathBuf,
    text: String,
    sender: watch::Sender<Arc<Policy>>,
    metrics: Metrics,
    /// False since the file could not be used: that is said once.
    is_usable: bool,
}

impl AccessFile {
    async fn follow(mut self) -> Infallible {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            match self.look().await {
                Ok(()) => self.is_usable = true,
                Err(error) if self.is_usable => {
                    tracing::warn!(%error, cause = std::error::Error::source(&error).map(tracing::field::display),
                        "the access file can't be used: what it said before goes on to count");
                    self.is_usable = false;
                }
                // It was said.
                Err(_) => {}
            }
            self.metrics.access_file_usable(self.is_usable);
        }
    }

    /// Reads the file; takes it in where it has changed.
    async fn look(&mut self) -> Result<(), AccessFileError> {
        let text = read(&self.path).await?;
        if text == self.text {
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
