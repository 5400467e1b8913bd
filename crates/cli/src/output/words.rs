//! Values in words.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time from 1970 to the year 9999, to whose end moments can be written.
const YEAR_9999: Duration = Duration::from_secs(253_370_764_800);

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

/// The time of day of a moment, in UTC as in the log, such as `03:12:07Z`; as many dashes where the moment is unknown.
pub(crate) fn time_of_day(unix_ms: Option<i64>) -> String {
    let then = unix_ms
        .and_then(|ms| u64::try_from(ms).ok())
        .and_then(|ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms)))
        .filter(|then| *then < UNIX_EPOCH + YEAR_9999);
    match then {
        // `2026-09-22T03:12:07Z` without its day.
        Some(then) => humantime::format_rfc3339_seconds(then).to_string().split_off(11),
        None => "-".repeat(9),
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
    fn a_moment_is_told_by_its_time_of_day() {
        assert_eq!(time_of_day(Some(1_790_046_727_999)), "03:12:07Z");
        assert_eq!([None, Some(-1), Some(i64::MAX)].map(time_of_day), ["---------"; 3]);
    }

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
