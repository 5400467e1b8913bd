//! The shape of one world, drawn from its seed.

use std::collections::BTreeSet;
use std::time::Duration;

use kafka_assigner_core::record::GroupConfig;
use kafka_assigner_router::StashLimits;
use kafka_assigner_types::mode::Mode;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::fault::Fault;
use crate::situation::{MOST_STARTING, Situations};

/// The share of worlds with a large set; each takes as long as some ten others.
const LARGE_SETS: f64 = 0.02;

/// From so many parts on a set is granted in more than one write.
const FEWEST_OF_A_LARGE_SET: usize = 33;

/// The topics of a large set; no set has more.
const MANY_TOPICS: [&str; 40] = [
    "t01", "t02", "t03", "t04", "t05", "t06", "t07", "t08", "t09", "t10", "t11", "t12", "t13", "t14", "t15",
    "t16", "t17", "t18", "t19", "t20", "t21", "t22", "t23", "t24", "t25", "t26", "t27", "t28", "t29", "t30",
    "t31", "t32", "t33", "t34", "t35", "t36", "t37", "t38", "t39", "t40",
];

/// The most that clocks are apart from the store's: half a percent, as no machine is that ticks at all.
const MOST_DRIFT_PPM: i32 = 5_000;

/// The time for which faults last.
pub(crate) const FAULTY: Duration = Duration::from_secs(300);

/// A world before it starts.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) instances: usize,
    pub(crate) consumers: usize,
    /// The number of routers; some wherever the group is `routed` or may become so.
    pub(crate) routers: usize,
    /// The bounds of each router: how much it holds at most, for how long, and how much it has on its way.
    pub(crate) stash: StashLimits,
    /// The time for which a router waits for the answer to a request.
    pub(crate) send_timeout: Duration,
    /// The topics with their partition counts.
    pub(crate) topics: Vec<(&'static str, u32)>,
    /// True if the topics move together.
    pub(crate) copartitioned: bool,
    /// True if the mode changes under way.
    pub(crate) mode_switches: bool,
    pub(crate) config: GroupConfig,
    pub(crate) leader_ttl: Duration,
    /// The longest that a call takes, each way.
    pub(crate) latency: Duration,
    /// The kinds of fault that this world meets. Each misses some, so that each kind also works alone.
    pub(crate) faults: Vec<Fault>,
    /// The mean time between two faults.
    pub(crate) pause: Duration,
    /// True if Kafka tells the ids of topics.
    pub(crate) has_topic_ids: bool,
    /// The most by which the clock of a process runs faster, or slower, than the store's, in millionths.
    pub(crate) drift_ppm: i32,
    /// The situations that it meets apart from its faults.
    pub(crate) situations: Situations,
}

impl Shape {
    /// The shape of the world `seed`.
    pub(crate) fn draw(seed: u64) -> Self {
        let mut dice = StdRng::seed_from_u64(seed);
        let (config, mode_switches) = (config(&mut dice), dice.random_bool(0.2));
        let has_routers = config.mode == Mode::Routed || mode_switches;
        let routers = if has_routers { dice.random_range(1..=3) } else { 0 };
        let shape = Self {
            routers,
            stash: stash(&mut dice),
            send_timeout: Duration::from_millis(dice.random_range(1_000..=4_000)),
            instances: dice.random_range(3..=4),
            consumers: dice.random_range(5..=8),
            topics: vec![("orders", dice.random_range(6..=14)), ("returns", dice.random_range(3..=8))],
            copartitioned: dice.random_bool(0.25),
            mode_switches,
            situations: Situations::draw(seed, Some(config.mode).filter(|_| !mode_switches)),
            config,
            leader_ttl: Duration::from_secs(dice.random_range(3..=5)),
            latency: Duration::from_millis(dice.random_range(1..=20)),
            faults: faults(&mut dice, routers > 0),
            pause: Duration::from_millis(dice.random_range(4_000..=12_000)),
            has_topic_ids: dice.random_bool(0.8),
            drift_ppm: if dice.random_bool(0.3) { MOST_DRIFT_PPM } else { 0 },
        }
        .with_short_waits();
        if dice.random_bool(LARGE_SETS) { shape.with_a_large_set(&mut dice) } else { shape }
    }

    /// The same world with one set of many topics that move together.
    fn with_a_large_set(self, dice: &mut StdRng) -> Self {
        let size = dice.random_range(FEWEST_OF_A_LARGE_SET..=MANY_TOPICS.len());
        let topics = MANY_TOPICS[..size].iter().map(|name| (*name, dice.random_range(1..=2))).collect();
        Self { topics, copartitioned: true, ..self }
    }

    /// The same world, where strict grants wait no longer after the store went back than they have to.
    fn with_short_waits(mut self) -> Self {
        if self.is_restored() {
            self.config.max_session_timeout_ms = self.config.session_timeout_ms;
        }
        self
    }

