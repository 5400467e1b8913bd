//! Values in words.

use std::time::{Duration, UNIX_EPOCH};

/// The end of year 9999, where the notation ends, in milliseconds since 1970.
const LAST: u64 = 253_402_300_799_999;

/// A moment in UTC, to the second; a dash where it is unknown.
pub(crate) fn moment(unix_ms: Option<i64>) -> String {
    match unix_ms.and_then(|ms| u64::try_from(ms).ok()).filter(|ms| *ms <= LAST) {
        None => "-".to_owned(),
        Some(ms) => humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(ms)).to_string(),
    }
}

/// A time span in its largest units.
pub(crate) fn span(ms: u64) -> String {
    humantime::format_duration(Duration::from_millis(ms)).to_string()
}

/// The text, or a dash where it is missing.
pub(crate) fn or_dash(text: Option<&String>) -> &str {
    text.map_or("-", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_that_can_not_be_is_a_dash() {
        assert_eq!(moment(Some(1_700_000_000_123)), "2023-11-14T22:13:20Z");
        for none in [None, Some(-1), Some(i64::MAX)] {
            assert_eq!(moment(none), "-");
        }
        assert_eq!(moment(i64::try_from(LAST).ok()), "9999-12-31T23:59:59Z");
    }
}
