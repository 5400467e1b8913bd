//! The parts of a run, and the changes that can be made to them.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Result, bail};
use kafka_assigner_audit::watcher::Observer;
use kafka_assigner_audit::{Incident, Micros};
use kafka_assigner_core::key::DEFAULT_PREFIX;
use kafka_assigner_rig::clock::wall;
use kafka_assigner_rig::observer::Observing;
use kafka_assigner_rig::report::Narrator;
use kafka_assigner_rig::round_trip::Probe;
use kafka_assigner_rig::{topics, until};
use kafka_assigner_store::{EtcdOptions, EtcdStore};
use kafka_assigner_types::mode::Mode;
use tokio::time::sleep;

use crate::arguments::Arguments;
use crate::consumers::{Consumer, GROUP, Journals};
use crate::instances::Instances;
use crate::load::TOPIC;
use crate::report::{Event, Report};
use crate::routers::Routers;
use crate::scale::{SESSION_TIMEOUT, Scale};
use crate::work::{Harm, Work};

/// Consumers at the start.
const CONSUMERS: usize = 3;

/// Routers at the start, in the mode routed: callers need another one to turn to.
const ROUTERS: usize = 2;

/// How long everybody works in peace before the story begins. Kafka's machine code is made while it runs: in its first
/// seconds on a busy machine of two cores it keeps every reader waiting for tenths of a second, moved or not.
const WARM_UP: Duration = Duration::from_secs(10);

/// How long the group may take to settle after a turn: a dead consumer and a dead leader are waited for, and what
/// they had is warmed and moved on a machine that does all of this at once.
const SETTLE: Duration = Duration::from_secs(45);

/// How long the first handoff after a join, or another leader after the death of one, may take.
const SOON: Duration = Duration::from_secs(15);

/// What a run consists of.
#[derive(Debug)]
pub(crate) struct World {
    arguments: Arguments,
    narrator: Narrator,
    observer: Observing,
    instances: Instances,
    /// The oldest first.
    consumers: VecDeque<Consumer>,
    /// Of every consumer that there was.
    journals: Vec<Journals>,
    routers: Routers,
    work: Work,
    probe: Probe,
    harm: Harm,
    /// Since when a writer's death is felt.
    crashed: Option<Micros>,
    events: Vec<Event>,
}

impl World {
    /// Starts everything, and waits until the first consumers have their shares and Kafka is up to speed.
    pub(crate) async fn start(arguments: &Arguments) -> Result<Self> {
        topics::create(&arguments.kafka, TOPIC, arguments.scale().partitions).await?;
        let store = EtcdStore::new(&EtcdOptions::new([&arguments.etcd]))?;
        let routers = Routers::new(arguments);
        let mut world = Self {
            arguments: arguments.clone(),
            narrator: Narrator::new(arguments.json),
            observer: Observing::start(store, DEFAULT_PREFIX, GROUP)?,
            instances: Instances::start(arguments).await?,
            consumers: VecDeque::new(),
            journals: Vec::new(),
            work: Work::start(arguments, &routers)?,
            probe: Probe::start(&arguments.etcd, &arguments.kafka, TOPIC)?,
            routers,
            harm: Harm::default(),
            crashed: None,
            events: Vec::new(),
        };
        if arguments.mode != Mode::default() {
            world.instances.set_mode(arguments.mode)?;
        }
        for _ in 0..CONSUMERS {
            world.join()?;
        }
        world.settle().await?;
        for _ in 0..if world.is_routed() { ROUTERS } else { 0 } {
            world.join_router().await?;
        }
        sleep(WARM_UP).await;
        Ok(world)
    }

    /// True if consumers take requests.
    pub(crate) fn is_routed(&self) -> bool {
        self.arguments.mode == Mode::Routed
    }

