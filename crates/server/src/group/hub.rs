//! The streams of a group's members on this instance: each is rung when a change touched its member, and only
//! then, so that an event costs what it concerns and not what is connected.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use kafka_assigner_core::kv::Revision;
use kafka_assigner_core::name::MemberName;
use kafka_assigner_core::state::Touched;
use kafka_assigner_store::view::{Listener, Notice};
use tokio::sync::Notify;

/// Who is connected here.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    lines: Mutex<BTreeMap<MemberName, Vec<Arc<Bell>>>>,
}

/// What a stream and the hub share.
#[derive(Debug, Default)]
struct Bell {
    rung: Notify,
    told: AtomicU64,
}

/// One stream's connection; dropping it disconnects.
#[derive(Debug)]
pub(crate) struct Line {
    hub: Arc<Hub>,
    name: MemberName,
    bell: Arc<Bell>,
}

impl Hub {
    /// Rings the streams that changes concern, until the view stops.
    pub(crate) async fn run(self: Arc<Self>, mut updates: Listener<Touched>) {
        while let Some(notice) = updates.next().await {
            match notice {
                Notice::Touched(touched) => touched.members.iter().for_each(|name| self.ring(name)),
                Notice::Everything => self.ring_all(),
            }
        }
    }

    pub(super) fn connect(hub: &Arc<Self>, name: &MemberName) -> Line {
        let bell = Arc::<Bell>::default();
        hub.lines().entry(name.clone()).or_default().push(Arc::clone(&bell));
        Line { hub: Arc::clone(hub), name: name.clone(), bell }
    }

    fn ring(&self, name: &MemberName) {
        self.lines().get(name).into_iter().flatten().for_each(|bell| bell.rung.notify_one());
    }

    /// Rings every stream, so that each looks at everything again.
    pub(crate) fn ring_all(&self) {
        self.lines().values().flatten().for_each(|bell| bell.rung.notify_one());
    }

    /// How many streams are connected.
    pub(crate) fn streams(&self) -> usize {
        self.lines().values().map(Vec::len).sum()
    }

    /// The revision of the last command that was computed for `name` here; zero where there was none.
    pub(crate) fn told(&self, name: &MemberName) -> Revision {
        let lines = self.lines();
        let told = lines.get(name).into_iter().flatten().map(|bell| bell.told.load(Ordering::Relaxed));
        Revision(told.max().unwrap_or_default())
    }

    fn lines(&self) -> MutexGuard<'_, BTreeMap<MemberName, Vec<Arc<Bell>>>> {
        self.lines.lock().expect("nothing panics while it holds the lines")
    }
}

impl Line {
    /// Waits until something may concern the member. Cancel safe: a ring is kept.
    pub(crate) async fn rung(&self) {
        self.bell.rung.notified().await;
    }

    /// Notes that a command of `revision` is on its way.
    pub(crate) fn note_told(&self, revision: Revision) {
        self.bell.told.store(revision.0, Ordering::Relaxed);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let mut lines = self.hub.lines();
        if let Some(bells) = lines.get_mut(&self.name) {
            bells.retain(|bell| !Arc::ptr_eq(bell, &self.bell));
            if bells.is_empty() {
                lines.remove(&self.name);
            }
        }
    }
}
