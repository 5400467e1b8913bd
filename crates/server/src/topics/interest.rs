//! The topics that leaders want, and the last word on each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use kafka_assigner_core::topics::{Found, TopicLook};
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::TopicName;
use tokio::sync::{Notify, watch};

/// The names that the leaders of this instance want, and the last certain word on each; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct TopicBoard(Arc<BoardState>);

#[derive(Debug)]
struct BoardState {
    notes: Mutex<TopicNotes>,
    /// Somebody wants a name that was never asked for.
    unasked: Notify,
    /// Somebody wants a look that comes sooner.
    hasty: Notify,
    /// Counts the looks.
    looks: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct TopicNotes {
    /// By the number of the interest.
    wants: BTreeMap<u64, BTreeSet<TopicName>>,
    interests: u64,
    /// Names that were asked for, also where nothing was said of them.
    asked: BTreeSet<TopicName>,
    known: BTreeMap<TopicName, KnownTopic>,
    /// The moment from which on a look at all of them is wanted; `None`: when it is due.
    look_from: Option<Moment>,
}

/// The last certain word on a topic.
#[derive(Debug, Clone, Copy)]
struct KnownTopic {
    look: Option<TopicLook>,
    at: Moment,
}

impl TopicBoard {
    pub(crate) fn new() -> Self {
        let (unasked, hasty, looks) = (Notify::new(), Notify::new(), watch::Sender::new(0));
        Self(Arc::new(BoardState { notes: Mutex::default(), unasked, hasty, looks }))
    }

    fn notes(&self) -> MutexGuard<'_, TopicNotes> {
        self.0.notes.lock().expect("nothing panics while it is held")
    }

    /// An interest in no topic yet. It ends when it is dropped.
    pub(crate) fn interest(&self) -> TopicInterest {
        let mut notes = self.notes();
        notes.interests += 1;
        let (board, number) = (self.clone(), notes.interests);
        TopicInterest { board, number, looks: self.0.looks.subscribe(), seen: BTreeMap::new() }
    }

    /// All names that are wanted; what is known of others is forgotten.
    pub(super) fn wanted(&self) -> BTreeSet<TopicName> {
        let mut notes = self.notes();
        let wanted: BTreeSet<_> = notes.wants.values().flatten().cloned().collect();
        notes.asked.retain(|name| wanted.contains(name));
        notes.known.retain(|name, _| wanted.contains(name));
        wanted
    }

    /// The names that are wanted and were never asked for.
    pub(super) fn unasked(&self) -> BTreeSet<TopicName> {
        let notes = self.notes();
        notes.wants.values().flatten().filter(|name| !notes.asked.contains(*name)).cloned().collect()
    }

    /// Waits until somebody wants a name that was never asked for. Cancel safe.
    pub(super) async fn until_unasked(&self) -> BTreeSet<TopicName> {
        loop {
            let unasked = self.unasked();
            if !unasked.is_empty() {
                return unasked;
            }
            self.0.unasked.notified().await;
        }
    }

    /// Waits until somebody wants a look that comes sooner; returns the moment from which on. Cancel safe.
    pub(super) async fn until_hasty(&self) -> Moment {
        loop {
            let look_from = self.notes().look_from.take();
            if let Some(from) = look_from {
                return from;
            }
            self.0.hasty.notified().await;
        }
    }

    /// `names` are being asked for.
    pub(super) fn ask(&self, names: &BTreeSet<TopicName>) {
        self.notes().asked.extend(names.iter().cloned());
    }

    /// Takes in what was said at `at`, and tells everybody.
    pub(super) fn take_in(&self, found: Found, at: Moment) {
        let known = found.into_iter().map(|(name, look)| (name, KnownTopic { look, at }));
        self.notes().known.extend(known);
        self.0.looks.send_modify(|looks| *looks += 1);
    }
}

/// The topics that one leader wants.
#[derive(Debug)]
pub(crate) struct TopicInterest {
    board: TopicBoard,
    number: u64,
    looks: watch::Receiver<u64>,
    /// The moment of the last word on each topic that this leader was told.
    seen: BTreeMap<TopicName, Moment>,
}

impl TopicInterest {
    /// Wants `names` from now on, and no others. Those that nobody wanted before are asked for at once.
    pub(crate) fn want(&mut self, names: BTreeSet<TopicName>) {
        self.seen.retain(|name, _| names.contains(name));
        self.board.notes().wants.insert(self.number, names);
        self.board.0.unasked.notify_one();
    }

    /// Wants a look at all topics as soon as it is `from`, or the regular one where that comes before: one of its topics is in
    /// doubt. Of several moments the earliest holds; who is still in doubt then asks again.
    pub(crate) fn look_from(&self, from: Moment) {
        let mut notes = self.board.notes();
        notes.look_from = Some(notes.look_from.map_or(from, |before| before.min(from)));
        self.board.0.hasty.notify_one();
    }

    /// Waits for words on the topics that are wanted, by the moment of each. Cancel safe.
    pub(crate) async fn news(&mut self) -> BTreeMap<Moment, Found> {
        loop {
            self.looks.borrow_and_update();
            let news = self.unseen();
            if !news.is_empty() {
                return news;
            }
            // The board of this interest has the sender.
            let _never_closed = self.looks.changed().await;
        }
    }

    fn unseen(&mut self) -> BTreeMap<Moment, Found> {
        let (board, mut news) = (self.board.clone(), BTreeMap::<Moment, Found>::new());
        let notes = board.notes();
        for name in notes.wants.get(&self.number).into_iter().flatten() {
            let Some(KnownTopic { look, at }) = notes.known.get(name).copied() else { continue };
            if self.seen.insert(name.clone(), at) != Some(at) {
                news.entry(at).or_default().insert(name.clone(), look);
            }
        }
        news
    }
}

impl Drop for TopicInterest {
    fn drop(&mut self) {
        self.board.notes().wants.remove(&self.number);
    }
}

#[cfg(test)]
#[path = "interest_test.rs"]
mod interest_test;
