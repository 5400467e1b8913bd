//! The metrics that are counted where something happens.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::leader::{EndedPhase, Pass};
use kafka_assigner_core::plan::Deferral;
use kafka_assigner_core::reason::{DeferReason, FenceReason};
use kafka_assigner_core::state::Touched;
use kafka_assigner_store::Store;
use kafka_assigner_types::name::GroupName;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use super::access::AccessMetrics;
use super::containment::ContainmentMetrics;
use super::heartbeats::HeartbeatAges;
use super::labels::{
    GroupLabel, OfLabel, PhaseLabel, PhaseModeLabel, ReasonLabel, RouterLabel, because, of, whole,
};
use super::looks::LookMetrics;
use super::metered::{Metered, StoreMetrics};
use super::suspicions::SuspicionMetrics;

/// The metrics of one instance; clones share them.
#[derive(Debug, Clone)]
pub struct Metrics(pub(super) Arc<Families>);

pub(super) type Seconds = Counter<f64, AtomicU64>;

#[derive(Debug)]
pub(super) struct Families {
    pub(super) leader: Family<GroupLabel, Gauge>,
    pub(super) steps: Family<ReasonLabel, Counter>,
    pub(super) moves: Family<ReasonLabel, Counter>,
    pub(super) cancelled: Family<ReasonLabel, Counter>,
    pub(super) deferred: Family<ReasonLabel, Gauge>,
    pub(super) plan: Histogram,
    pub(super) gap: Family<GroupLabel, Histogram>,
    pub(super) acks: Family<ReasonLabel, Counter>,
    pub(super) heartbeats: Family<ReasonLabel, Counter>,
    pub(super) late_heartbeats: Family<GroupLabel, Counter>,
    pub(super) behind_heartbeats: Family<GroupLabel, Counter>,
    pub(super) unattached: Family<GroupLabel, Counter>,
    pub(super) takeovers: Family<GroupLabel, Counter>,
    pub(super) fenced: Family<GroupLabel, Counter>,
    pub(super) suspected: Family<GroupLabel, Gauge>,
    pub(super) out_of_touch: Gauge,
    pub(super) streams: Family<ReasonLabel, Counter>,
    pub(super) route_streams: Family<ReasonLabel, Counter>,
    pub(super) phases: Family<PhaseModeLabel, Histogram>,
    pub(super) in_flight: Family<PhaseLabel, Gauge>,
    pub(super) oldest_phase: Family<GroupLabel, Gauge<f64, AtomicU64>>,
    pub(super) missing_acks: Family<RouterLabel, Gauge>,
    pub(super) warm_up_shares: Family<OfLabel, Gauge<f64, AtomicU64>>,
    pub(super) unowned: Family<GroupLabel, Gauge>,
    pub(super) unowned_seconds: Family<GroupLabel, Seconds>,
    pub(super) rebalances: Family<GroupLabel, Counter>,
    pub(super) rebalance: Family<GroupLabel, Histogram>,
    pub(super) sessions: Family<GroupLabel, Gauge>,
    pub(super) routers: Family<GroupLabel, Gauge>,
    pub(super) switching: Family<GroupLabel, Gauge>,
    pub(super) stopped: Family<ReasonLabel, Gauge>,
    pub(super) not_begun: Family<ReasonLabel, Gauge>,
    pub(super) failing: Family<GroupLabel, Gauge>,
    pub(super) lag: Family<GroupLabel, Gauge>,
    pub(super) histories: Counter,
    pub(super) ahead: Family<GroupLabel, Counter>,
    pub(super) access: AccessMetrics,
    pub(super) containment: ContainmentMetrics,
    pub(super) heartbeat_ages: HeartbeatAges,
    pub(super) looks: LookMetrics,
    pub(super) suspicions: SuspicionMetrics,
    pub(super) store: StoreMetrics,
}

