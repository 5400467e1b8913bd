//! Values of the wire as reports show them.

use crate::output::span;

/// The wire's empty text stands for none.
pub(super) fn some(text: String) -> Option<String> {
    if text.is_empty() { None } else { Some(text) }
}

/// The wire's moment zero stands for unknown.
pub(super) const fn known(unix_ms: i64) -> Option<i64> {
    if unix_ms == 0 { None } else { Some(unix_ms) }
}

/// The gap that a move left, in words.
pub(super) fn gap(ms: u64) -> String {
    if ms == 0 { "no gap".to_owned() } else { format!("a gap of {}", span(ms)) }
}
