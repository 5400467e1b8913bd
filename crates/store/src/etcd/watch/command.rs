//! Commands to the task that runs all watches.

use super::registry::EtcdWatch;

/// A command to the task.
#[derive(Debug)]
pub(super) enum WatchCommand {
    Open(EtcdWatch),
    AskForProgress,
}