impl Metrics {
    /// The metrics, registered in `registry`.
    pub fn new(registry: &mut Registry) -> Self {
        let families = Families {
            leader: Family::default(),
            steps: Family::default(),
            moves: Family::default(),
            cancelled: Family::default(),
            deferred: Family::default(),
            plan: Histogram::new(exponential_buckets(0.0001, 2.0, 16)),
            gap: Family::new_with_constructor(millis_to_minutes),
            acks: Family::default(),
            heartbeats: Family::default(),
            late_heartbeats: Family::default(),
            behind_heartbeats: Family::default(),
            unattached: Family::default(),
            takeovers: Family::default(),
            fenced: Family::default(),
            suspected: Family::default(),
            out_of_touch: Gauge::default(),
            streams: Family::default(),
            route_streams: Family::default(),
            phases: Family::new_with_constructor(millis_to_minutes),
            in_flight: Family::default(),
            oldest_phase: Family::default(),
            missing_acks: Family::default(),
            warm_up_shares: Family::default(),
            unowned: Family::default(),
            unowned_seconds: Family::default(),
            rebalances: Family::default(),
            rebalance: Family::new_with_constructor(millis_to_minutes),
            sessions: Family::default(),
            routers: Family::default(),
            switching: Family::default(),
            stopped: Family::default(),
            not_begun: Family::default(),
            failing: Family::default(),
            lag: Family::default(),
            histories: Counter::default(),
            ahead: Family::default(),
            access: AccessMetrics::default(),
            containment: ContainmentMetrics::default(),
            heartbeat_ages: HeartbeatAges::default(),
            looks: LookMetrics::default(),
            suspicions: SuspicionMetrics::default(),
            store: StoreMetrics::default(),
        };
        families.register(registry);
        Self(Arc::new(families))
    }

    /// `store`, with every call measured.
    pub(crate) fn metered(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Metered::new(store, self.0.store.clone()))
    }

    /// A term of the leadership of `group` begins or ends. What its last plan left as it is is not told beyond its end.
    pub(crate) fn leading(&self, group: &GroupName, leads: bool) {
        self.0.leader.get_or_create(&of(group)).set(leads.into());
        if !leads {
            for reason in DeferReason::LABELS {
                self.0.deferred.remove(&because(group, reason));
            }
            self.planned(group);
        }
    }

    pub(crate) fn step(&self, group: &GroupName, action: &Action) {
        self.0.steps.get_or_create(&because(group, action.step.label())).inc();
        if let Step::Cancel { why, .. } = &action.step {
            self.0.cancelled.get_or_create(&because(group, why.label())).inc();
        }
        if matches!(action.step, Step::EndSession { why: FenceReason::Suspected, .. }) {
            self.0.takeovers.get_or_create(&of(group)).inc();
        }
        if matches!(action.step, Step::Fence { .. }) {
            self.0.fenced.get_or_create(&of(group)).inc_by(action.unit.len() as u64);
        }
    }

    /// Counts the partitions that got another owner with `touched`, whoever wrote it: in the strict modes the instance
    /// that hears a member's last word writes the switch.
    pub(crate) fn moved(&self, group: &GroupName, touched: &Touched) {
        for (reason, moves) in &touched.moves {
            self.0.moves.get_or_create(&because(group, reason)).inc_by(*moves);
        }
    }

    pub(crate) fn deferred(&self, group: &GroupName, deferred: &[Deferral]) {
        for reason in DeferReason::LABELS {
            let count = deferred.iter().filter(|deferral| deferral.why.label() == reason).count();
            self.0.deferred.get_or_create(&because(group, reason)).set(whole(count));
        }
    }

    /// Makes a leader's step, with a clock on it where it makes a plan.
    pub(crate) fn timed_step(&self, step: impl FnOnce() -> Pass) -> Pass {
        let begin = Instant::now();
        let pass = step();
        if pass.plan.is_some() {
            self.0.plan.observe(begin.elapsed().as_secs_f64());
        }
        pass
    }

    /// The gap that a move left, from the last record of the old owner to the first of the new one.
    pub(crate) fn gap(&self, group: &GroupName, millis: u64) {
        self.0.gap.get_or_create(&of(group)).observe(Duration::from_millis(millis).as_secs_f64());
    }

    pub(crate) fn ack(&self, group: &GroupName, outcome: &'static str) {
        self.0.acks.get_or_create(&because(group, outcome)).inc();
    }

    pub(crate) fn heartbeat(&self, group: &GroupName, outcome: &'static str) {
        self.0.heartbeats.get_or_create(&because(group, outcome)).inc();
    }

    /// The store began another history, and everything was loaded anew.
    pub(crate) fn history_begun(&self) {
        self.0.histories.inc();
    }

    /// A member has seen more of the store than there is.
    pub(crate) fn ahead_of_store(&self, group: &GroupName) {
        self.0.ahead.get_or_create(&of(group)).inc();
    }

    pub(crate) fn late_heartbeat(&self, group: &GroupName) {
        self.0.late_heartbeats.get_or_create(&of(group)).inc();
    }

    /// A heartbeat showed that its member's stream had missed something so far.
    pub(crate) fn behind_heartbeat(&self, group: &GroupName) {
        self.0.behind_heartbeats.get_or_create(&of(group)).inc();
    }

    /// A session was ended that was renewed and had no stream.
    pub(crate) fn unattached(&self, group: &GroupName) {
        self.0.unattached.get_or_create(&of(group)).inc();
    }

    /// So many groups that are served here are out of touch with the store.
    pub(crate) fn out_of_touch(&self, groups: usize) {
        self.0.out_of_touch.set(whole(groups));
    }

    /// A stream was opened, for a new session or to go on with one.
    pub(crate) fn stream(&self, group: &GroupName, is_resumed: bool) {
        let reason = if is_resumed { "resumed" } else { "new" };
        self.0.streams.get_or_create(&because(group, reason)).inc();
    }

    /// A router's stream was opened, for a new session or to go on with one.
    pub(crate) fn route_stream(&self, group: &GroupName, is_resumed: bool) {
        let reason = if is_resumed { "resumed" } else { "new" };
        self.0.route_streams.get_or_create(&because(group, reason)).inc();
    }

    /// A phase of a handoff is over.
    pub(crate) fn phase_ended(&self, group: &GroupName, ended: &EndedPhase) {
        let EndedPhase { phase, mode, lasted } = ended;
        let label =
            PhaseModeLabel { group: group.to_string(), phase: phase.to_string(), mode: mode.to_string() };
        self.0.phases.get_or_create(&label).observe(lasted.as_secs_f64());
    }
}
/// Buckets from a millisecond to a bit over two minutes.
fn millis_to_minutes() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 18))
}

