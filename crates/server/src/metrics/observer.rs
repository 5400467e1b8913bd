//! The observations of a group over time by the instance that leads: how long it moves, and how many there are of what.

use std::cmp::Reverse;
use std::time::Duration;

use kafka_assigner_core::counts::{GRANTED, GroupCounts, WarmUpShares, counts, warm_up_shares};
use kafka_assigner_core::record::{Phase, UnbegunReason};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::name::GroupName;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::families::Metrics;
use super::labels::{OfLabel, PhaseLabel, RouterLabel, because, of, whole};
use crate::clock::Monotonic;
use crate::group::ServedGroup;

/// The time between two settings of the gauges. Counting takes time in proportion to the group, some 10 ms for 100 000
/// partitions.
const EVERY: Duration = Duration::from_secs(1);

/// The most routers of a group that are shown by name, so that a fleet of them that fails at once makes no flood of
/// series: by then their names say less than their number.
const MOST_ROUTERS: usize = 32;

/// The label of partitions whose owner stands before a record.
const STANDING: &str = "standing";

/// The label of partitions that nobody is granted before an operator resumes them.
const HELD: &str = "held";

/// The labels of partitions that their owners have not begun.
fn not_begun_reasons() -> impl Iterator<Item = &'static str> {
    std::iter::once(GRANTED).chain(UnbegunReason::LABELS)
}

/// Observes one group while this instance leads it.
#[derive(Debug)]
struct Observer {
    metrics: Metrics,
    group: GroupName,
    /// Since when the group is not at rest.
    moving: Option<Instant>,
    /// The partitions without an owner at the last count, and when that was.
    unowned: Option<(u64, Instant)>,
    /// The routers that are shown as missing.
    missing: Vec<RouterLabel>,
}

/// Observes `group` until it is dropped, or the view stops. Afterwards its gauges are gone: another instance
/// shows them.
pub(crate) async fn observe(metrics: &Metrics, group: &ServedGroup, clock: Monotonic) {
    let mut updates = group.view().subscribe();
    let mut observer = Observer::new(metrics.clone(), group.name().clone());
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            // A rebalance is seen at its beginning, or its length would be wrong.
            notice = updates.next() => match notice {
                Some(_) => group.read(|state| observer.look(state)),
                None => return,
            },
            _ = tick.tick() => {
                // Counting takes a while, so nobody who reads the view waits for it.
                let state = group.snapshot();
                observer.look(&state);
                observer.show(&counts(&state), group.phases().oldest(clock.now()));
                let warm_up_shares = warm_up_shares(&state);
                observer.show_warm_ups(warm_up_shares);
                let lag = metrics.0.store.newest().0.saturating_sub(group.view().revision().0);
                metrics.0.lag.get_or_create(&of(group.name())).set(whole(lag));
            }
        }
    }
}

impl Observer {
    const fn new(metrics: Metrics, group: GroupName) -> Self {
        Self { metrics, group, moving: None, unowned: None, missing: Vec::new() }
    }

    /// Notes whether anything moves.
    fn look(&mut self, state: &GroupState) {
        let families = &self.metrics.0;
        let is_moving = state.handoffs().keys().any(|at| state.handoff(at).is_some());
        match self.moving {
            None if is_moving => {
                self.moving = Some(Instant::now());
                families.rebalances.get_or_create(&of(&self.group)).inc();
            }
            Some(since) if !is_moving => {
                self.moving = None;
                let lasted = since.elapsed().as_secs_f64();
                families.rebalance.get_or_create(&of(&self.group)).observe(lasted);
            }
            _ => {}
        }
    }

