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

/// The settings by which a command opens the store; it needs no others.
const STORE: [&str; 8] =
    ["data", "etcd", "etcd_user", "etcd_password", "etcd_ca", "etcd_cert", "etcd_key", "prefix"];

/// The values given as flags, for the settings of the store.
#[derive(Debug, Clone)]
pub(crate) struct StoreFlags {
    /// Each flag by its setting's name, with all its values.
    pub(crate) given: BTreeMap<String, Vec<String>>,
}

fn of_store() -> impl Iterator<Item = &'static Setting> {
    ServeConfig::SETTINGS.iter().filter(|setting| STORE.contains(&setting.name))
}

impl Args for StoreFlags {
    fn augment_args(command: Command) -> Command {
        command.args(of_store().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for StoreFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { given: of_store().filter_map(|setting| given(matches, setting)).collect() })
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
