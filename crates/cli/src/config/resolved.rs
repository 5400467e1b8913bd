//! A configuration with the origins of its values, and the table that declares its settings.

use super::error::ConfigError;
use super::layers::Layers;
use super::origin::SettingOrigin;
use super::setting::Setting;

/// A struct whose fields are settings; written by [`settings!`].
pub(crate) trait Configuration: Sized {
    /// The settings, in the order of the fields.
    const SETTINGS: &'static [Setting];

    /// Reads every field.
    ///
    /// # Errors
    /// [`ConfigError::WrongValue`] for the first one that is not what its type takes.
    fn read(layers: &Layers) -> Result<Self, ConfigError>;

    /// The values, in the order of the fields; `None` = not set.
    fn values(&self) -> Vec<Option<toml::Value>>;
}

/// A configuration with the origin of each of its values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resolved<C> {
    /// The configuration.
    pub(crate) config: C,
    /// The source of each value, in the order of [`Configuration::SETTINGS`].
    pub(crate) origins: Vec<SettingOrigin>,
}

impl<C: Configuration> Resolved<C> {
    /// Takes each value from the strongest layer that has it.
    ///
    /// # Errors
    /// [`ConfigError`] for the first unknown key or wrong value.
    pub(crate) fn new(layers: &Layers) -> Result<Self, ConfigError> {
        layers.refuse_unknown(C::SETTINGS)?;
        let config = C::read(layers)?;
        let origins = C::SETTINGS.iter().map(|setting| layers.find(setting).1).collect();
        Ok(Self { config, origins })
    }

    /// The error for a value of the right type that can't be used.
    ///
    /// # Panics
    /// If no setting is called `name`.
    pub(crate) fn refuse(&self, name: &str, expects: impl Into<String>) -> ConfigError {
        let position = Self::position(name);
        let value = self.config.values().swap_remove(position);
        ConfigError::wrong(&C::SETTINGS[position], self.origins[position].clone(), value.as_ref(), expects)
    }

    /// The source of the value of the setting called `name`.
    ///
    /// # Panics
    /// If no setting is called `name`.
    pub(crate) fn origin(&self, name: &str) -> SettingOrigin {
        self.origins[Self::position(name)].clone()
    }

    fn position(name: &str) -> usize {
        C::SETTINGS.iter().position(|s| s.name == name).expect("the name is one of the declared settings")
    }
}

/// Declares a configuration: a struct, and with it the table of its settings.
///
/// Each field is `name: Type = "default"`, where the default is written as in a flag and an empty one means
/// "not set". The field's documentation is the setting's help.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub(crate) struct $config:ident {
            $( $(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) struct $config {
            $( $(#[doc = $doc])+ pub(crate) $name: $type, )+
        }

        impl $crate::config::resolved::Configuration for $config {
            const SETTINGS: &'static [$crate::config::setting::Setting] = &[
                $( $crate::config::setting::Setting {
                    name: stringify!($name),
                    doc: concat!($($doc, "\n"),+),
                    default: $default,
                    form: <$type as $crate::config::value::Value>::FORM,
                    expects: <$type as $crate::config::value::Value>::EXPECTS,
                    secret: <$type as $crate::config::value::Value>::SECRET,
                }, )+
            ];

            fn read(layers: &$crate::config::layers::Layers) -> Result<Self, $crate::config::error::ConfigError> {
                let mut settings = Self::SETTINGS.iter();
                let mut next = || settings.next().expect("each field is a setting");
                Ok(Self { $( $name: layers.read::<$type>(next())?, )+ })
            }

            fn values(&self) -> Vec<Option<toml::Value>> {
                vec![ $( $crate::config::value::Value::write(&self.$name), )+ ]
            }
        }
    };
}

pub(super) use settings;

#[cfg(test)]
#[path = "resolved_test.rs"]
mod resolved_test;