    fn show(&mut self, counted: &GroupCounts, oldest_phase: Duration) {
        let (families, group) = (&self.metrics.0, of(&self.group));
        families.sessions.get_or_create(&group).set(whole(counted.consumers));
        families.suspected.get_or_create(&group).set(whole(counted.suspected));
        families.routers.get_or_create(&group).set(whole(counted.routers));
        families.switching.get_or_create(&group).set(whole(counted.switching));
        families.unowned.get_or_create(&group).set(whole(counted.unowned));
        for (reason, count) in [(STANDING, counted.standing), (HELD, counted.held)] {
            families.stopped.get_or_create(&because(&self.group, reason)).set(whole(count));
        }
        for reason in not_begun_reasons() {
            let count = counted.not_begun.get(reason).copied().unwrap_or_default();
            families.not_begun.get_or_create(&because(&self.group, reason)).set(whole(count));
        }
        families.failing.get_or_create(&group).set(whole(counted.failing));
        for phase in Phase::ALL {
            let label = PhaseLabel { group: self.group.to_string(), phase: phase.to_string() };
            let count = counted.handoffs.get(&phase).copied().unwrap_or_default();
            families.in_flight.get_or_create(&label).set(whole(count));
        }
        families.oldest_phase.get_or_create(&group).set(oldest_phase.as_secs_f64());
        let before = self.unowned.replace((counted.unowned, Instant::now()));
        if let Some((unowned, at)) = before {
            let seconds = at.elapsed().as_secs_f64() * f64::from(u32::try_from(unowned).unwrap_or(u32::MAX));
            families.unowned_seconds.get_or_create(&group).inc_by(seconds);
        }
        self.show_missing(counted);
    }

    /// Shows the routers that hold up freezes, those that hold up most by name; whoever has said its word is gone.
    fn show_missing(&mut self, counted: &GroupCounts) {
        let mut missing: Vec<_> = counted.missing_acks.iter().collect();
        missing.sort_by_key(|(router, freezes)| (Reverse(**freezes), *router));
        let rest: usize = missing.iter().skip(MOST_ROUTERS).map(|(_, freezes)| **freezes).sum();
        let named =
            missing.iter().take(MOST_ROUTERS).map(|(router, freezes)| (router.to_string(), **freezes));
        let shown: Vec<_> = named.chain((rest > 0).then(|| (String::new(), rest))).collect();
        let family = &self.metrics.0.missing_acks;
        let mut before = std::mem::take(&mut self.missing);
        for (router, freezes) in shown {
            let label = RouterLabel { group: self.group.to_string(), router };
            family.get_or_create(&label).set(whole(freezes));
            self.missing.push(label);
        }
        // Only now, so that no reader in between misses one that still holds something up.
        before.retain(|label| !self.missing.contains(label));
        for gone in &before {
            family.remove(gone);
        }
    }

