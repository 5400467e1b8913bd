//! The moments at which a trouble that lasts is told.

use std::time::Duration;

use kafka_assigner_types::moment::Moment;

/// The wait before the same trouble is told again; it doubles each time.
const FIRST_WAIT: Duration = Duration::from_secs(60);

/// The longest such wait: who opens a log of the last hours should find the trouble in it.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// A trouble that is told when it begins, when it changes, and then less and less often.
#[derive(Debug, Default)]
pub(crate) struct RepeatedWarning(Option<Told>);

#[derive(Debug)]
struct Told {
    trouble: String,
    again: Moment,
    wait: Duration,
}

impl RepeatedWarning {
    /// True if `trouble`, which is there at `now`, is to be told now.
    pub(crate) fn is_due(&mut self, trouble: &str, now: Moment) -> bool {
        let wait = match &self.0 {
            Some(told) if told.trouble == trouble && now < told.again => return false,
            Some(told) if told.trouble == trouble => (told.wait * 2).min(LONGEST_WAIT),
            _ => FIRST_WAIT,
        };
        self.0 = Some(Told { trouble: trouble.to_owned(), again: now + wait, wait });
        true
    }

    /// The trouble is over; true if it had been told.
    pub(crate) fn is_over(&mut self) -> bool {
        self.0.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(minutes: u64) -> Moment {
        Moment(Duration::from_secs(60 * minutes))
    }

    #[test]
    fn a_trouble_is_told_at_once_and_then_less_and_less_often() {
        let mut warning = RepeatedWarning::default();
        let told: Vec<u64> = (0..400).filter(|at| warning.is_due("x", minute(*at))).collect();
        assert_eq!(told, [0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363]);
    }

    #[test]
    fn another_trouble_is_told_at_once_and_so_is_one_that_comes_back() {
        let mut warning = RepeatedWarning::default();
        assert!(!warning.is_over(), "nothing was told");
        assert!(warning.is_due("x", minute(0)) && !warning.is_due("x", minute(0)));
        assert!(warning.is_due("y", minute(0)));
        assert!(warning.is_over() && !warning.is_over());
        assert!(warning.is_due("y", minute(0)));
    }
}
