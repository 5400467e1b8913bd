//! Requests to join again.

/// The requests to join again (`rejoinNeeded` of Kafka's client): state, not an event. A plan fulfils one only where its join
/// was sent after it came up, and nothing else does.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RejoinRequests {
    asked: u64,
    fulfilled: u64,
}

impl RejoinRequests {
    pub(super) const fn ask(&mut self) {
        self.asked += 1;
    }

    /// The requests that a join which is sent now covers.
    pub(super) const fn so_far(self) -> u64 {
        self.asked
    }

    /// A plan has come whose join covers `covered`.
    pub(super) fn fulfil(&mut self, covered: u64) {
        self.fulfilled = self.fulfilled.max(covered);
    }

    pub(super) const fn is_open(self) -> bool {
        self.asked > self.fulfilled
    }
}
