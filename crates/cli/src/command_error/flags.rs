//! An instance's refusal of a value, in the words that were typed.
//!
//! On the wire `session_timeout_ms = 1000 is refused: it must be 2000 to 1800000` names the field; the operator typed
//! `--session-timeout 1s`.

use std::time::Duration;

use crate::suggestion::did_you_mean;

const REFUSED: &str = " is refused: it must be ";

/// The refusal with flags in place of fields and spans in place of milliseconds, and with the word that was meant
/// where a list of words is allowed; `None` where it is about something else.
pub(super) fn in_flags(message: &str) -> Option<String> {
    let (set, allowed) = message.split_once(REFUSED)?;
    let (field, value) = set.split_once(" = ")?;
    if !field.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
        return None;
    }
    match field.strip_suffix("_ms") {
        Some(span) => Some(format!("{} {}{REFUSED}{}", flag(span), time(value)?, times(allowed)?)),
        None => Some(format!("{} {value}{REFUSED}{allowed}{}", flag(field), meant(value, allowed))),
    }
}

fn flag(field: &str) -> String {
    format!("--{}", field.replace('_', "-"))
}

fn time(ms: &str) -> Option<String> {
    let span = Duration::from_millis(ms.parse().ok()?);
    Some(humantime::format_duration(span).to_string())
}

/// `2000 to 1800000`, or what another setting allows.
fn times(range: &str) -> Option<String> {
    if let Some(most) = range.strip_prefix("at most max_session_timeout_ms, ") {
        return Some(format!("at most {}, {}", flag("max_session_timeout"), time(most)?));
    }
    let (low, high) = range.split_once(" to ")?;
    Some(format!("{} to {}", time(low)?, time(high)?))
}

/// The one of `one of a, b, c` that is most like the value.
fn meant(value: &str, allowed: &str) -> String {
    let words = allowed.strip_prefix("one of ").unwrap_or_default();
    did_you_mean(value.trim_matches('"'), words.split(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_told_as_the_flags_that_were_typed() {
        let told = |message| in_flags(message).unwrap();
        assert_eq!(
            told("session_timeout_ms = 1000 is refused: it must be 2000 to 1800000"),
            "--session-timeout 1s is refused: it must be 2s to 30m"
        );
        assert_eq!(
            told("session_timeout_ms = 600000 is refused: it must be at most max_session_timeout_ms, 300000"),
            "--session-timeout 10m is refused: it must be at most --max-session-timeout, 5m"
        );
        assert_eq!(
            told("max_warming = 0 is refused: it must be 1 to 4294967295"),
            "--max-warming 0 is refused: it must be 1 to 4294967295"
        );
        assert_eq!(
            told("mode = \"exclusiv\" is refused: it must be one of overlap, exclusive, routed"),
            "--mode \"exclusiv\" is refused: it must be one of overlap, exclusive, routed; did you mean \"exclusive\"?"
        );
        assert_eq!(in_flags("group \"a\" does not exist"), None);
    }
}
