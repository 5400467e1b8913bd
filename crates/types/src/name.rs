//! Names that people choose, validated once at the edge and trusted from there on.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest name that Kafka allows for a topic; we hold every name to it.
pub const MAX_LENGTH: usize = 249;

/// A name that breaks the rule: 1 to 249 of letters, digits, `.`, `_` and `-`, and neither `.` nor `..`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {shown:?} is refused: {rule}")]
pub struct InvalidName {
    /// The kind of the name: `group name`, `topic name`, `member name` or `incarnation`.
    pub kind: &'static str,
    /// The offending value, cut after 80 characters.
    pub shown: String,
    /// The part of the rule that it breaks.
    pub rule: &'static str,
}

fn broken_rule(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it must not be empty")
    } else if name.len() > MAX_LENGTH {
        Some("it must have at most 249 characters")
    } else if name == "." || name == ".." {
        Some("it must not be \".\" or \"..\"")
    } else if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')) {
        Some("it may contain only letters, digits, \".\", \"_\" and \"-\"")
    } else {
        None
    }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $type:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(Arc<str>);

        impl $type {
            /// Checks a name against the rule.
            ///
            /// # Errors
            /// [`InvalidName`] with the part of the rule that `name` breaks.
            pub fn new(name: &str) -> Result<Self, InvalidName> {
                match broken_rule(name) {
                    None => Ok(Self(name.into())),
                    Some(rule) => {
                        Err(InvalidName { kind: $kind, shown: name.chars().take(80).collect(), rule })
                    }
                }
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The name as shared text, for whoever keeps it without a copy.
            #[must_use]
            pub fn shared(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }
        }

        impl FromStr for $type {
            type Err = InvalidName;

            fn from_str(name: &str) -> Result<Self, InvalidName> {
                Self::new(name)
            }
        }

        impl TryFrom<String> for $type {
            type Error = InvalidName;

            fn try_from(name: String) -> Result<Self, InvalidName> {
                Self::new(&name)
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.0.as_ref().to_owned()
            }
        }

        impl std::borrow::Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

name_type!(
    /// Names an independent assignment domain.
    GroupName,
    "group name"
);
name_type!(
    /// Names a Kafka topic.
    TopicName,
    "topic name"
);
name_type!(
    /// Names a consumer or a router within its group.
    MemberName,
    "member name"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_name_is_shown_with_the_rule_it_breaks() {
        for (name, part) in
            [("", "empty"), ("a/b", "letters"), ("..", "\"..\""), (&"x".repeat(250) as &str, "249")]
        {
            let error = TopicName::new(name).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert!(error.len() < 250, "{error}");
        }
    }

    #[test]
    fn names_as_kafka_allows_them_are_taken() {
        for name in ["a", "A.b_c-9", "...", &"x".repeat(249)] {
            assert_eq!(GroupName::new(name).unwrap().as_str(), name);
        }
    }
}
