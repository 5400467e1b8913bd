//! The PATH.

use std::env;
use std::path::PathBuf;

/// The first file called `program` on the PATH.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}
