//! Values that are never shown.

use std::collections::BTreeMap;
use std::fmt;

use super::value::{Form, Value};

/// The text that is shown in place of a secret.
pub(crate) const HIDDEN: &str = "(hidden)";

/// A password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// The password itself, for whoever sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl Value for Secret {
    const EXPECTS: &'static str = "a text";
    const SECRET: bool = true;

    fn read(value: &toml::Value) -> Option<Self> {
        value.as_str().map(|text| Self(text.to_owned()))
    }

    fn write(&self) -> Option<toml::Value> {
        Some(toml::Value::from(self.0.as_str()))
    }
}

/// Properties of librdkafka, handed on as they are; some are secrets.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Properties(BTreeMap<String, String>);

impl Properties {
    /// The properties with their values, by key, for whoever configures librdkafka.
    pub(crate) fn reveal(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// True if the value of a property of that key is a secret: passwords, client secrets, tokens and keys.
    pub(super) fn is_secret(key: &str) -> bool {
        const PARTS: [&str; 5] = ["password", "secret", "oauthbearer.config", "jaas", "key.pem"];
        PARTS.iter().any(|part| key.contains(part))
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(key, text): (&String, &String)| {
            let text = if Self::is_secret(key) { HIDDEN } else { text };
            (key.clone(), text.to_owned())
        };
        f.debug_map().entries(self.0.iter().map(shown)).finish()
    }
}

impl Value for Properties {
    const EXPECTS: &'static str = "a table of texts; in a flag or variable key=value,key=value";
    const FORM: Form = Form::Table;

    fn read(value: &toml::Value) -> Option<Self> {
        let pairs = value.as_table()?.iter().map(|(key, text)| Some((key.clone(), plain(text)?)));
        pairs.collect::<Option<_>>().map(Self)
    }

    fn write(&self) -> Option<toml::Value> {
        let table: toml::Table =
            self.0.iter().map(|(key, text)| (key.clone(), text.as_str().into())).collect();
        if table.is_empty() { None } else { Some(toml::Value::Table(table)) }
    }
}

/// Numbers and booleans may be written without quotes.
fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_shows_no_secret() {
        let table: toml::Table =
            toml::from_str("\"sasl.password\" = \"pw\"\n\"sasl.username\" = \"me\"").unwrap();
        let properties = Properties::read(&toml::Value::Table(table)).unwrap();
        let shown = format!("{properties:?} {:?}", Secret("pw".to_owned()));
        assert_eq!(shown, r#"{"sasl.password": "(hidden)", "sasl.username": "me"} (hidden)"#);
    }
}