impl Families {
    fn register(&self, registry: &mut Registry) {
        self.register_moves(registry);
        self.register_state(registry);
        registry.register("steps", "Steps that the leader carried out, by kind", self.steps.clone());
        registry.register_with_unit(
            "plan",
            "Time of a step of the leader that made a plan",
            Unit::Seconds,
            self.plan.clone(),
        );
        registry.register(
            "plan_deferred",
            "Units that the last plan left as they are, by reason",
            self.deferred.clone(),
        );
        self.register_members(registry);
        self.register_history(registry);
        self.access.register(registry);
        self.containment.register(registry);
        self.heartbeat_ages.register(registry);
        self.looks.register(registry);
        self.suspicions.register(registry);
        self.store.register(registry);
    }

    fn register_members(&self, registry: &mut Registry) {
        registry.register("acks", "Acknowledgements of members, by what became of them", self.acks.clone());
        registry.register("heartbeats", "Heartbeats, by what became of them", self.heartbeats.clone());
        registry.register(
            "heartbeats_late",
            "Heartbeats that came more than one and a half intervals after the one before",
            self.late_heartbeats.clone(),
        );
        registry.register(
            "heartbeats_behind",
            "Heartbeats of members whose stream had not told all that concerned them by then",
            self.behind_heartbeats.clone(),
        );
        registry.register(
            "sessions_unattached",
            "Sessions that were ended because they were renewed and had no stream for too long",
            self.unattached.clone(),
        );
        registry.register(
            "takeovers",
            "Sessions that were ended because their processes seemed to be dead",
            self.takeovers.clone(),
        );
        registry.register(
            "partitions_fenced",
            "Partitions that were taken from consumers which never let them go, while their sessions go on",
            self.fenced.clone(),
        );
        registry.register(
            "groups_out_of_touch",
            "Groups with streams here of which it is not certain that the view is complete",
            self.out_of_touch.clone(),
        );
        registry.register(
            "streams_opened",
            "Streams that were opened, for new sessions or resumed ones",
            self.streams.clone(),
        );
        registry.register(
            "route_streams_opened",
            "Streams of routers that were opened, for new sessions or resumed ones",
            self.route_streams.clone(),
        );
    }

