//! Patterns of names: a name, or a prefix and `*`, as in Kafka's ACLs.

use serde::Deserialize;

/// The place in a pattern of members that stands for the caller's own name.
const CALLER: &str = "{caller}";

/// A name, or a prefix followed by `*`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Pattern {
    /// This name.
    Literal(String),
    /// All names that begin with it; empty: all names.
    Prefix(String),
}

/// A text that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pattern {0:?} is refused: it is a name, or the beginning of names and one \"*\" at its end")]
pub(crate) struct InvalidPattern(String);

impl TryFrom<String> for Pattern {
    type Error = InvalidPattern;

    fn try_from(text: String) -> Result<Self, InvalidPattern> {
        let (beginning, is_prefix) =
            text.strip_suffix('*').map_or((text.as_str(), false), |beginning| (beginning, true));
        match (beginning.contains('*'), beginning.is_empty(), is_prefix) {
            (false, _, true) => Ok(Self::Prefix(beginning.to_owned())),
            (false, false, false) => Ok(Self::Literal(text)),
            _ => Err(InvalidPattern(text.chars().take(80).collect())),
        }
    }
}

impl Pattern {
    /// True if `name` is one of its names.
    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Literal(literal) => literal == name,
            Self::Prefix(prefix) => name.starts_with(prefix.as_str()),
        }
    }

    /// The same with the name of `caller` in the place of `{caller}`. A URI has letters that no member's name may have;
    /// each of them becomes `-`.
    pub(crate) fn of_caller(&self, caller: &str) -> Self {
        let own = |text: &str| text.replace(CALLER, &as_member(caller));
        match self {
            Self::Literal(literal) => Self::Literal(own(literal)),
            Self::Prefix(prefix) => Self::Prefix(own(prefix)),
        }
    }
}

fn as_member(caller: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    caller.chars().map(|c| if allowed(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn a_pattern_is_a_name_or_a_prefix() {
        assert!(pattern("orders").matches("orders"));
        assert!(!pattern("orders").matches("orders-1"));
        assert!(pattern("orders-*").matches("orders-1"));
        assert!(!pattern("orders-*").matches("orders"));
        assert!(pattern("*").matches("anything"));
    }

    #[test]
    fn stars_within_and_empty_patterns_are_refused() {
        for text in ["", "a*b", "**", "*a"] {
            assert!(Pattern::try_from(text.to_owned()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_caller_has_its_own_name_in_the_names_of_its_members() {
        assert!(pattern("{caller}-*").of_caller("payments").matches("payments-7"));
        assert!(!pattern("{caller}-*").of_caller("payments").matches("billing-7"));
        assert!(pattern("{caller}").of_caller("spiffe://prod/a").matches("spiffe---prod-a"));
    }
}
