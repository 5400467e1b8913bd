//! Tells operators of changes as they happen.

mod watched;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kafka_assigner_core::state::Touched;
use kafka_assigner_proto::v1::{WatchEvent, WatchRequest};
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_store::view::{Listener, Notice};
use tokio::sync::mpsc::{self, OwnedPermit, Sender};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::service::AdminService;
use super::show::unix_ms;
use crate::clock::WallClock;
use crate::group::ServedGroup;
use crate::instance::Instance;
use watched::WatchedEntries;

/// The stream of a group's changes.
pub type Events = ReceiverStream<Result<WatchEvent, Status>>;

/// The most events that a reader may be behind; some 3 MB.
const MOST_BEHIND: usize = 10_000;

/// The most watchers of one instance: each keeps what it was told, which is as large as the group.
const MOST_WATCHERS: usize = 64;

/// The time that a reader may take for one event: one that reads nothing keeps a place that others want.
const READER_PATIENCE: Duration = Duration::from_secs(30);

/// One place among the watchers; dropping it gives it back.
struct WatcherPermit(Arc<AtomicUsize>);

impl WatcherPermit {
    fn take(watchers: &Arc<AtomicUsize>) -> Result<Self, Status> {
        let place = Self(Arc::clone(watchers));
        if watchers.fetch_add(1, Ordering::Relaxed) >= MOST_WATCHERS {
            let message = format!("this instance has its {MOST_WATCHERS} watchers; use another one");
            return Err(status(Reason::LimitReached, message));
        }
        Ok(place)
    }
}

impl Drop for WatcherPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl AdminService {
    /// A group as it is, and then its changes until the reader goes. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call. The stream ends with an error when the reader is too slow, the group is
    /// deleted or the instance stops.
    pub async fn watch(&self, request: WatchRequest) -> Result<Events, Status> {
        let place = WatcherPermit::take(&self.watchers)?;
        let group = self.group(&request.group).await?;
        // One place more than the reader may be behind is kept for the word that it is too slow.
        let (sender, receiver) = mpsc::channel(MOST_BEHIND + 1);
        let last_word = sender.clone().try_reserve_owned().map_err(|_| shutting_down())?;
        let updates = group.view().subscribe();
        let clock = self.instance.options().wall.clone();
        let watcher = Watcher { group, sender, told: WatchedEntries::default(), clock };
        let instance = self.instance.clone();
        self.instance.tasks().spawn(watcher.run(instance, updates, last_word, place));
        Ok(ReceiverStream::new(receiver))
    }
}

struct Watcher {
    group: ServedGroup,
    sender: Sender<Result<WatchEvent, Status>>,
    told: WatchedEntries,
    clock: WallClock,
}

impl Watcher {
    async fn run(
        mut self,
        instance: Instance,
        updates: Listener<Touched>,
        last_word: OwnedPermit<Result<WatchEvent, Status>>,
        _place: WatcherPermit,
    ) {
        let gone = self.sender.clone();
        let why = tokio::select! {
            biased;
            // A stopping instance keeps nobody waiting.
            () = instance.leaving().cancelled() => shutting_down(),
            () = gone.closed() => return,
            why = self.tell(updates) => why,
        };
        drop(last_word.send(Err(why)));
    }

    /// Tells everything, then every change; returns why it ends.
    async fn tell(&mut self, mut updates: Listener<Touched>) -> Status {
        if let Err(gone) = self.tell_everything().await {
            return gone;
        }
        while let Some(notice) = updates.next().await {
            let told = match notice {
                Notice::Touched(touched) => self.tell_touched(&touched),
                Notice::Everything => self.tell_everything().await,
            };
            if let Err(why) = told {
                return why;
            }
        }
        let name = self.group.name();
        status(Reason::GroupNotFound, format!("group {name} is no longer served here: it was deleted"))
    }

    /// Tells all that differs from what was told, as fast as the reader takes it: that it is much is not its fault.
    async fn tell_everything(&mut self) -> Result<(), Status> {
        // On a copy: a large group takes long, and nobody who reads the view waits for a watcher.
        let state = self.group.snapshot();
        for event in self.told.everything(&state) {
            let sent = timeout(READER_PATIENCE, self.sender.send(Ok(self.stamped(event)))).await;
            sent.map_err(|_| stuck())?.map_err(|_| too_slow())?;
        }
        Ok(())
    }

    fn tell_touched(&mut self, touched: &Touched) -> Result<(), Status> {
        let events = self.group.read(|state| self.told.touched(state, touched));
        events
            .into_iter()
            .try_for_each(|event| self.sender.try_send(Ok(self.stamped(event))).map_err(|_| too_slow()))
    }

    fn stamped(&self, event: WatchEvent) -> WatchEvent {
        WatchEvent { at_unix_ms: unix_ms(self.clock.now()), ..event }
    }
}

fn stuck() -> Status {
    let message = format!("the reader took nothing for {READER_PATIENCE:?}; watch again");
    status(Reason::ReaderTooSlow, message)
}

fn too_slow() -> Status {
    let message = format!("the reader is more than {MOST_BEHIND} events behind; watch again");
    status(Reason::ReaderTooSlow, message)
}

fn shutting_down() -> Status {
    status(Reason::ShuttingDown, "this instance is stopping; use another one")
}
