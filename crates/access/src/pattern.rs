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

/// A pattern of the names of consumers and routers, in which `{caller}` stands for the caller's own name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct MemberPattern(Pattern);

/// A text that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "pattern {0:?} is refused: it is a name, or the beginning of names and one \"*\" at its end; {{caller}} stands in \
     members only"
)]
pub(crate) struct InvalidPattern(String);

impl InvalidPattern {
    fn of(text: &str) -> Self {
        Self(text.chars().take(80).collect())
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, InvalidPattern> {
        match text.strip_suffix('*') {
            Some(beginning) if !beginning.contains('*') => Ok(Self::Prefix(beginning.to_owned())),
            None if !text.contains('*') && !text.is_empty() => Ok(Self::Literal(text.to_owned())),
            _ => Err(InvalidPattern::of(text)),
        }
    }

    /// True if `name` is one of its names.
    pub(crate) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Literal(literal) => literal == name,
            Self::Prefix(prefix) => name.starts_with(prefix.as_str()),
        }
    }
}

impl TryFrom<String> for Pattern {
    type Error = InvalidPattern;

    fn try_from(text: String) -> Result<Self, InvalidPattern> {
        if text.contains(CALLER) { Err(InvalidPattern::of(&text)) } else { Self::parse(&text) }
    }
}

impl TryFrom<String> for MemberPattern {
    type Error = InvalidPattern;

    fn try_from(text: String) -> Result<Self, InvalidPattern> {
        Pattern::parse(&text).map(Self)
    }
}

impl MemberPattern {
    /// All names.
    pub(crate) const fn all() -> Self {
        Self(Pattern::Prefix(String::new()))
    }

    /// True if the member `name` of `caller` is one of its names. A URI has letters that no member's name may have; each of
    /// them becomes `-`.
    pub(crate) fn matches(&self, caller: &str, name: &str) -> bool {
        let own = |text: &str| text.replace(CALLER, &as_member(caller));
        match &self.0 {
            Pattern::Literal(literal) => own(literal) == name,
            Pattern::Prefix(prefix) => name.starts_with(&own(prefix)),
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
    fn stars_within_empty_patterns_and_the_caller_where_it_means_nothing_are_refused() {
        for text in ["", "a*b", "**", "*a", "{caller}-*"] {
            assert!(Pattern::try_from(text.to_owned()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_caller_has_its_own_name_in_the_names_of_its_members() {
        let own = |text: &str| MemberPattern::try_from(text.to_owned()).unwrap();
        assert!(own("{caller}-*").matches("payments", "payments-7"));
        assert!(!own("{caller}-*").matches("payments", "billing-7"));
        assert!(own("{caller}").matches("spiffe://prod/a", "spiffe---prod-a"));
    }
}
