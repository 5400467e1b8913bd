//! The stream of commands as the session sees it.

use std::time::Duration;

use kafka_assigner_proto::v1::StreamState;
use kafka_assigner_types::digest::Digest;
use kafka_assigner_types::moment::Moment;

use super::dialect::Dialect;
use super::told::ToldItems;

/// An instance that does not send the whole first snapshot for this long is given up. Its worst case is a slow store: it
/// reads the registration, grants a lease, writes, and waits for its view, each for up to 5 s by default. To give up earlier
/// would open one session after the other at a store that is only slow. A dead instance is found sooner, by the bounds
/// on connecting (2 s) and on silence of the connection (10 s); heartbeats go on meanwhile.
pub(crate) const FIRST_COMMAND_BOUND: Duration = Duration::from_secs(20);
/// The time within which an abandoned first Register may still arrive somewhere: an instance drops a cancelled call, so
/// this covers the network and one store transaction with its bound.
pub const GHOST_BOUND: Duration = Duration::from_secs(15);
/// The longest time that a stream may lag behind a heartbeat before it counts as deaf. An instance tells a revision that
/// concerned the member within a second.
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
    told: ToldItems,
    /// The news that must have come by then.
    expected: Option<(Missing, Moment)>,
    doubt: Option<StoreDoubt>,
}

/// News that a stream has not told, as a heartbeat found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// All up to this revision.
    Revision(u64),
    /// A change of what has this digest: it should not be all that holds.
    Change(Digest),
}

/// The reason to doubt that the instance of a stream has its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreDoubt {
    /// It answered a heartbeat that it can't reach the store.
    Answered,
    /// It said on the stream that it is out of touch.
    Said,
}

/// The answer of an instance about what a stream must have told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ViewWord {
    /// The revision of the view that answered.
    pub(crate) revision: u64,
    /// The last change that concerned the member.
    pub(crate) concerned: u64,
    /// The digest of all that the member has to know, where it is known.
    pub(crate) digest: Option<Digest>,
}

impl<D: Dialect> Attempt<D> {
    pub(crate) fn new(number: u64, sent: Moment, endpoint: String, floor: u64) -> Self {
        let (parts, told) = (D::Snapshot::default(), ToldItems::default());
        Self { number, sent, endpoint, floor, opened: false, parts, told, expected: None, doubt: None }
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.opened
    }

    /// The stream as a heartbeat tells it.
    pub(crate) const fn state(&self) -> StreamState {
        if self.opened {
            StreamState { revision: self.floor, digest: Some(self.told.digest().0) }
        } else {
            StreamState { revision: 0, digest: None }
        }
    }

    /// Takes a command's revision in; false = it is from before what is known, so the instance lags. A newer one shows that
    /// the instance hears of its store.
    pub(crate) fn advance(&mut self, revision: u64) -> bool {
        if revision < self.floor {
            return false;
        }
        if revision > self.floor {
            self.doubt = None;
        }
        self.floor = revision;
        self.expected = self.expected.filter(|(missing, _)| self.misses(*missing));
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

    /// Notes what was told.
    pub(crate) fn note(&mut self, news: &D::News) {
        D::note(news, &mut self.told);
        self.expected = self.expected.filter(|(missing, _)| self.misses(*missing));
    }

    /// Takes in what an instance said to a heartbeat that told the state `sent` of this stream. Unless `trusts_digest`, a
    /// digest alone makes it miss nothing.
    pub(crate) fn judge(&mut self, now: Moment, sent: StreamState, word: ViewWord, trusts_digest: bool) {
        if !self.opened {
            return;
        }
        if word.digest == Some(self.told.digest()) {
            // Whatever there was in between, nothing that holds is missing.
            self.expected = None;
        } else if let Some(missing) = self.found(sent, word, trusts_digest) {
            self.expected.get_or_insert((missing, now + DEAF_BOUND));
        }
    }

    fn found(&self, sent: StreamState, word: ViewWord, trusts_digest: bool) -> Option<Missing> {
        if word.concerned > self.floor {
            return Some(Missing::Revision(word.concerned));
        }
        // Nothing changed for the member between the stream's revision and the view's.
        let is_comparable = word.concerned <= sent.revision && sent.revision <= word.revision;
        let is_unchanged = sent.digest == Some(self.told.digest().0);
        (trusts_digest && word.digest.is_some() && is_comparable && is_unchanged)
            .then(|| Missing::Change(self.told.digest()))
    }

    fn misses(&self, missing: Missing) -> bool {
        match missing {
            Missing::Revision(revision) => revision > self.floor,
            Missing::Change(digest) => digest == self.told.digest(),
        }
    }

    /// The news that it has not told in time; `None` = it may stay silent.
    pub(crate) fn deaf_at(&self, now: Moment) -> Option<Missing> {
        self.expected.filter(|(_, by)| self.opened && *by <= now).map(|(missing, _)| missing)
    }

    /// Doubts that its instance has its store; true where nobody did so far.
    pub(crate) fn doubt(&mut self, doubt: StoreDoubt) -> bool {
        self.opened && self.doubt.replace(doubt).is_none()
    }

    pub(crate) const fn is_doubted(&self) -> bool {
        self.doubt.is_some()
    }

    /// Its instance confirmed the session, so it reaches the store; whether it hears of it is another question.
    pub(crate) fn trust(&mut self) {
        self.doubt = self.doubt.filter(|doubt| *doubt == StoreDoubt::Said);
    }

    /// The time at which it has failed unless something comes; `None` = it may stay silent.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        if self.opened { self.expected.map(|(_, by)| by) } else { Some(self.sent + FIRST_COMMAND_BOUND) }
    }
}
