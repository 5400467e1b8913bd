//! What heartbeats report beside the heartbeat: progress of warm-ups, and of processing itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_core::id::{HandoffId, Member};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::kv::{Compare, Must, Op, Txn};
use kafka_assigner_core::name::GroupName;
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::{Consumer, Progress, encode};
use kafka_assigner_core::session;
use kafka_assigner_proto::v1::{HeartbeatRequest, WarmProgress};
use tokio::time::Instant;

use super::ConsumerService;
use super::stream::Session;
use crate::group::Group;

/// What this instance remembers of the sessions whose streams it opened. Another instance begins anew, which puts a
/// deadline off and loses nothing.
#[derive(Debug, Default)]
pub(super) struct ProgressBook(Mutex<BTreeMap<(GroupName, Member), Page>>);

#[derive(Debug)]
struct Page {
    max_poll_interval: Option<Duration>,
    poll_progress: u64,
    progressed: Instant,
    written: Option<Instant>,
}

impl ProgressBook {
    /// Remembers a session whose stream was opened here. Sessions of the same name that are over are forgotten.
    pub(super) fn begin(&self, session: &Session, max_poll_interval: Option<Duration>) {
        let group = session.group.name().clone();
        let mut pages = self.pages();
        pages.retain(|(of, member), _| {
            *of != group || member.name != session.member.name || *member == session.member
        });
        let page = Page { max_poll_interval, poll_progress: 0, progressed: Instant::now(), written: None };
        pages.insert((group, session.member.clone()), page);
    }

    /// Takes in a heartbeat's counter; true where it stood still for longer than it may.
    fn is_stuck(&self, group: &Group, member: &Member, poll_progress: u64) -> bool {
        let mut pages = self.pages();
        let Some(page) = pages.get_mut(&(group.name().clone(), member.clone())) else { return false };
        if poll_progress != page.poll_progress {
            page.poll_progress = poll_progress;
            page.progressed = Instant::now();
        }
        page.max_poll_interval.is_some_and(|limit| page.progressed.elapsed() > limit)
    }

    /// Whether progress may be written again: at most every `interval`.
    fn may_write(&self, group: &Group, member: &Member, interval: Duration) -> bool {
        let mut pages = self.pages();
        let Some(page) = pages.get_mut(&(group.name().clone(), member.clone())) else { return false };
        let may = page.written.is_none_or(|written| written.elapsed() >= interval);
        if may {
            page.written = Some(Instant::now());
        }
        may
    }

    fn pages(&self) -> MutexGuard<'_, BTreeMap<(GroupName, Member), Page>> {
        self.0.lock().expect("nothing panics while it holds the pages")
    }
}

impl ConsumerService {
    /// Takes in what a confirmed heartbeat reports.
    pub(super) async fn take_progress(&self, group: &Group, member: &Member, request: &HeartbeatRequest) {
        if self.progress.is_stuck(group, member, request.poll_progress) {
            self.end_session(group, member, FenceReason::NoProgress).await;
        } else if !request.warming.is_empty() {
            self.write_progress(group, member, &request.warming).await;
        }
    }

    async fn end_session(&self, group: &Group, member: &Member, why: FenceReason) {
        let Some(write) = group.read(|state| session::end(state, member, why)) else { return };
        // Where it does not apply, the next heartbeat finds it stuck again.
        if let Err(error) = self.instance.store().txn(write.unfenced()).await {
            tracing::debug!(consumer = %member, %error, "stuck session not ended yet");
        }
    }

    async fn write_progress(&self, group: &Group, member: &Member, reported: &[WarmProgress]) {
        let Some((txn, interval)) = group.read(|state| {
            let deadline = Duration::from_millis(state.config().unwrap_or_default().warm_deadline_ms);
            let entry = state.registration(&member.name).filter(|c| c.incarnation == member.incarnation)?;
            let next = with_progress(entry, reported)?;
            let key = state.layout().encode(&Key::Consumer(member.name.clone()));
            let guard = Compare::new(key.clone(), Must::HaveModRevision(entry.mod_revision));
            let put = Op::put_leased(key, encode(&next), entry.lease);
            Some((Txn::guarded(vec![guard], vec![put]), deadline / 4))
        }) else {
            return;
        };
        if self.progress.may_write(group, member, interval) {
            // Progress that is not written is reported again with the next heartbeat.
            let _outcome = self.instance.store().txn(txn).await;
        }
    }
}

/// The registration with what was reported, where that is news.
fn with_progress(consumer: &Consumer, reported: &[WarmProgress]) -> Option<Consumer> {
    let progress: BTreeMap<String, Progress> = reported
        .iter()
        .take(Consumer::MOST_PROGRESS)
        .map(|item| {
            let progress =
                Progress { handoff: HandoffId::new(&item.handoff_id), done: item.done, total: item.total };
            (format!("{}/{}", item.topic, item.partition), progress)
        })
        .collect();
    (progress != consumer.progress).then(|| Consumer { progress, ..consumer.clone() })
}
