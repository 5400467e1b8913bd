//! The stream of commands as the session sees it.

use std::time::Duration;

use super::dialect::Dialect;
use kafka_assigner_types::moment::Moment;

/// An instance that does not send the whole first snapshot for this long is given up. Its worst case is a slow store: it
/// reads the registration, grants a lease, writes, and waits for its view, each for up to 5 s by default. To give up earlier
/// would open one session after the other at a store that is only slow. A dead instance is found sooner, by the bounds
/// on connecting (2 s) and on silence of the connection (10 s); heartbeats go on meanwhile.
pub(crate) const FIRST_COMMAND_BOUND: Duration = Duration::from_secs(20);
/// The time within which an abandoned first Register may still arrive somewhere: an instance drops a cancelled call, so
/// this covers the network and one store transaction with its bound.
pub const GHOST_BOUND: Duration = Duration::from_secs(15);
/// The longest time that a stream may lag behind a heartbeat before it counts as deaf.
pub(crate) const DEAF_BOUND: Duration = Duration::from_secs(3);

/// One attempt at a stream.
#[derive(Debug)]
pub(crate) struct Attempt<D: Dialect> {
    pub(crate) number: u64,
    pub(crate) sent: Moment,
    pub(crate) endpoint: String,
    /// No command may be from before this revision.
    floor: u64,
    opened: bool,
    /// The parts of a snapshot of which more are to come.
    parts: D::Snapshot,
    /// A revision that must have come by then.
    expected: Option<(u64, Moment)>,
}

impl<D: Dialect> Attempt<D> {
    pub(crate) fn new(number: u64, sent: Moment, endpoint: String, floor: u64) -> Self {
        Self { number, sent, endpoint, floor, opened: false, parts: D::Snapshot::default(), expected: None }
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.opened
    }

    /// Takes a command's revision in; false = it is from before what is known, so the instance lags.
    pub(crate) fn advance(&mut self, revision: u64) -> bool {
        if revision < self.floor {
            return false;
        }
        self.floor = revision;
        self.expected = self.expected.filter(|(expected, _)| *expected > revision);
        true
    }

    pub(crate) const fn open(&mut self) {
        self.opened = true;
    }

    /// Takes a part of a snapshot in; returns the whole with its last part.
    pub(crate) fn add(&mut self, part: D::Snapshot, more: bool) -> Option<D::Snapshot> {
        D::append(&mut self.parts, part);
        (!more).then(|| std::mem::take(&mut self.parts))
    }

    /// A heartbeat said that this revision concerned the member.
    pub(crate) fn expect(&mut self, now: Moment, revision: u64) {
        if self.opened && revision > self.floor && self.expected.is_none() {
            self.expected = Some((revision, now + DEAF_BOUND));
        }
    }

    /// The time at which it has failed unless something comes; `None` = it may stay silent.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        if self.opened { self.expected.map(|(_, by)| by) } else { Some(self.sent + FIRST_COMMAND_BOUND) }
    }
}
