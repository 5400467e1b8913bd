//! The places that values come from, strongest first.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::error::ConfigError;
use super::origin::SettingOrigin;
use super::setting::Setting;
use super::value::Value;
use crate::suggestion::did_you_mean;

/// The values of settings, by source.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    /// Each flag by its setting's name, with all that it was given.
    pub(crate) flags: BTreeMap<String, Vec<String>>,
    /// The environment. Variables that are no settings are left alone: Kubernetes sets `KAFKA_ASSIGNER_PORT` and
    /// the like for a service called `kafka-assigner`.
    pub(crate) environment: BTreeMap<String, String>,
    /// The file.
    pub(crate) file: Option<File>,
}

/// The variables that are text; no setting takes anything else.
pub(crate) fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// A configuration file.
#[derive(Debug)]
pub(crate) struct File {
    path: PathBuf,
    values: toml::Table,
}

impl File {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ConfigError::Unreadable`] and [`ConfigError::Syntax`].
    pub(crate) fn open(path: PathBuf) -> Result<Self, ConfigError> {
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(path, &text),
            Err(source) => Err(ConfigError::Unreadable { path, source }),
        }
    }

    fn parse(path: PathBuf, text: &str) -> Result<Self, ConfigError> {
        match toml::from_str(text) {
            Ok(values) => Ok(Self { path, values }),
            Err(source) => Err(ConfigError::Syntax { path, source }),
        }
    }
}

impl Layers {
    /// The strongest value of a setting.
    pub(super) fn find(&self, setting: &Setting) -> (toml::Value, SettingOrigin) {
        self.flag(setting)
            .or_else(|| self.variable(setting))
            .or_else(|| self.key(setting))
            .unwrap_or_else(|| (text(setting, setting.default), SettingOrigin::Default))
    }

    fn flag(&self, setting: &Setting) -> Option<(toml::Value, SettingOrigin)> {
        let given = self.flags.get(setting.name)?;
        Some((setting.form.parse(given), SettingOrigin::Flag(setting.flag())))
    }

    fn variable(&self, setting: &Setting) -> Option<(toml::Value, SettingOrigin)> {
        let name = setting.variable();
        // Deployment files pass variables that nobody has filled in.
        let said = self.environment.get(&name).filter(|said| !said.is_empty())?;
        Some((text(setting, said), SettingOrigin::Variable(name)))
    }

    fn key(&self, setting: &Setting) -> Option<(toml::Value, SettingOrigin)> {
        let file = self.file.as_ref()?;
        Some((file.values.get(setting.name)?.clone(), SettingOrigin::File(file.path.clone())))
    }

    /// Reads the strongest value of a setting.
    ///
    /// # Errors
    /// [`ConfigError::WrongValue`].
    pub(super) fn read<T: Value>(&self, setting: &Setting) -> Result<T, ConfigError> {
        let (value, origin) = self.find(setting);
        T::read(&value).ok_or_else(|| {
            let alike = did_you_mean(value.as_str().unwrap_or_default(), T::WORDS.iter().copied());
            ConfigError::wrong(setting, origin, Some(&value), setting.allowed() + &alike)
        })
    }

    /// # Errors
    /// [`ConfigError::UnknownKey`] for the first key of the file that is none of `settings`.
    pub(super) fn refuse_unknown(&self, settings: &[Setting]) -> Result<(), ConfigError> {
        let Some(file) = &self.file else { return Ok(()) };
        match file.values.keys().find(|key| settings.iter().all(|s| s.name != *key)) {
            None => Ok(()),
            Some(key) => {
                let hint = did_you_mean(key, settings.iter().map(|setting| setting.name));
                let path = file.path.clone();
                Err(ConfigError::UnknownKey { path, key: key.clone(), hint })
            }
        }
    }
}

fn text(setting: &Setting, said: &str) -> toml::Value {
    setting.form.parse(&[said.to_owned()])
}

#[cfg(test)]
impl Layers {
    /// Layers with only a file of that text, for tests.
    pub(super) fn of_file(text: &str) -> Self {
        let file = File::parse(PathBuf::from("assigner.toml"), text).unwrap();
        Self { file: Some(file), ..Self::default() }
    }
}
