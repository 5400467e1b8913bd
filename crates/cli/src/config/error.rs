//! The errors of a configuration.

use std::path::PathBuf;

use super::origin::SettingOrigin;
use super::secret::HIDDEN;
use super::setting::Setting;

/// The reasons for which a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file can't be read.
    #[error("can't read the configuration file {path}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("the configuration file {path} is not valid TOML", path = path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The place and the cause.
        source: toml::de::Error,
    },
    /// The file has a key that is no setting.
    #[error("{key:?} in {path} is not a setting{hint}", path = path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The key that was probably meant, as the end of the message; empty if none is similar.
        hint: String,
    },
    /// A value that is not allowed.
    #[error("{name} = {value} ({origin}) is refused: it must be {expects}")]
    WrongValue {
        /// The setting.
        name: &'static str,
        /// The refused value, hidden where it is a secret.
        value: String,
        /// The source of the value.
        origin: SettingOrigin,
        /// The allowed values.
        expects: String,
    },
    /// A setting that another one needs.
    #[error("{name} ({origin}) needs {missing}, which is not set")]
    Missing {
        /// The setting that is set.
        name: &'static str,
        /// The source of the value.
        origin: SettingOrigin,
        /// The one that is not.
        missing: &'static str,
    },
}

impl ConfigError {
    /// A [`ConfigError::WrongValue`] that shows `value` unless it is a secret.
    pub(super) fn wrong(
        setting: &Setting,
        origin: SettingOrigin,
        value: Option<&toml::Value>,
        expects: impl Into<String>,
    ) -> Self {
        let value = match value {
            None => "\"\"".to_owned(),
            Some(_) if setting.secret => HIDDEN.to_owned(),
            Some(value) => value.to_string(),
        };
        Self::WrongValue { name: setting.name, value, origin, expects: expects.into() }
    }
}
