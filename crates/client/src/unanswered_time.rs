//! The time in which nobody answers, told at growing intervals.

use std::time::Duration;

use kafka_assigner_types::moment::Moment;

/// The silence after which it is told first: long against one instance that restarts, short against the patience of whoever
/// has just mistyped an address.
const FIRST_WORD: Duration = Duration::from_secs(5);

/// The longest time between two words.
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);

/// The silence of all instances, or of all brokers.
#[derive(Debug)]
pub(crate) struct UnansweredTime {
    /// The last answer; at first the start.
    since: Moment,
    /// The silence at which the next word is due.
    next_word: Duration,
}

impl UnansweredTime {
    pub(crate) const fn since(start: Moment) -> Self {
        Self { since: start, next_word: FIRST_WORD }
    }

    /// There was an answer. The length of the silence before, if that was told.
    pub(crate) fn answered(&mut self, now: Moment) -> Option<Duration> {
        let (silence, told) = (now.since(self.since), self.next_word > FIRST_WORD);
        *self = Self::since(now);
        told.then_some(silence)
    }

    /// A call failed. The length of the silence, if it is to be told now.
    pub(crate) fn failed(&mut self, now: Moment) -> Option<Duration> {
        let silence = now.since(self.since);
        if silence < self.next_word {
            return None;
        }
        self.next_word = silence + silence.min(LONGEST_PAUSE);
        Some(silence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    #[test]
    fn silence_is_told_after_five_seconds_and_then_at_growing_intervals() {
        let mut silence = UnansweredTime::since(at(100));
        let told: Vec<_> = (100..=2_000).filter(|now| silence.failed(at(*now)).is_some()).collect();
        assert_eq!(told, [105, 110, 120, 140, 180, 260, 420, 720, 1_020, 1_320, 1_620, 1_920]);
        assert_eq!(silence.answered(at(2_000)), Some(Duration::from_secs(1_900)));
        assert_eq!(silence.failed(at(2_004)), None);
        assert_eq!(silence.answered(at(2_004)), None, "nobody was told of it");
        assert_eq!(silence.failed(at(2_009)), Some(Duration::from_secs(5)));
    }
}