    /// The longest time to live that a session may have.
    pub(crate) const fn longest_session(&self) -> Duration {
        Duration::from_millis(self.config.max_session_timeout_ms)
    }

    /// The time that an operator takes to start the instances of a store that was put back, where one does.
    pub(crate) fn starting(&self) -> Duration {
        let is_announced = self.situations.restores.iter().any(|restore| restore.is_announced);
        if is_announced { MOST_STARTING } else { Duration::ZERO }
    }

    /// The drift of the clock of the instance or router with that number: one of the two ends, so that they are as far apart
    /// as clocks may be.
    pub(crate) const fn drift_of(&self, number: usize) -> i32 {
        if number.is_multiple_of(2) { self.drift_ppm } else { -self.drift_ppm }
    }

    /// True if its store goes back.
    pub(crate) const fn is_restored(&self) -> bool {
        !self.situations.restores.is_empty()
    }

    /// True if the group is in a strict mode at some time.
    pub(crate) const fn is_strict_at_times(&self) -> bool {
        self.config.mode.is_strict() || self.mode_switches
    }

    /// True if its units are larger than what two transactions of etcd take.
    pub(crate) fn has_a_large_set(&self) -> bool {
        self.topics.len() >= FEWEST_OF_A_LARGE_SET
    }

    /// The time to live of every session.
    pub(crate) const fn ttl(&self) -> Duration {
        Duration::from_millis(self.config.session_timeout_ms)
    }

    /// The longest time that a gap may last after its cause: the session runs out, is waited out where revocations are, the leader
    /// plans (five debounces at most), the new owner notices that its connection is silent (10 s), reconnects (3 s), warms
    /// up and begins.
    pub(crate) fn patience(&self) -> Duration {
        let waited_out = if self.config.wait_out_revocations { self.ttl() } else { Duration::ZERO };
        self.ttl()
            + waited_out
            + Duration::from_millis(self.config.debounce_ms.max(MOST_DEBOUNCE) * 5)
            + Duration::from_secs(17)
    }
}

/// The longest debounce that a world has, also after its configuration changed.
pub(crate) const MOST_DEBOUNCE: u64 = 400;

fn config(dice: &mut StdRng) -> GroupConfig {
    GroupConfig {
        mode: mode(dice),
        catch_up: dice.random_bool(0.5),
        wait_out_revocations: dice.random_bool(0.2),
        strategy: if dice.random_bool(0.8) { "sticky-balanced" } else { "jump-hash" }.to_owned(),
        session_timeout_ms: dice.random_range(5_000..=9_000),
        debounce_ms: dice.random_range(50..=MOST_DEBOUNCE),
        warm_deadline_ms: dice.random_range(6_000..=12_000),
        phase_deadline_ms: dice.random_range(5_000..=9_000),
        drain_deadline_ms: dice.random_range(9_000..=15_000),
        hold_deadline_ms: dice.random_range(8_000..=12_000),
        max_moves_in_flight: if dice.random_bool(0.2) { dice.random_range(1..=4) } else { 1_000 },
        max_warming: if dice.random_bool(0.2) { dice.random_range(1..=2) } else { 64 },
        rejoin_grace_ms: if dice.random_bool(0.3) { dice.random_range(1_000..=8_000) } else { 0 },
        ..GroupConfig::default()
    }
}

/// The mode that is drawn for a world, or for a switch.
pub(crate) fn mode(dice: &mut StdRng) -> Mode {
    Mode::ALL[dice.random_range(0..Mode::ALL.len())]
}

/// Small bounds are reached, and a window of one keeps the order strictly.
fn stash(dice: &mut StdRng) -> StashLimits {
    let window = [1, 4, 64][dice.random_range(0..3)];
    let requests = if dice.random_bool(0.2) { dice.random_range(4..=12) } else { 10_000 };
    let age = Duration::from_secs(if dice.random_bool(0.2) { 4 } else { 15 });
    StashLimits { window, requests, age, ..StashLimits::default() }
}

/// Each kind is in about half of all worlds, and a few are in every one so that something always moves. In some worlds
/// everything is planned: there no request may fail.
fn faults(dice: &mut StdRng, has_routers: bool) -> Vec<Fault> {
    let is_planned = has_routers && dice.random_bool(0.15);
    let mut faults: BTreeSet<Fault> = drawn().filter(|_| dice.random_bool(0.4)).collect();
    faults.retain(|fault| has_routers || !fault.needs_routers());
    if is_planned {
        faults = Fault::PLANNED.into();
    }
    faults.extend([Fault::JoinBurst, Fault::ConsumerLeaves]);
    faults.into_iter().collect()
}

/// The kinds that are drawn; what is planned apart has no part in it.
fn drawn() -> impl Iterator<Item = Fault> {
    Fault::ALL.into_iter().filter(|fault| !fault.is_a_situation())
}
