//! The CPU time of a process.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};
use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

/// User and system time of this process so far.
pub(super) fn of_this_process() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}

/// The same of another process, in ticks of the system, which are 10 ms as a rule.
pub(super) fn of(process: u32) -> Result<Duration> {
    let file = format!("/proc/{process}/stat");
    let text = fs::read_to_string(&file).with_context(|| format!("failed to read {file}"))?;
    let ticks = ticks(&text).with_context(|| format!("{file} tells no times"))?;
    Ok(Duration::from_secs_f64(ticks as f64 / clock_ticks_per_second() as f64))
}

/// The 14th and the 15th word. The second is the name in parentheses, which may have blanks.
fn ticks(stat: &str) -> Option<u64> {
    let mut words = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || words.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

/// The part of a core that `used` is of `span`, in per cent.
pub(super) fn per_cent(used: Duration, span: Duration) -> f64 {
    100.0 * used.as_secs_f64() / span.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_found_behind_any_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 1 2 3 4 250 31 5 6 20 0 3 0 99";
        assert_eq!(ticks(stat), Some(281));
        assert_eq!(ticks("nothing"), None);
    }

    #[test]
    fn a_process_that_works_uses_time() {
        let before = of_this_process();
        while of_this_process() == before {
            std::hint::spin_loop();
        }
        assert!(of(std::process::id()).is_ok());
    }
}
