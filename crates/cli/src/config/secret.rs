//! Values that are never shown.

use std::fmt;

use super::value::Value;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_shows_no_secret() {
        assert_eq!(format!("{:?}", Secret("pw".to_owned())), "(hidden)");
    }
}
