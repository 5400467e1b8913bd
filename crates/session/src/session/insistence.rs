//! The insistence of a client whose stream ended: an instance may have seen its connection end, and takes it for dead unless
//! it is heard.

use std::time::Duration;

use kafka_assigner_types::moment::Moment;

/// The longest time between two heartbeats then. An instance waits for as long by default before it suspects a death, and
/// those who act on that wait for longer.
const AT_LEAST_EVERY: Duration = Duration::from_secs(1);

/// Half a second longer than an instance waits for its store, so that its answer still comes.
const LONGEST_WAIT: Duration = Duration::from_millis(1_500);

/// A stream must have lasted for so long: whoever saw the end of the one before may have seen it late, and the instance of
/// this one refutes it once its view shows that.
const STEADY_AFTER: Duration = Duration::from_secs(3);

/// The state of a session's stream, as far as others may take its client for dead.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Insistence {
    /// Nobody has a reason to.
    #[default]
    Off,
    /// There is no stream since one ended.
    WithoutStream,
    /// There is another one since this moment.
    WithStream(Moment),
}

impl Insistence {
    /// The stream ended, or an attempt at one, and its instance did not ask for that. True where that is news: a heartbeat
    /// is due at once.
    pub(super) fn stream_ended(&mut self) -> bool {
        std::mem::replace(self, Self::WithoutStream) != Self::WithoutStream
    }

    /// The stream was given up, whoever asked for that: it did not last.
    pub(super) const fn stream_replaced(&mut self) {
        if matches!(self, Self::WithStream(_)) {
            *self = Self::WithoutStream;
        }
    }

    /// The longest wait for an answer, where it is `usual` otherwise: an instance that does not answer must not keep the
    /// client from being heard by another one.
    pub(super) fn bound(self, usual: Duration) -> Duration {
        if self == Self::Off { usual } else { usual.min(LONGEST_WAIT) }
    }

    /// A stream has begun.
    pub(super) fn stream_began(&mut self, now: Moment) {
        if *self == Self::WithoutStream {
            *self = Self::WithStream(now);
        }
    }

    /// The session is over.
    pub(super) const fn end(&mut self) {
        *self = Self::Off;
    }

    /// The time from one heartbeat to the next, where it is `usual` otherwise.
    pub(super) fn interval(&mut self, now: Moment, usual: Duration) -> Duration {
        if matches!(*self, Self::WithStream(since) if now >= since + STEADY_AFTER) {
            *self = Self::Off;
        }
        if *self == Self::Off { usual } else { usual.min(AT_LEAST_EVERY) }
    }
}