    /// How much is to be done.
    pub(crate) const fn scale(&self) -> &'static Scale {
        self.arguments.scale()
    }

    /// True if enough was produced and moved. A leader's death takes some of the moves out of the planned ones, so
    /// there must be more than have to be planned.
    pub(crate) fn has_seen_enough(&self) -> bool {
        let moves = self.observer.look().completed();
        let enough = if self.is_routed() { self.scale().requests } else { self.scale().records };
        self.work.count() >= enough && moves >= self.scale().planned_moves + self.scale().planned_moves / 2
    }

    fn note(&mut self, event: &'static str, text: String) {
        let at_ms = self.narrator.elapsed().as_millis();
        self.narrator.tell(&text);
        self.events.push(Event { at_ms, event, text });
    }

    /// A new consumer joins.
    pub(crate) fn join(&mut self) -> Result<()> {
        let name = format!("worker-{}", self.journals.len() + 1);
        let (consumer, journals) = Consumer::start(&name, &self.instances.endpoints(), &self.arguments)?;
        self.consumers.push_back(consumer);
        self.journals.push(journals);
        self.note("consumer_joined", format!("{name} joins"));
        Ok(())
    }

    fn oldest(&mut self) -> Consumer {
        self.consumers.pop_front().expect("the story leaves some")
    }

    /// The oldest consumer leaves in good order.
    pub(crate) async fn let_one_leave(&mut self) -> Result<()> {
        let consumer = self.oldest();
        let name = consumer.name().to_owned();
        self.note("consumer_leaving", format!("{name} is asked to stop"));
        consumer.terminate()?;
        consumer.left().await?;
        self.note("consumer_left", format!("{name} is gone"));
        Ok(())
    }

    /// The oldest consumer is killed.
    pub(crate) fn kill_a_consumer(&mut self) {
        let consumer = self.oldest();
        let (name, process) = (consumer.name().to_owned(), consumer.process());
        let at = wall();
        self.crashed.get_or_insert(at);
        self.harm.incidents.push(Incident::ConsumerKilled { process, at });
        consumer.kill();
        self.note("consumer_killed", format!("{name} is killed"));
    }

    /// The oldest consumer is frozen until others have what it had, and then goes on.
    pub(crate) async fn freeze_a_consumer(&mut self) -> Result<()> {
        let frozen = self.oldest();
        let at = wall();
        self.crashed.get_or_insert(at);
        frozen.freeze()?;
        self.note("consumer_frozen", format!("{} is frozen", frozen.name()));
        self.settle().await?;
        let thawed = wall();
        frozen.thaw()?;
        self.note("consumer_thawed", format!("{} goes on", frozen.name()));
        self.harm.incidents.push(Incident::ConsumerFrozen { process: frozen.process(), at, thawed });
        self.consumers.push_back(frozen);
        Ok(())
    }

    /// One by one, each consumer is replaced by a new one, as in a rolling deployment.
    pub(crate) async fn roll(&mut self) -> Result<()> {
        for _ in 0..self.consumers.len() {
            self.join()?;
            self.settle().await?;
            self.let_one_leave().await?;
            self.settle().await?;
        }
        Ok(())
    }

    /// A new router joins.
    pub(crate) async fn join_router(&mut self) -> Result<()> {
        let name = self.routers.join(&self.instances.endpoints()).await?;
        self.note("router_joined", format!("{name} joins"));
        Ok(())
    }

    /// The oldest router leaves in good order.
    pub(crate) async fn let_a_router_leave(&mut self) -> Result<()> {
        let name = self.routers.leave().await?;
        self.note("router_left", format!("{name} is gone"));
        Ok(())
    }

    /// The oldest router leaves in good order, and comes back.
    pub(crate) async fn restart_a_router(&mut self) -> Result<()> {
        let name = self.routers.restart(&self.instances.endpoints()).await?;
        self.note("router_restarted", format!("{name} is back"));
        Ok(())
    }

    /// An operator has another strategy decide.
    pub(crate) fn decide_by(&mut self, strategy: &str) -> Result<()> {
        self.instances.set_strategy(strategy)?;
        self.note("strategy_set", format!("{strategy} decides"));
        Ok(())
    }

    /// Waits until something is on the move.
    pub(crate) async fn wait_for_a_move(&self) -> Result<()> {
        let is_moving = || Ok((!self.observer.look().state.handoffs().is_empty()).then_some(()));
        until("a move", SOON, is_moving).await
    }

    /// The leading instance is killed, another one leads, and a new one takes the place of the dead.
    pub(crate) async fn kill_leader(&mut self) -> Result<()> {
        let led = || Ok(self.observer.look().leader());
        let leader = until("a leadership", SOON, led).await?;
        let at = wall();
        let place = self.instances.kill(&leader)?;
        self.note("leader_killed", format!("{leader}, which leads, is killed"));
        let led_again = || Ok(self.observer.look().leader().filter(|other| *other != leader));
        let next = until("another leadership", SOON, led_again).await?;
        self.harm.incidents.push(Incident::LeaderKilled { at, led_again: wall() });
        self.note("leader_elected", format!("{next} leads"));
        let replacement = self.instances.replace(place).await?;
        self.note("instance_started", format!("{replacement} starts"));
        Ok(())
    }

    /// Waits until everybody who runs has their share.
    pub(crate) async fn settle(&mut self) -> Result<()> {
        let (consumers, partitions) = (self.consumers.len(), self.scale().partitions.unsigned_abs());
        let is_settled = || {
            if self.observer.has_ended() {
                bail!("the watch of etcd has ended");
            }
            Ok(self.observer.look().is_settled(consumers, partitions).then_some(()))
        };
        let settled = until("an even share for everybody", SETTLE, is_settled).await;
        let owned = self.observer.look().owned();
        let shares: Vec<String> = owned.iter().map(|(name, count)| format!("{name} {count}")).collect();
        self.note(if settled.is_ok() { "settled" } else { "unsettled" }, shares.join(", "));
        settled
    }

    /// What had to be waited for is over: from now on nothing fails because of it.
    pub(crate) fn calm(&mut self) {
        if let Some(since) = self.crashed.take() {
            self.harm.crashes.push((since, wall()));
        }
    }

    /// Waits until everything is handled, ends everything in good order, and adds it up.
    pub(crate) async fn end(mut self) -> Result<Report> {
        self.note("work_over", format!("{} produced or acknowledged", self.work.count()));
        let round_trip_ms = self.probe.stop().await?;
        let done = self.work.end(&self.arguments).await?;
        let mut report = Report { round_trip_ms, ..report(&self.arguments, &self.observer) };
        for consumer in &self.consumers {
            consumer.terminate()?;
        }
        for consumer in self.consumers {
            consumer.left().await?;
        }
        self.routers.stop().await?;
        self.instances.stop().await?;
        done.add_up(&self.journals, self.harm, self.arguments.scale(), &mut report)?;
        report.events = self.events;
        Ok(report)
    }
}

/// What is known of a run without its journals.
fn report(arguments: &Arguments, observer: &Observer) -> Report {
    let seen = observer.look();
    Report {
        mode: arguments.mode.to_string(),
        handoffs_completed: seen.completed(),
        handoffs_cancelled: seen.cancelled(),
        leader_changes: seen.leader_changes(),
        record_interval_ms: arguments.scale().interval.as_millis(),
        session_timeout_ms: SESSION_TIMEOUT.as_millis(),
        etcd_version: arguments.etcd_version.clone(),
        kafka_version: arguments.kafka_version.clone(),
        ..Report::default()
    }
}