    fn register_history(&self, registry: &mut Registry) {
        registry.register(
            "histories_begun",
            "Times that the store was found with another cluster id, and everything was loaded anew",
            self.histories.clone(),
        );
        registry.register(
            "members_ahead_of_store",
            "Calls of members that have seen a later revision than the store has: it was put back",
            self.ahead.clone(),
        );
    }

    fn register_moves(&self, registry: &mut Registry) {
        registry.register("moves", "Partitions that changed their owner, by reason", self.moves.clone());
        registry.register(
            "handoffs_cancelled",
            "Handoffs that were cancelled, by reason",
            self.cancelled.clone(),
        );
        registry.register_with_unit(
            "partition_gap",
            "Time from the last record of the old owner to the first of the new one, by the clients' clocks",
            Unit::Seconds,
            self.gap.clone(),
        );
        registry.register_with_unit(
            "handoff_phase",
            "How long handoffs stayed in each phase, as their leader saw it",
            Unit::Seconds,
            self.phases.clone(),
        );
        registry.register("rebalances", "Times that a group at rest began to move", self.rebalances.clone());
        registry.register_with_unit(
            "rebalance",
            "Time from the first handoff of a group at rest until it rested again",
            Unit::Seconds,
            self.rebalance.clone(),
        );
    }

    fn register_state(&self, registry: &mut Registry) {
        registry.register("leader", "1 while this instance leads the group", self.leader.clone());
        registry.register("sessions", "Registered consumers", self.sessions.clone());
        registry.register(
            "sessions_suspected",
            "Registered consumers whose processes seem to be dead",
            self.suspected.clone(),
        );
        registry.register("routers", "Registered routers", self.routers.clone());
        registry.register(
            "partitions_switching",
            "Partitions in a new mode that their owners have not confirmed yet",
            self.switching.clone(),
        );
        registry.register(
            "partitions_stopped",
            "Partitions that stand before a record that could not be handled, by what they wait for",
            self.stopped.clone(),
        );
        registry.register(
            "partitions_not_begun",
            "Partitions that their owners have not begun, by the reason that they tell",
            self.not_begun.clone(),
        );
        registry.register(
            "partitions_failing",
            "Partitions whose next record has failed for long and is tried again, as their owners say",
            self.failing.clone(),
        );
        registry.register("partitions_unowned", "Partitions without a living owner", self.unowned.clone());
        registry.register_with_unit(
            "unowned_partition",
            "Time that partitions spent without a living owner, summed over partitions",
            Unit::Seconds,
            self.unowned_seconds.clone(),
        );
        registry.register("handoffs_in_flight", "Handoffs, by phase", self.in_flight.clone());
        registry.register_with_unit(
            "oldest_handoff_phase",
            "How long the handoff that has not moved for longest is in its phase",
            Unit::Seconds,
            self.oldest_phase.clone(),
        );
        registry.register(
            "missing_acks",
            "Freezes that wait for a router's word, of the routers that hold up most; the rest under the empty name",
            self.missing_acks.clone(),
        );
        registry.register(
            "warming_progress_ratio",
            "How far the partitions that are being warmed are, of those of which it is known",
            self.warm_up_shares.clone(),
        );
        registry.register(
            "watch_lag_revisions",
            "Revisions by which the group's view is behind the newest that a call has seen",
            self.lag.clone(),
        );
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    fn shown(registry: &Registry) -> String {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        text
    }

    #[test]
    fn every_reason_to_defer_is_shown_until_the_term_ends() {
        let mut registry = Registry::default();
        let (metrics, group) = (Metrics::new(&mut registry), "g".parse().unwrap());
        let why = DeferReason::Outlived { left_ms: 1 };
        metrics.deferred(&group, &[Deferral { unit: Vec::new(), to: None, why }]);
        let text = shown(&registry);
        assert!(text.contains("plan_deferred{group=\"g\",reason=\"outlived\"} 1"), "{text}");
        assert!(text.contains("plan_deferred{group=\"g\",reason=\"warming\"} 0"), "{text}");
        metrics.leading(&group, false);
        assert!(!shown(&registry).contains("plan_deferred{"), "the next leader shows its own");
    }
}
