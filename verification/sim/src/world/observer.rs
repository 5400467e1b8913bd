//! Somebody who sees every change of the store, and waits in it for the moment to strike.

use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use futures::StreamExt as _;
use kafka_assigner_core::key::{Key, Layout};
use kafka_assigner_core::record::{Handoff, Phase};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_store::{MemoryStore, Store as _, WatchBatch};
use kafka_assigner_types::kv::{Change, Revision, Snapshot};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::fault::{Moment, Strike};
use crate::history::{History, What};

/// Waits for one moment in any handoff.
#[derive(Debug, Clone)]
pub(crate) struct Trap {
    /// The moment.
    pub(crate) strike: Strike,
    sprung: mpsc::Sender<Caught>,
}

/// The moment has come.
#[derive(Debug, Clone)]
pub(crate) struct Caught {
    pub(crate) strike: Strike,
    pub(crate) handoff: Box<Handoff>,
}

impl Trap {
    pub(crate) const fn new(strike: Strike, sprung: mpsc::Sender<Caught>) -> Self {
        Self { strike, sprung }
    }
}

/// The observer; a clone is the same one.
#[derive(Debug, Clone)]
pub(crate) struct Observer {
    layout: Arc<Layout>,
    history: History,
    state: Arc<RwLock<GroupState>>,
    trap: Arc<Mutex<Option<Trap>>>,
    /// Cancelled once its store was put back.
    over: CancellationToken,
}

impl Observer {
    /// Watches `store` from its beginning for as long as the runtime lives.
    pub(crate) fn start(store: &MemoryStore, layout: &Arc<Layout>, history: &History) -> Self {
        let observer = Self {
            layout: Arc::clone(layout),
            history: history.clone(),
            state: Arc::new(RwLock::new(GroupState::new(Layout::clone(layout)))),
            trap: Arc::default(),
            over: CancellationToken::new(),
        };
        tokio::spawn(observer.clone().run(store.clone(), Revision(1)));
        observer
    }

    /// Watches `store` from `snapshot` on, to which it was put back.
    pub(crate) fn start_over(&self, store: &MemoryStore, snapshot: Snapshot) -> Self {
        self.over.cancel();
        let mut state = GroupState::new(Layout::clone(&self.layout));
        let _all = state.reset(&snapshot);
        let from = snapshot.revision.next();
        self.history.note(What::WentBack(snapshot));
        let over = CancellationToken::new();
        let observer = Self { state: Arc::new(RwLock::new(state)), over, ..self.clone() };
        tokio::spawn(observer.clone().run(store.clone(), from));
        observer
    }

    pub(crate) fn read<R>(&self, reader: impl FnOnce(&GroupState) -> R) -> R {
        reader(&self.state.read().expect("applying a change does not panic"))
    }

    /// Sets the trap, in place of the one that was set.
    pub(crate) fn arm(&self, trap: Option<Trap>) {
        *self.trap() = trap;
    }

    async fn run(self, store: MemoryStore, from: Revision) {
        let mut watch = store.watch(b"/", from).await.expect("nothing was compacted since");
        loop {
            let next = tokio::select! {
                biased;
                // The word of an old watch about a store that was put back is of no use.
                () = self.over.cancelled() => return,
                next = watch.next() => next,
            };
            let Some(batch) = next else { return };
            self.take_in(batch.expect("nobody compacts what the observer has not seen"));
        }
    }

    fn take_in(&self, batch: WatchBatch) {
        let mut changes = batch.changes.into_iter().peekable();
        while let Some(first) = changes.next() {
            let revision = first.revision();
            let mut together = vec![first];
            while let Some(next) = changes.next_if(|next| next.revision() == revision) {
                together.push(next);
            }
            self.see(revision, together);
        }
        let mut state = self.state.write().expect("applying a change does not panic");
        let _nothing = state.apply(&[], batch.revision);
    }

    fn see(&self, revision: Revision, changes: Vec<Change>) {
        {
            let mut state = self.state.write().expect("applying a change does not panic");
            let _touched = state.apply(&changes, revision);
            changes.iter().for_each(|change| self.spring(&state, change));
        }
        self.history.note(What::Changed { revision, changes });
    }

    fn spring(&self, state: &GroupState, change: &Change) {
        let Some(Key::Handoff(at)) = self.layout.decode(change.key()) else { return };
        let Some(handoff) = state.handoff(&at) else { return };
        let mut trap = self.trap();
        let fits = |trap: &mut Trap| moment(handoff) == Some(trap.strike.moment);
        if let Some(trap) = trap.take_if(fits) {
            let caught = Caught { strike: trap.strike, handoff: Box::new(handoff.clone()) };
            // Whoever set it may have gone on to the healing meanwhile.
            let _late = trap.sprung.try_send(caught);
        }
    }

    fn trap(&self) -> MutexGuard<'_, Option<Trap>> {
        self.trap.lock().expect("nothing panics while it holds the trap")
    }
}

/// The place where a handoff stands; `None` once it is called off.
fn moment(handoff: &Handoff) -> Option<Moment> {
    match handoff.phase {
        Phase::Warming => Some(Moment::Warming),
        Phase::Ready => Some(Moment::Ready),
        Phase::Complete if handoff.taken.is_none() => Some(Moment::Complete),
        Phase::Complete => Some(Moment::Taken),
        Phase::Freezing => Some(Moment::Freezing),
        Phase::Draining => Some(Moment::Draining),
        Phase::CatchingUp => Some(Moment::CatchingUp),
        Phase::Cancelled => None,
    }
}
