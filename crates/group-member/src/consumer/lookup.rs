//! The names of topics that are known by their ids.

use kafka_assigner_types::moment::Moment;

use crate::RetryWait;

/// The question for names: one at a time, and again after a wait where a name has not come yet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NameLookup {
    is_asked: bool,
    not_before: Moment,
    wait: RetryWait,
}

impl NameLookup {
    /// True where the question is to be asked now; then it counts as asked.
    pub(super) fn ask(&mut self, now: Moment) -> bool {
        let asks = !self.is_asked && self.not_before <= now;
        self.is_asked |= asks;
        asks
    }

    /// An answer has come, whatever it says.
    pub(super) fn answered(&mut self, now: Moment) {
        self.is_asked = false;
        self.not_before = now + self.wait.failed();
    }

    /// All names are known.
    pub(super) const fn succeeded(&mut self) {
        self.wait.succeeded();
    }

    pub(super) fn next_step(&self) -> Option<Moment> {
        (!self.is_asked).then_some(self.not_before)
    }
}
