//! The stream of commands as the session sees it.

use std::time::Duration;

use kafka_assigner_proto::v1::Snapshot;

use crate::moment::Moment;

/// An instance that does not send the whole first snapshot for this long is given up. Its worst case is a slow store: it
/// reads the registration, grants a lease, writes, and waits for its view, each for up to 5 s by default. To give up earlier
/// would open one session after the other at a store that is only slow. A dead instance is found sooner, by the bounds
/// on connecting (2 s) and on silence of the connection (10 s); heartbeats go on meanwhile.
pub(crate) const FIRST_COMMAND_BOUND: Duration = Duration::from_secs(20);
/// How long a stream may lag behind what a heartbeat said before it counts as deaf.
pub(crate) const DEAF_BOUND: Duration = Duration::from_secs(3);

/// One attempt at a stream.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) number: u64,
    pub(crate) sent: Moment,
    pub(crate) endpoint: String,
    /// No command may be from before this revision.
    floor: u64,
    opened: bool,
    /// The parts of a snapshot of which more are to come.
    parts: Snapshot,
    /// A revision that must have come by then.
    expected: Option<(u64, Moment)>,
}

impl Attempt {
    pub(crate) fn new(number: u64, sent: Moment, endpoint: String, floor: u64) -> Self {
        Self { number, sent, endpoint, floor, opened: false, parts: Snapshot::default(), expected: None }
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
    pub(crate) fn add(&mut self, mut part: Snapshot) -> Option<Snapshot> {
        let whole = &mut self.parts;
        whole.assigned.append(&mut part.assigned);
        whole.warming.append(&mut part.warming);
        whole.releasing.append(&mut part.releasing);
        whole.undecided.append(&mut part.undecided);
        (!part.more).then(|| std::mem::take(whole))
    }

    /// A heartbeat said that this revision concerned the member.
    pub(crate) fn expect(&mut self, now: Moment, revision: u64) {
        if self.opened && revision > self.floor && self.expected.is_none() {
            self.expected = Some((revision, now + DEAF_BOUND));
        }
    }

    /// When it has failed unless something comes; `None` = it may stay silent.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        if self.opened { self.expected.map(|(_, by)| by) } else { Some(self.sent + FIRST_COMMAND_BOUND) }
    }
}
