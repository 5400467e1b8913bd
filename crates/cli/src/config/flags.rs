//! The settings as flags of a command.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::resolved::Configuration;
use super::serve::ServeConfig;
use super::setting::Setting;
use super::value::Form;

/// The values given as flags, for the settings of `C`.
#[derive(Debug, Clone)]
pub(crate) struct Flags<C> {
    /// Each flag by its setting's name, with all its values.
    pub(crate) given: BTreeMap<String, Vec<String>>,
    settings: PhantomData<C>,
}

impl<C: Configuration> Args for Flags<C> {
    fn augment_args(command: Command) -> Command {
        command.args(C::SETTINGS.iter().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: Configuration> FromArgMatches for Flags<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = C::SETTINGS.iter().filter_map(|setting| given(matches, setting)).collect();
        Ok(Self { given, settings: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Settings of `serve` that another command has too.
pub(crate) trait SettingsPart {
    /// Their names.
    const NAMES: &'static [&'static str];
}

/// The settings by which a command opens the store; it needs no others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StorePart;

impl SettingsPart for StorePart {
    const NAMES: &'static [&'static str] = &[
        "data",
        "etcd",
        "etcd_user",
        "etcd_password",
        "etcd_password_file",
        "etcd_ca",
        "etcd_cert",
        "etcd_key",
        "prefix",
    ];
}

/// The settings by which a command reaches Kafka.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KafkaPart;

impl SettingsPart for KafkaPart {
    const NAMES: &'static [&'static str] = &[
        "kafka",
        "kafka_tls",
        "kafka_ca",
        "kafka_cert",
        "kafka_key",
        "kafka_sasl_mechanism",
        "kafka_user",
        "kafka_password",
        "kafka_password_file",
    ];
}

/// The values given as flags, for the settings of a part.
#[derive(Debug, Clone)]
pub(crate) struct PartFlags<P> {
    /// Each flag by its setting's name, with all its values.
    pub(crate) given: BTreeMap<String, Vec<String>>,
    part: PhantomData<P>,
}

/// Flags for the settings of the store.
pub(crate) type StoreFlags = PartFlags<StorePart>;

/// Flags for the settings of Kafka.
pub(crate) type KafkaFlags = PartFlags<KafkaPart>;

fn of_part<P: SettingsPart>() -> impl Iterator<Item = &'static Setting> {
    ServeConfig::SETTINGS.iter().filter(|setting| P::NAMES.contains(&setting.name))
}

impl<P: SettingsPart> Args for PartFlags<P> {
    fn augment_args(command: Command) -> Command {
        command.args(of_part::<P>().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<P: SettingsPart> FromArgMatches for PartFlags<P> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = of_part::<P>().filter_map(|setting| given(matches, setting)).collect();
        Ok(Self { given, part: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The values of a setting's flag, by the setting's name.
fn given(matches: &ArgMatches, setting: &Setting) -> Option<(String, Vec<String>)> {
    let texts = matches.get_many::<String>(setting.name)?;
    Some((setting.name.to_owned(), texts.cloned().collect()))
}

fn flag(setting: &'static Setting) -> Arg {
    let arg = Arg::new(setting.name).long(setting.flag()).help(help(setting)).help_heading("Settings");
    match setting.form {
        Form::One => arg.value_name("VALUE"),
        Form::Switch => {
            arg.value_name("BOOL").num_args(0..=1).require_equals(true).default_missing_value("true")
        }
        Form::List => arg.value_name("VALUE,…").action(ArgAction::Append),
    }
}

fn help(setting: &Setting) -> String {
    let mut text = setting.lines().collect::<Vec<_>>().join(" ");
    if !setting.default.is_empty() {
        text.push_str(&format!(" [default: {}]", setting.default));
    }
    text
}
