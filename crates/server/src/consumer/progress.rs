//! Progress that heartbeats report: of warm-ups, of grants, of records in the works and of those that fail, and of processing
//! itself.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_core::begun;
use kafka_assigner_core::failing;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::{BegunReport, Consumer, Extra, FailingReport, Progress, encode};
use kafka_assigner_core::session;
use kafka_assigner_core::state::{GroupState, Versioned};
use kafka_assigner_proto::v1::{BusyPartition, HeartbeatRequest, WarmProgress};
use kafka_assigner_types::id::{HandoffId, Member};
use kafka_assigner_types::kv::{Compare, Must, Op, Txn};
use kafka_assigner_types::moment::WallMillis;
use kafka_assigner_types::name::MemberName;

use super::failing::told_failures;
use super::grants::told_grants;
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
        } else {
            self.write_progress(group, member, request).await;
            self.take_stops(group, member, request).await;
        }
    }

    pub(super) async fn end_session(&self, group: &ServedGroup, member: &Member, why: FenceReason) {
        let Some(write) = group.read(|state| session::end(state, member, why)) else { return };
        // Where it does not apply, the next heartbeat finds it stuck again.
        if let Err(error) = self.instance.store().txn(write.unfenced()).await {
            tracing::debug!(consumer = %member, %error, "stuck session not ended yet");
        }
    }

    /// Writes what is news. What is not written is reported again with the next heartbeat.
    async fn write_progress(&self, group: &ServedGroup, member: &Member, request: &HeartbeatRequest) {
        let wall = self.instance.options().wall.now();
        let txn = group.read(|state| {
            let reported = MemberReport::of(state, member, request, wall)?;
            let may_write = group.sessions().may_write(state, member, reported.interval(state));
            may_write.then(|| reported.write(state))
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

/// The shortest time between two writes of which partitions are busy: against the least deadline that they extend, 1 s.
const BUSY_INTERVAL: Duration = Duration::from_millis(250);

/// The shortest time between two writes for which the time left became known, or is not known any more. For people: a look a few
/// seconds later shows it, and a warm-up comes and goes with it a few times at most.
const ESTIMATE_INTERVAL: Duration = Duration::from_secs(5);

/// The report of one heartbeat, as far as it is news of what the member was told to do.
struct MemberReport<'s> {
    name: &'s MemberName,
    entry: &'s Versioned<Consumer>,
    progress: BTreeMap<String, Progress>,
    busy: BTreeMap<String, HandoffId>,
    /// The news of the grants that it has not begun.
    begun: Option<BegunReport>,
    /// The news of the partitions whose next record fails.
    failing: Option<FailingReport>,
}

impl<'s> MemberReport<'s> {
    /// `None` where the session is not there, or nothing is news.
    fn of(
        state: &'s GroupState,
        member: &'s Member,
        request: &HeartbeatRequest,
        wall: WallMillis,
    ) -> Option<Self> {
        let entry = state.registration_of(member)?;
        let warming = request.warming.iter().filter_map(|item| warm_up(state, member, item));
        let progress = warming.take(Consumer::MOST_PROGRESS).collect();
        let busy = request.busy.iter().filter_map(|item| busy(state, member, item));
        let busy = busy.take(Consumer::MOST_PROGRESS).collect();
        let told = told_grants(state, member, request);
        let begun = told.and_then(|told| begun::news(state, member, entry, told));
        let failures = told_failures(request, wall);
        let failing = failures.and_then(|told| failing::news(state, member, entry, told));
        let is_news =
            differs(&progress, &entry.progress) || busy != entry.busy || begun.is_some() || failing.is_some();
        is_news.then_some(Self { name: &member.name, entry, progress, busy, begun, failing })
    }

    /// Progress is written at most every quarter of the deadline that it extends, who is busy at once, and soon that there is an
    /// estimate, or none any more. Of several that are
    /// news the first that may be written takes the others along.
    fn interval(&self, state: &GroupState) -> Duration {
        let warm = Duration::from_millis(state.configured(|config| config.warm_deadline_ms)) / 4;
        let grants = self.begun.as_ref();
        let grants = grants.map(|next| begun::write_interval(state, self.entry.begun.as_ref(), next));
        let busy = (self.busy != self.entry.busy).then_some(BUSY_INTERVAL);
        let estimates = changes_estimates(&self.progress, &self.entry.progress).then_some(ESTIMATE_INTERVAL);
        let failing = self.failing.as_ref().map(|_| failing::WRITE_INTERVAL);
        busy.into_iter().chain(grants).chain(estimates).chain(failing).fold(warm, Duration::min)
    }

    fn write(self, state: &GroupState) -> Txn {
        let Self { name, entry, progress, busy, begun, failing } = self;
        let begun = begun.or_else(|| entry.begun.clone());
        let failing = failing.unwrap_or_else(|| entry.failing.clone());
        let next = Consumer { progress, busy, begun, failing, ..Consumer::clone(entry) };
        let key = state.layout().encode(&Key::Consumer(name.clone()));
        let guard = Compare::new(key.clone(), Must::HaveModRevision(entry.mod_revision));
        Txn::guarded(vec![guard], vec![Op::put_leased(key, encode(&next), entry.lease)])
    }
}

/// True if one tells other work than the other, or knows the time left where the other does not. An estimate that changes is no
/// news.
fn differs(one: &BTreeMap<String, Progress>, other: &BTreeMap<String, Progress>) -> bool {
    let news = |(at, progress): (&String, &Progress)| {
        (at.clone(), Progress { left_ms: progress.left_ms.map(|_| 0), ..progress.clone() })
    };
    !one.iter().map(news).eq(other.iter().map(news))
}

/// True if the time left of a warm-up has become known, or is not known any more.
fn changes_estimates(reported: &BTreeMap<String, Progress>, written: &BTreeMap<String, Progress>) -> bool {
    reported.iter().any(|(at, progress)| {
        let before = written.get(at).filter(|before| before.handoff == progress.handoff);
        before.is_some_and(|before| before.left_ms.is_some()) != progress.left_ms.is_some()
    })
}

/// A report of a record in the works for which a handoff of the member's waits; any other is passed over.
fn busy(state: &GroupState, member: &Member, item: &BusyPartition) -> Option<(String, HandoffId)> {
    let at = convert::partition(&item.topic, item.partition).ok()?;
    let handoff = state.handoff_of(&at)?;
    let is_meant =
        handoff.id.as_str() == item.handoff_id && (handoff.old == *member || handoff.new == *member);
    is_meant.then(|| (at.to_string(), handoff.id.clone()))
}

/// The progress that is reported of a warm-up that the member was told to do; anything else is passed over, so that
/// nothing a client makes up comes into a record.
fn warm_up(state: &GroupState, member: &Member, item: &WarmProgress) -> Option<(String, Progress)> {
    let at = convert::partition(&item.topic, item.partition).ok()?;
    let handoff = state.handoff_of(&at).filter(|handoff| handoff.new == *member)?;
    let is_meant = handoff.id.as_str() == item.handoff_id;
    let (id, extra) = (handoff.id.clone(), Extra::new());
    let progress =
        || Progress { handoff: id, done: item.done, total: item.total, left_ms: item.left_ms, extra };
    is_meant.then(|| (at.to_string(), progress()))
}
