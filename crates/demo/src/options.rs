//! The options of a run.

use std::path::PathBuf;
use std::time::Duration;

use kafka_assigner_types::mode::Mode;

/// The options of the demonstration.
#[derive(Debug, Clone)]
pub struct Options {
    /// The duration of the run; `None` = it repeats the scenario until it is interrupted.
    pub duration: Option<Duration>,
    /// Partitions of the topic, 1 to 1 000. Default 24.
    pub partitions: u32,
    /// Records per second in each partition, 1 to 200. Default 50.
    pub rate: u32,
    /// The group's mode. Default [`Mode::Overlap`].
    pub mode: Mode,
    /// Brokers of a real cluster; `None`: an embedded one.
    pub brokers: Option<String>,
    /// Lines to produce in place of made-up records.
    pub input: Option<PathBuf>,
    /// Repeats the choices of another run; `None`: at random.
    pub seed: Option<u64>,
    /// Standard output has one JSON object as its only, last line.
    pub json: bool,
}

impl Default for Options {
    fn default() -> Self {
        let mode = Mode::default();
        Self {
            duration: None,
            partitions: 24,
            rate: 50,
            mode,
            brokers: None,
            input: None,
            seed: None,
            json: false,
        }
    }
}

/// An option outside what it may be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOption {
    /// Too short for the scenario.
    #[error("--for {}s is refused: the scenario takes at least 30s", .0.as_secs())]
    TooShort(Duration),
    /// A number out of its range.
    #[error("--{option} {value} is refused: it must be 1 to {most}")]
    OutOfRange {
        /// The option.
        option: &'static str,
        /// The value that was given.
        value: u32,
        /// The most that is allowed.
        most: u32,
    },
}

impl Options {
    /// The time to live of its leaders.
    pub const LEADER_TTL: Duration = Duration::from_secs(3);
    const SHORTEST: Duration = Duration::from_secs(30);

    /// The session timeout of the demonstration's consumers. In `overlap` a dead process is taken over 4 s after its death, and
    /// the timeout is far above that, so that both are seen side by side; the stricter modes wait for most of the timeout.
    #[must_use]
    pub const fn session_timeout(mode: Mode) -> Duration {
        match mode {
            Mode::Overlap => Duration::from_secs(10),
            Mode::Exclusive | Mode::Routed => Duration::from_secs(4),
        }
    }

    /// Checks every option.
    ///
    /// # Errors
    /// [`InvalidOption`] for the first one that is outside.
    pub fn validate(&self) -> Result<(), InvalidOption> {
        if let Some(duration) = self.duration.filter(|duration| *duration < Self::SHORTEST) {
            return Err(InvalidOption::TooShort(duration));
        }
        within("partitions", self.partitions, 1_000)?;
        within("rate", self.rate, 200)
    }

    /// The time between two records of one partition.
    #[must_use]
    pub fn record_interval(&self) -> Duration {
        Duration::from_secs(1) / self.rate
    }

    /// The time for which records are produced; `None` = until the run is interrupted.
    #[must_use]
    pub fn production(&self) -> Option<Duration> {
        self.duration.map(|duration| duration.mul_f64(0.85))
    }
}

const fn within(option: &'static str, value: u32, most: u32) -> Result<(), InvalidOption> {
    if value >= 1 && value <= most { Ok(()) } else { Err(InvalidOption::OutOfRange { option, value, most }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_named_with_what_is_allowed() {
        let short = Options { duration: Some(Duration::from_secs(29)), ..Options::default() };
        assert_eq!(
            short.validate().unwrap_err().to_string(),
            "--for 29s is refused: the scenario takes at least 30s"
        );
        let many = Options { rate: 201, ..Options::default() };
        assert_eq!(many.validate().unwrap_err().to_string(), "--rate 201 is refused: it must be 1 to 200");
        assert_eq!(Options::default().validate(), Ok(()));
    }
}
