//! The origin of a tool, for the report.

use std::fmt;

/// The place where a tool was found, or the way in which it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An environment variable named it.
    Variable(&'static str),
    /// It was on the PATH.
    Path,
    /// An earlier run left it in the cache.
    Cache,
    /// This run made it, and left it in the cache.
    Made(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "named by {name}"),
            Self::Path => f.write_str("found on the PATH"),
            Self::Cache => f.write_str("from the cache under target/tools"),
            Self::Made(how) => write!(f, "{how} just now, cached under target/tools"),
        }
    }
}
