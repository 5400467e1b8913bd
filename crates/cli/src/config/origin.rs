//! The origin of a value.

use std::fmt;
use std::path::PathBuf;

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// The flag of that name.
    Flag(String),
    /// The environment variable of that name.
    Variable(String),
    /// The configuration file.
    File(PathBuf),
    /// Nobody.
    Default,
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "from --{flag}"),
            Self::Variable(variable) => write!(f, "from {variable}"),
            Self::File(path) => write!(f, "from {}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}
