//! The streams of a group's members on this instance: each is rung when a change touched its member, and only
//! then, and learns which part of its view may differ; so an event costs what it concerns, and neither what is
//! connected nor what a member has.
//!
//! A change rings while it is applied, before anybody can read it, and what rings add up to waits at the bell until the
//! stream takes it. So a stream that takes it while it reads the group knows of every change that led there, and tells
//! the whole truth of that revision; and none is lost however many rings become one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use kafka_assigner_core::state::Scope;
use kafka_assigner_types::id::{Incarnation, Member};
use kafka_assigner_types::name::MemberName;
use tokio::sync::Notify;

/// The members that are connected here.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    lines: Mutex<BTreeMap<MemberName, Vec<Arc<Bell>>>>,
    streams: AtomicUsize,
    closed: AtomicBool,
}

/// The state that a stream and the hub share.
#[derive(Debug)]
struct Bell {
    incarnation: Incarnation,
    rung: Notify,
    /// The part that may differ since the stream last took it.
    scope: Mutex<Scope>,
    leaving: AtomicBool,
}

impl Bell {
    fn ring(&self, scope: Scope) {
        self.scope().merge(scope);
        self.rung.notify_one();
    }

    fn scope(&self) -> MutexGuard<'_, Scope> {
        self.scope.lock().expect("nothing panics while it holds the scope")
    }
}

/// One stream's connection; dropping it disconnects.
#[derive(Debug)]
pub(crate) struct StreamConnection {
    hub: Arc<Hub>,
    name: MemberName,
    bell: Arc<Bell>,
}

impl Hub {
    pub(super) fn connect(hub: &Arc<Self>, member: &Member) -> StreamConnection {
        let bell = Arc::new(Bell {
            incarnation: member.incarnation.clone(),
            rung: Notify::new(),
            scope: Mutex::new(Scope::Everything),
            leaving: AtomicBool::default(),
        });
        hub.lines().entry(member.name.clone()).or_default().push(Arc::clone(&bell));
        hub.streams.fetch_add(1, Ordering::Relaxed);
        StreamConnection { hub: Arc::clone(hub), name: member.name.clone(), bell }
    }

    /// Rings the streams of one member's name: `scope` of its view may differ.
    pub(super) fn ring(&self, name: &MemberName, scope: &Scope) {
        self.lines().get(name).into_iter().flatten().for_each(|bell| bell.ring(scope.clone()));
    }

    /// Rings every stream: `scope` of what it shows may differ.
    pub(super) fn ring_all(&self, scope: &Scope) {
        self.lines().values().flatten().for_each(|bell| bell.ring(scope.clone()));
    }

    /// Ends every stream: the view has stopped, so nobody would be rung any more.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.lines().values().flatten().for_each(|bell| bell.rung.notify_one());
    }

    /// The number of streams that are connected.
    pub(crate) fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }

    /// Notes that `member` asked for the end of its session, which its streams then call the regular one.
    pub(crate) fn note_leaving(&self, member: &Member) {
        self.for_each(member, |bell| bell.leaving.store(true, Ordering::Relaxed));
    }

    /// True if a stream of the session `member` is connected.
    pub(crate) fn is_connected(&self, member: &Member) -> bool {
        let lines = self.lines();
        let mut bells = lines.get(&member.name).into_iter().flatten();
        bells.any(|bell| bell.incarnation == member.incarnation)
    }

    fn for_each(&self, member: &Member, visit: impl FnMut(&Bell)) {
        let lines = self.lines();
        let bells = lines.get(&member.name).into_iter().flatten();
        bells.filter(|bell| bell.incarnation == member.incarnation).map(|bell| &**bell).for_each(visit);
    }

    fn lines(&self) -> MutexGuard<'_, BTreeMap<MemberName, Vec<Arc<Bell>>>> {
        self.lines.lock().expect("nothing panics while it holds the lines")
    }
}

impl StreamConnection {
    /// Waits until something may concern the member; false once nobody rings any more. Cancel safe: a ring is kept.
    pub(crate) async fn rung(&self) -> bool {
        if !self.is_closed() {
            self.bell.rung.notified().await;
        }
        !self.is_closed()
    }

    /// Takes what may differ since it was last taken; at first everything. To be called while the group is read, see
    /// the module.
    pub(crate) fn take_scope(&self) -> Scope {
        std::mem::take(&mut self.bell.scope())
    }

    /// Has the next look be one at everything.
    pub(crate) fn doubt(&self) {
        *self.bell.scope() = Scope::Everything;
    }

    fn is_closed(&self) -> bool {
        self.hub.closed.load(Ordering::Acquire)
    }

    /// True if the member asked for the end of its session.
    pub(crate) fn is_leaving(&self) -> bool {
        self.bell.leaving.load(Ordering::Relaxed)
    }
}

impl Drop for StreamConnection {
    fn drop(&mut self) {
        self.hub.streams.fetch_sub(1, Ordering::Relaxed);
        let mut lines = self.hub.lines();
        if let Some(bells) = lines.get_mut(&self.name) {
            bells.retain(|bell| !Arc::ptr_eq(bell, &self.bell));
            if bells.is_empty() {
                lines.remove(&self.name);
            }
        }
    }
}
