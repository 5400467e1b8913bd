//! Progress that heartbeats report: of warm-ups, and of processing itself.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::{Consumer, Progress, encode};
use kafka_assigner_core::session;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::v1::{HeartbeatRequest, WarmProgress};
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::kv::{Compare, Must, Op, Txn};

use super::service::ConsumerService;
use crate::convert;
use crate::group::ServedGroup;

impl ConsumerService {
    /// Takes in what a confirmed heartbeat reports.
    pub(super) async fn take_progress(
        &self,
        group: &ServedGroup,
        member: &Member,
        request: &HeartbeatRequest,
    ) {
        if is_stuck(group, member, request.poll_progress) {
            self.end_session(group, member, FenceReason::NoProgress).await;
        } else if !request.warming.is_empty() {
            self.write_progress(group, member, &request.warming).await;
        }
    }

    pub(super) async fn end_session(&self, group: &ServedGroup, member: &Member, why: FenceReason) {
        let Some(write) = group.read(|state| session::end(state, member, why)) else { return };
        // Where it does not apply, the next heartbeat finds it stuck again.
        if let Err(error) = self.instance.store().txn(write.unfenced()).await {
            tracing::debug!(consumer = %member, %error, "stuck session not ended yet");
        }
    }

    /// Writes what is news, at most every quarter of the deadline that it extends. What is not written is reported
    /// again with the next heartbeat.
    async fn write_progress(&self, group: &ServedGroup, member: &Member, reported: &[WarmProgress]) {
        let txn = group.read(|state| {
            let deadline = Duration::from_millis(state.configured(|config| config.warm_deadline_ms));
            let may_write = group.sessions().may_write(state, member, deadline / 4);
            may_write.then(|| record_progress(state, member, reported)).flatten()
        });
        let Some(txn) = txn else { return };
        if self.instance.store().txn(txn).await.is_ok_and(|outcome| outcome.succeeded) {
            group.sessions().note_written(member);
        }
    }
}

/// True if the member's own processing has stood still for longer than it said it may.
fn is_stuck(group: &ServedGroup, member: &Member, counter: u64) -> bool {
    group.read(|state| {
        let limit = state.registration(&member.name).and_then(|consumer| consumer.max_poll_interval_ms);
        limit.is_some_and(|ms| group.sessions().is_stuck(state, member, counter, Duration::from_millis(ms)))
    })
}

/// The write that puts news of warm-ups into the member's registration.
fn record_progress(state: &GroupState, member: &Member, reported: &[WarmProgress]) -> Option<Txn> {
    let entry = state.registration(&member.name).filter(|c| c.incarnation == member.incarnation)?;
    let progress: BTreeMap<String, Progress> = reported
        .iter()
        .filter_map(|item| understand(state, member, item))
        .take(Consumer::MOST_PROGRESS)
        .map(|(at, progress)| (at.to_string(), progress))
        .collect();
    if progress == entry.progress {
        return None;
    }
    let next = Consumer { progress, ..Consumer::clone(entry) };
    let key = state.layout().encode(&Key::Consumer(member.name.clone()));
    let guard = Compare::new(key.clone(), Must::HaveModRevision(entry.mod_revision));
    Some(Txn::guarded(vec![guard], vec![Op::put_leased(key, encode(&next), entry.lease)]))
}

/// What is reported of a warm-up that the member was told to do; anything else is passed over, so that nothing a
/// client makes up comes into a record.
fn understand(
    state: &GroupState,
    member: &Member,
    item: &WarmProgress,
) -> Option<(TopicPartition, Progress)> {
    let at = convert::partition(&item.topic, item.partition).ok()?;
    let handoff = state.handoff_of(&at).filter(|handoff| handoff.new == *member)?;
    let is_meant = handoff.id.as_str() == item.handoff_id;
    is_meant.then(|| (at, Progress { handoff: handoff.id.clone(), done: item.done, total: item.total }))
}
