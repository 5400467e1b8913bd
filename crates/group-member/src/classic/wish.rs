//! The wish to join again.

/// The wish to join again: state, not an event. A plan fulfils it only where its join was sent after the wish came up, and
/// nothing else does.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RejoinWish {
    asked: u64,
    fulfilled: u64,
}

impl RejoinWish {
    pub(super) const fn ask(&mut self) {
        self.asked += 1;
    }

    /// The wishes that a join which is sent now covers.
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