    fn show_warm_ups(&self, warm_up_shares: Option<WarmUpShares>) {
        let shares =
            [("least", warm_up_shares.map(|it| it.least)), ("mean", warm_up_shares.map(|it| it.mean))];
        for (of, share) in shares {
            let label = OfLabel { group: self.group.to_string(), of };
            let family = &self.metrics.0.warm_up_shares;
            if let Some(share) = share {
                family.get_or_create(&label).set(share);
            } else {
                family.remove(&label);
            }
        }
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.show_missing(&GroupCounts::default());
        self.show_warm_ups(None);
        let (families, group) = (&self.metrics.0, of(&self.group));
        families.sessions.remove(&group);
        families.suspected.remove(&group);
        families.routers.remove(&group);
        families.switching.remove(&group);
        families.unowned.remove(&group);
        for reason in [STANDING, HELD] {
            families.stopped.remove(&because(&self.group, reason));
        }
        for reason in not_begun_reasons() {
            families.not_begun.remove(&because(&self.group, reason));
        }
        families.failing.remove(&group);
        families.oldest_phase.remove(&group);
        families.lag.remove(&group);
        for phase in Phase::ALL {
            families.in_flight.remove(&PhaseLabel { group: group.group.clone(), phase: phase.to_string() });
        }
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_core::record::BegunReport;
    use kafka_assigner_core::test_group::{TestGroup, tp};
    use prometheus_client::registry::Registry;

    use super::*;

    fn shown(registry: &Registry) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, registry).unwrap();
        text
    }

    #[tokio::test(start_paused = true)]
    async fn a_rebalance_is_measured_from_its_first_handoff_to_rest() {
        let mut registry = Registry::default();
        let mut observer = Observer::new(Metrics::new(&mut registry), "g".parse().unwrap());
        let mut lab = TestGroup::with_topics(&[("t", 2)]);
        lab.join("a");
        lab.settle();
        observer.look(&lab.state);
        lab.join("b");
        lab.pass();
        observer.look(&lab.state);
        observer.show(&counts(&lab.state), Duration::from_secs(2));
        let text = shown(&registry);
        assert!(text.contains("oldest_handoff_phase_seconds{group=\"g\"} 2.0"), "{text}");
        assert!(text.contains("handoffs_in_flight{group=\"g\",phase=\"warming\"} 1"), "{text}");
        tokio::time::advance(Duration::from_secs(3)).await;
        lab.settle();
        observer.look(&lab.state);
        let text = shown(&registry);
        assert!(text.contains("rebalances_total{group=\"g\"} 1"), "{text}");
        assert!(text.contains("rebalance_seconds_sum{group=\"g\"} 3.0"), "{text}");
    }

    fn missing(acks: impl IntoIterator<Item = (String, usize)>) -> GroupCounts {
        let missing_acks = acks.into_iter().map(|(name, freezes)| (name.parse().unwrap(), freezes)).collect();
        GroupCounts { missing_acks, ..GroupCounts::default() }
    }

    #[tokio::test]
    async fn a_router_is_shown_while_it_holds_up_a_freeze_and_no_longer() {
        let mut registry = Registry::default();
        let mut observer = Observer::new(Metrics::new(&mut registry), "g".parse().unwrap());
        observer.show(&missing([("front".to_owned(), 3), ("edge".to_owned(), 1)]), Duration::ZERO);
        let text = shown(&registry);
        assert!(text.contains("missing_acks{group=\"g\",router=\"front\"} 3"), "{text}");
        observer.show(&missing([("edge".to_owned(), 1)]), Duration::ZERO);
        let text = shown(&registry);
        assert!(!text.contains("front") && text.contains("router=\"edge\"} 1"), "{text}");
        drop(observer);
        assert!(!shown(&registry).contains("missing_acks{"), "another instance shows them");
    }

    #[tokio::test]
    async fn of_many_routers_those_that_hold_up_most_are_named_and_the_rest_are_summed() {
        let mut registry = Registry::default();
        let mut observer = Observer::new(Metrics::new(&mut registry), "g".parse().unwrap());
        let few = (0..3).map(|n| (format!("few-{n}"), 1));
        observer
            .show(&missing(few.chain((0..MOST_ROUTERS).map(|n| (format!("many-{n}"), 2)))), Duration::ZERO);
        let text = shown(&registry);
        assert_eq!(text.matches("missing_acks{").count(), MOST_ROUTERS + 1, "{text}");
        assert!(text.contains("missing_acks{group=\"g\",router=\"\"} 3") && !text.contains("few"), "{text}");
    }

    #[tokio::test]
    async fn warmth_is_shown_while_it_is_known() {
        let mut registry = Registry::default();
        let observer = Observer::new(Metrics::new(&mut registry), "g".parse().unwrap());
        observer.show_warm_ups(Some(WarmUpShares { least: 0.25, mean: 0.5 }));
        let text = shown(&registry);
        assert!(text.contains("warming_progress_ratio{group=\"g\",of=\"least\"} 0.25"), "{text}");
        assert!(text.contains("warming_progress_ratio{group=\"g\",of=\"mean\"} 0.5"), "{text}");
        observer.show_warm_ups(None);
        assert!(!shown(&registry).contains("warming_progress_ratio{"));
    }

    #[tokio::test]
    async fn partitions_that_stand_are_shown_by_what_they_wait_for() {
        let mut registry = Registry::default();
        let mut observer = Observer::new(Metrics::new(&mut registry), "g".parse().unwrap());
        let mut lab = TestGroup::with_topics(&[("t", 1)]);
        for (name, standing, held) in [("a", 1, 0), ("b", 0, 1)] {
            let member = lab.join(name);
            lab.settle();
            lab.report_stopped(&member, &[(tp("t", 0), 5)]);
            observer.show(&counts(&lab.state), Duration::ZERO);
            let text = shown(&registry);
            let line =
                |reason, count| format!("partitions_stopped{{group=\"g\",reason=\"{reason}\"}} {count}");
            assert!(
                text.contains(&line("standing", standing)) && text.contains(&line("held", held)),
                "{text}"
            );
            lab.crash(name);
        }
        drop(observer);
        assert!(!shown(&registry).contains("partitions_stopped{"), "another instance shows them");
    }

    #[tokio::test]
    async fn partitions_that_have_not_begun_are_shown_by_their_reason() {
        let mut registry = Registry::default();
        let mut observer = Observer::new(Metrics::new(&mut registry), "g".parse().unwrap());
        let mut lab = TestGroup::with_topics(&[("t", 2)]);
        let a = lab.join_as("a", |consumer| consumer.begun = Some(BegunReport::default()));
        lab.settle();
        observer.show(&counts(&lab.state), Duration::ZERO);
        let line = |reason, count| format!("partitions_not_begun{{group=\"g\",reason=\"{reason}\"}} {count}");
        let text = shown(&registry);
        assert!(text.contains(&line("granted", 2)) && text.contains(&line("failing", 0)), "{text}");
        lab.report_unbegun(&a, &[(tp("t", 0), UnbegunReason::Failing, 0)]);
        observer.show(&counts(&lab.state), Duration::ZERO);
        let text = shown(&registry);
        assert!(text.contains(&line("granted", 0)) && text.contains(&line("failing", 1)), "{text}");
        drop(observer);
        assert!(!shown(&registry).contains("partitions_not_begun{"), "another instance shows them");
    }

    #[tokio::test]
    async fn partitions_whose_record_fails_are_shown_until_it_is_handled() {
        let mut registry = Registry::default();
        let mut observer = Observer::new(Metrics::new(&mut registry), "g".parse().unwrap());
        let mut lab = TestGroup::with_topics(&[("t", 3)]);
        let a = lab.join("a");
        lab.settle();
        for (named, unnamed, count) in [(&[][..], 0, 0), (&[(tp("t", 0), 5)], 1, 2), (&[], 0, 0)] {
            lab.report_failing(&a, named, unnamed);
            observer.show(&counts(&lab.state), Duration::ZERO);
            let text = shown(&registry);
            assert!(text.contains(&format!("partitions_failing{{group=\"g\"}} {count}")), "{text}");
        }
        drop(observer);
        assert!(!shown(&registry).contains("partitions_failing{"), "another instance shows them");
    }

    #[tokio::test(start_paused = true)]
    async fn time_without_an_owner_adds_up_over_partitions() {
        let mut registry = Registry::default();
        let mut observer = Observer::new(Metrics::new(&mut registry), "g".parse().unwrap());
        let lab = TestGroup::with_topics(&[("t", 4)]);
        observer.show(&counts(&lab.state), Duration::ZERO);
        tokio::time::advance(Duration::from_secs(2)).await;
        observer.show(&counts(&lab.state), Duration::ZERO);
        let text = shown(&registry);
        assert!(text.contains("partitions_unowned{group=\"g\"} 4"), "{text}");
        assert!(text.contains("unowned_partition_seconds_total{group=\"g\"} 8.0"), "{text}");
        drop(observer);
        assert!(!shown(&registry).contains("partitions_unowned{"), "another instance shows them");
    }
}
