//! Values in words.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time since a moment in its largest unit, such as `5m`; a dash where the moment is unknown.
pub(crate) fn age(unix_ms: Option<i64>) -> String {
    age_at(unix_ms, SystemTime::now())
}

/// Clocks differ between machines: what seems to lie ahead was just now.
fn age_at(unix_ms: Option<i64>, now: SystemTime) -> String {
    let Some(ms) = unix_ms.and_then(|ms| u64::try_from(ms).ok()) else { return "-".to_owned() };
    let then = UNIX_EPOCH.checked_add(Duration::from_millis(ms));
    let seconds = then.and_then(|then| now.duration_since(then).ok()).unwrap_or_default().as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
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
    fn an_age_is_told_in_its_largest_unit() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let told = |seconds: i64| age_at(Some(1_000 * (1_000_000 - seconds)), now);
        assert_eq!([0, 59, 60, 7_199, 86_399, 200_000].map(told), ["0s", "59s", "1m", "1h", "23h", "2d"]);
        assert_eq!(
            (told(-5), age_at(None, now), age_at(Some(-1), now)),
            ("0s".into(), "-".into(), "-".into())
        );
    }
}
