//! The written form of values: the same types in flags, variables and the file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use kafka_assigner_types::mode::Mode;

/// The written form of a setting in a flag and a variable, where everything is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One text.
    One,
    /// True or false; the flag alone means true.
    Switch,
    /// Texts separated by commas; the flag may be repeated.
    List,
}

impl Form {
    /// Turns what a flag (each time it was given) or a variable says into a value of the file.
    pub(super) fn parse(self, texts: &[String]) -> toml::Value {
        match self {
            Self::One | Self::Switch => toml::Value::String(texts.last().cloned().unwrap_or_default()),
            Self::List => {
                let joined = texts.join(",");
                let items = joined.split(',').map(str::trim).filter(|item| !item.is_empty());
                toml::Value::Array(items.map(toml::Value::from).collect())
            }
        }
    }
}

/// A type that a setting can have.
pub(crate) trait Value: Sized {
    /// The allowed values, as the end of "it must be …".
    const EXPECTS: &'static str;
    /// The written form where there is only text.
    const FORM: Form = Form::One;
    /// True if the value is never shown.
    const SECRET: bool = false;
    /// The words that may be written, where there are few; one of them may be suggested for a mistyped one.
    const WORDS: &'static [&'static str] = &[];

    /// The value, or `None` where it is not what [`Value::EXPECTS`] says.
    fn read(value: &toml::Value) -> Option<Self>;

    /// The value as the file has it; `None` = not set.
    fn write(&self) -> Option<toml::Value>;
}

/// Not set when it is empty.
impl<T: Value> Value for Option<T> {
    const EXPECTS: &'static str = T::EXPECTS;
    const FORM: Form = T::FORM;
    const SECRET: bool = T::SECRET;
    const WORDS: &'static [&'static str] = T::WORDS;

    fn read(value: &toml::Value) -> Option<Self> {
        if value.as_str() == Some("") { Some(None) } else { T::read(value).map(Some) }
    }

    fn write(&self) -> Option<toml::Value> {
        self.as_ref().and_then(T::write)
    }
}

/// Not set when it is empty.
impl<T: Value> Value for Vec<T> {
    const EXPECTS: &'static str = T::EXPECTS;
    const FORM: Form = Form::List;

    fn read(value: &toml::Value) -> Option<Self> {
        value.as_array()?.iter().map(T::read).collect()
    }

    fn write(&self) -> Option<toml::Value> {
        let items: Vec<_> = self.iter().filter_map(T::write).collect();
        if items.is_empty() { None } else { Some(toml::Value::Array(items)) }
    }
}

impl Value for bool {
    const EXPECTS: &'static str = "true or false";
    const WORDS: &'static [&'static str] = &["true", "false"];
    const FORM: Form = Form::Switch;

    fn read(value: &toml::Value) -> Option<Self> {
        value.as_bool().or_else(|| value.as_str()?.parse().ok())
    }

    fn write(&self) -> Option<toml::Value> {
        Some(toml::Value::Boolean(*self))
    }
}

impl Value for u32 {
    const EXPECTS: &'static str = "a whole number, at most 4294967295";

    fn read(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Integer(number) => Self::try_from(*number).ok(),
            other => other.as_str()?.parse().ok(),
        }
    }

    fn write(&self) -> Option<toml::Value> {
        Some(toml::Value::Integer((*self).into()))
    }
}

impl Value for Duration {
    const EXPECTS: &'static str = "a time span in whole milliseconds, such as 100ms, 30s or 5m";

    fn read(value: &toml::Value) -> Option<Self> {
        let span = humantime::parse_duration(value.as_str()?).ok()?;
        (span.subsec_nanos() % 1_000_000 == 0).then_some(span)
    }

    fn write(&self) -> Option<toml::Value> {
        Some(toml::Value::String(humantime::format_duration(*self).to_string()))
    }
}

impl Value for Mode {
    const EXPECTS: &'static str = "overlap, exclusive or routed";
    const WORDS: &'static [&'static str] = &["overlap", "exclusive", "routed"];

    fn read(value: &toml::Value) -> Option<Self> {
        value.as_str()?.parse().ok()
    }

    fn write(&self) -> Option<toml::Value> {
        Some(toml::Value::String(self.to_string()))
    }
}

impl Value for SocketAddr {
    const EXPECTS: &'static str = "an IP address and a port, such as 127.0.0.1:7420 or [::1]:7420";

    fn read(value: &toml::Value) -> Option<Self> {
        value.as_str()?.parse().ok()
    }

    fn write(&self) -> Option<toml::Value> {
        Some(toml::Value::String(self.to_string()))
    }
}

impl Value for PathBuf {
    const EXPECTS: &'static str = "the path of a file";

    fn read(value: &toml::Value) -> Option<Self> {
        value.as_str().filter(|path| !path.is_empty()).map(Self::from)
    }

    fn write(&self) -> Option<toml::Value> {
        Some(toml::Value::String(self.display().to_string()))
    }
}
