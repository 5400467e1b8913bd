//! The faults, each as something that is done and something that undoes it.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_client::OnStop;
use kafka_assigner_store::faulty::{Outage, Rates};
use kafka_assigner_types::mode::Mode;
use rand::RngExt as _;

use super::restore::Restore;
use super::{Driver, SUSPECT_AFTER};
use crate::fault::Fault;
use crate::network::{Cut, Weather};
use crate::shape::{MOST_DEBOUNCE, mode};
use crate::world::Process;

/// More processes would only make a world slower.
pub(super) const MOST_PROCESSES: usize = 11;

/// Fewer consumers than that are joined by others.
const FEWEST_STAYING: usize = 4;

/// More partitions would only make a world slower.
const MOST_PARTITIONS: u32 = 18;

/// The most kinds that are tried where one can't happen now.
const ATTEMPTS: usize = 5;

impl Driver {
    /// Lets one of this world's faults happen.
    pub(super) async fn inject(&mut self) {
        if self.world.is_closed || self.world.history.now() < self.quiet_until {
            return;
        }
        while self.world.staying().len() < FEWEST_STAYING && self.world.processes.len() < MOST_PROCESSES {
            self.world.join();
        }
        for _ in 0..ATTEMPTS {
            let kinds = self.world.shape.faults.clone();
            let Some(fault) = self.one_of(&kinds) else { return };
            if let Some(to) = self.try_fault(fault).await {
                if !to.is_empty() {
                    self.world.history.happened(fault, to);
                }
                return;
            }
        }
    }

    /// Lets `fault` happen, and tells to whom; nothing where it can't, and nobody where it is told when it strikes.
    async fn try_fault(&mut self, fault: Fault) -> Option<String> {
        match fault {
            Fault::ConsumerKilled | Fault::ConsumerRestarted => self.kill_consumer(fault),
            Fault::ConsumerFrozen => self.freeze_consumer(),
            Fault::ConsumerCutOff => self.cut_consumer_off(),
            Fault::ConsumerWrittenOff => self.write_consumer_off().await,
            Fault::ConsumerSuspected => self.suspect_consumer().await,
            Fault::NameTakenTwice => self.take_name_twice(),
            Fault::ConsumerLeaves => self.let_leave(),
            Fault::ConsumerSaysRestart => self.let_restart(),
            Fault::JoinBurst => self.join_burst(),
            Fault::WarmFails | Fault::WarmNeverEnds => self.plague_warm_ups(fault),
            Fault::DeafStream => self.deafen(),
            Fault::StreamCut => self.world.network.cut_a_stream().map(|consumer| consumer.to_string()),
            Fault::CallsLost | Fault::AcksRepeated => self.storm(fault),
            Fault::InstanceKilled | Fault::InstanceStopped => self.end_instance(fault),
            Fault::LeaderKilled => {
                self.set_trap_for_leader();
                Some(String::new())
            }
            Fault::PartyKilled => {
                self.set_trap();
                Some(String::new())
            }
            Fault::StoreOutage => self.take_store_away(),
            Fault::LinkDown => self.take_link_down(),
            Fault::InstanceCutOff => self.cut_instance_off(),
            Fault::AppliedUnknown | Fault::LostUnknown => self.lose_calls_to_store(fault),
            Fault::WatchCut => self.cut_watches(),
            Fault::ViewLags => self.hold_views(),
            Fault::Compaction => self.compact().await,
            Fault::LeaseRevoked | Fault::RegistrationDeleted => self.end_session(fault).await,
            Fault::RecordUnreadable => self.spoil_record().await,
            Fault::TopicGrown => self.grow_topic(),
            Fault::TopicVanished => self.remove_topic(),
            Fault::StrategySwitched => self.switch_strategy().await,
            Fault::ConfigChanged => self.change_config().await,
            Fault::ModeSwitched => self.switch_mode().await,
            Fault::RouterStruck => {
                self.set_router_trap();
                Some(String::new())
            }
            fault => match self.try_edge_fault(fault) {
                Some(to) => Some(to),
                None => self.try_router_fault(fault).await,
            },
        }
    }

    /// A process that may go: enough others stay.
    pub(super) fn victim(&mut self, fits: impl Fn(&Process) -> bool) -> Option<u32> {
        let staying = self.world.staying();
        if staying.len() < FEWEST_STAYING {
            return None;
        }
        let fitting: Vec<u32> =
            staying.into_iter().filter(|number| fits(&self.world.processes[number])).collect();
        self.one_of(&fitting)
    }

    pub(super) fn consumer(&self, process: u32) -> Arc<str> {
        Arc::clone(&self.world.processes[&process].consumer)
    }

    /// A time that a session does not outlive.
    pub(super) fn beyond_ttl(&mut self) -> Duration {
        self.world.shape.ttl().mul_f64(self.dice.random_range(1.2..=2.0))
    }

    fn kill_consumer(&mut self, fault: Fault) -> Option<String> {
        let process = self.victim(|_| true)?;
        let consumer = self.world.kill(process)?;
        self.world.history.excuse(&consumer, Duration::ZERO);
        // Its instance notices the end of the connection, where no other process has the name.
        let session = self.world.session_of(&consumer).filter(|_| self.world.process_of(&consumer).is_none());
        if let Some(session) = session {
            self.later(SUSPECT_AFTER, Restore::Suspected(session));
        }
        let after = match fault {
            Fault::ConsumerRestarted => self.world.shape.ttl().mul_f64(self.dice.random_range(0.02..=0.5)),
            _ => self.beyond_ttl(),
        };
        self.later(after, Restore::Spawn(Arc::clone(&consumer)));
        Some(consumer.to_string())
    }

    /// Whoever hears it removes the mark, long before it counts.
    async fn suspect_consumer(&mut self) -> Option<String> {
        let process = self.victim(|_| true)?;
        let session = self.world.session_of(&self.consumer(process))?;
        let span = self.millis(100, 2_500);
        self.world.suspect(&session).await.then(|| {
            self.later(span, Restore::Heard(session.clone()));
            session.name.to_string()
        })
    }

    fn freeze_consumer(&mut self) -> Option<String> {
        let process = self.victim(|_| true)?;
        let (consumer, span) = (self.consumer(process), self.beyond_ttl());
        self.world.history.excuse(&consumer, span);
        self.world.freeze(process);
        self.later(span, Restore::Thaw(process));
        Some(consumer.to_string())
    }

    pub(super) fn cut_consumer_off(&mut self) -> Option<String> {
        let process = self.victim(|_| true)?;
        let consumer = self.consumer(process);
        let span = self.world.shape.ttl().mul_f64(self.dice.random_range(0.3..=2.0));
        self.world.history.excuse(&consumer, span);
        self.world.network.cut_off(&consumer, Cut::Both);
        self.later(span, Restore::Reconnect(Arc::clone(&consumer)));
        Some(consumer.to_string())
    }

    /// Two work where somebody else is granted what it has before its claim is over.
    async fn write_consumer_off(&mut self) -> Option<String> {
        let consumer = self.cut_consumer_off()?;
        self.world.unregister(&consumer).await.then_some(consumer)
    }

    /// One of the two stops by itself once it learns of the other.
    fn take_name_twice(&mut self) -> Option<String> {
        let process = self.victim(|_| true)?;
        let consumer = self.consumer(process);
        self.world.history.excuse(&consumer, Duration::from_secs(5));
        self.world.spawn(&consumer);
        Some(consumer.to_string())
    }

    fn let_leave(&mut self) -> Option<String> {
        let process = self.victim(|process| process.on_stop == OnStop::Drain)?;
        self.world.shut_down(process);
        self.later(crate::world::DRAIN_TIMEOUT - Duration::from_millis(50), Restore::Overdue(process));
        Some(self.consumer(process).to_string())
    }

    fn let_restart(&mut self) -> Option<String> {
        let process = self.victim(|process| process.on_stop == OnStop::Restart)?;
        let consumer = self.consumer(process);
        let config = self.world.read(|state| state.config().unwrap_or_default());
        let kept = Duration::from_millis(config.rejoin_grace_ms).max(self.world.shape.ttl());
        self.world.history.excuse(&consumer, kept);
        self.world.shut_down(process);
        let after = self.millis(300, 3_000);
        self.later(after, Restore::Spawn(Arc::clone(&consumer)));
        Some(consumer.to_string())
    }

    fn join_burst(&mut self) -> Option<String> {
        let room = MOST_PROCESSES.checked_sub(self.world.processes.len() + 1)?;
        let joining = self.dice.random_range(1..=3).min(room.max(1));
        let names: Vec<String> = (0..joining).map(|_| self.world.join().to_string()).collect();
        Some(names.join(" "))
    }

    /// Told when it strikes.
    fn plague_warm_ups(&mut self, fault: Fault) -> Option<String> {
        let process = self.victim(|_| true)?;
        let times = self.dice.random_range(1..=3);
        let temper = &self.world.processes[&process].temper;
        if fault == Fault::WarmFails {
            temper.fail(times);
        } else {
            temper.hang(times);
        }
        Some(String::new())
    }

    fn deafen(&mut self) -> Option<String> {
        let span = self.millis(3_000, 15_000);
        let consumer = self.world.network.deafen_a_stream(span, |_| true)?;
        self.world.history.excuse(&consumer, span);
        Some(consumer.to_string())
    }

    fn storm(&mut self, fault: Fault) -> Option<String> {
        let span = self.millis(4_000, 12_000);
        let rate = self.dice.random_range(0.05..=0.3);
        self.world.network.set_weather(match fault {
            Fault::AcksRepeated => Weather { repeat: 0.9, lose_answer: 0.1, ..Weather::default() },
            _ => Weather { lose_request: rate, lose_answer: rate, ..Weather::default() },
        });
        self.world.history.excuse_everyone(span);
        self.later(span, Restore::CalmNetwork);
        Some(format!("for {span:?}"))
    }

    fn end_instance(&mut self, fault: Fault) -> Option<String> {
        let running = self.world.running();
        if running.len() < 2 {
            return None;
        }
        let slot = self.one_of(&running)?;
        if fault == Fault::InstanceKilled {
            self.kill_instance(slot);
            return Some(format!("at slot {slot}"));
        }
        let patience = self.millis(0, 2_000);
        self.world.history.excuse_everyone(patience + Duration::from_secs(3));
        let id = self.world.stop_instance(slot, patience)?;
        // An address is used again only after its instance is gone: a stop ends within 5 s of its patience.
        let after = patience + self.millis(5_500, 15_000);
        self.later(after, Restore::StartInstance(slot));
        Some(id.to_string())
    }

    fn outage(&mut self) -> Outage {
        self.one_of(&[Outage::Refusing, Outage::Silent, Outage::Deaf]).unwrap_or(Outage::Silent)
    }

    fn take_store_away(&mut self) -> Option<String> {
        if self.world.outage.is_some() {
            return None;
        }
        let (outage, span) = (self.outage(), self.millis(500, 14_000));
        self.world.outage = Some(outage);
        self.world.links().for_each(|link| link.begin_outage(outage));
        self.world.history.excuse_everyone(span);
        self.later(span, Restore::EndOutage);
        Some(format!("{outage:?} for {span:?}"))
    }

    fn take_link_down(&mut self) -> Option<String> {
        let running = self.world.running();
        let slot = self.one_of(&running).filter(|_| self.world.outage.is_none())?;
        let (outage, span) = (self.outage(), self.millis(500, 12_000));
        self.world.slots[slot].running.as_ref()?.link.begin_outage(outage);
        self.world.history.excuse_everyone(span + self.world.shape.leader_ttl);
        self.later(span, Restore::EndLinkOutage(slot));
        Some(format!("at slot {slot}: {outage:?} for {span:?}"))
    }

    /// One at a time, and others stay: without any instance that has its store nobody could go on.
    fn cut_instance_off(&mut self) -> Option<String> {
        let running = self.world.running();
        let has_others = running.len() > 2 && self.world.outage.is_none() && self.cut_off.is_none();
        let has_others = has_others && !self.world.network.has_cut_ways();
        let slot = self.one_of(&running).filter(|_| has_others)?;
        let (outage, span) = (self.outage(), self.millis(30_000, 120_000));
        self.world.slots[slot].running.as_ref()?.link.begin_outage(outage);
        self.cut_off = Some(slot);
        self.world.history.excuse_everyone(self.world.shape.leader_ttl);
        self.later(span, Restore::EndCutOff(slot));
        Some(format!("at slot {slot}: {outage:?} for {span:?}"))
    }

    fn lose_calls_to_store(&mut self, fault: Fault) -> Option<String> {
        let running = self.world.running();
        let slot = self.one_of(&running)?;
        let (span, rate) = (self.millis(3_000, 10_000), self.dice.random_range(0.02..=0.2));
        self.world.set_losses(
            slot,
            match fault {
                Fault::LostUnknown => Rates { lose_request: rate, refuse: rate, ..Rates::default() },
                _ => Rates {
                    lose_answer: rate,
                    apply_late: rate / 4.0,
                    latest: Duration::from_secs(3),
                    ..Rates::default()
                },
            },
        );
        self.world.history.excuse_everyone(span + self.world.shape.leader_ttl);
        self.later(span, Restore::CalmLink(slot));
        Some(format!("at slot {slot} for {span:?}"))
    }

    fn cut_watches(&mut self) -> Option<String> {
        let running = self.world.running();
        let slot = self.one_of(&running)?;
        self.world.slots[slot].running.as_ref()?.link.cut_watches();
        Some(format!("at slot {slot}"))
    }

    fn hold_views(&mut self) -> Option<String> {
        let running = self.world.running();
        let slot = self.one_of(&running)?;
        let span = self.millis(500, 8_000);
        self.hold(slot, span);
        Some(format!("at slot {slot} for {span:?}"))
    }

    fn hold(&mut self, slot: usize, span: Duration) {
        if let Some(running) = &self.world.slots[slot].running {
            running.link.hold_watches();
            self.world.history.excuse_everyone(span + Duration::from_secs(3));
            self.later(span, Restore::ReleaseWatches(slot));
        }
    }

    async fn compact(&mut self) -> Option<String> {
        let running = self.world.running();
        let slot = self.one_of(&running)?;
        let span = self.millis(1_000, 4_000);
        self.hold(slot, span);
        // Something has to happen that the held views miss.
        self.world.configure(|_| {}).await;
        self.world.compact().await;
        Some(format!("with the views of slot {slot} behind"))
    }

    async fn end_session(&mut self, fault: Fault) -> Option<String> {
        let process = self.victim(|_| true)?;
        let consumer = self.consumer(process);
        self.world.history.excuse(&consumer, Duration::ZERO);
        let ended = match fault {
            Fault::LeaseRevoked => self.world.revoke(&consumer).await,
            _ => self.world.unregister(&consumer).await,
        };
        ended.then(|| consumer.to_string())
    }

    async fn spoil_record(&mut self) -> Option<String> {
        let spoiled = self.world.spoil().await?;
        let (name, span) = (spoiled.name(), self.millis(1_000, 12_000));
        self.world.history.excuse_everyone(span);
        self.later(span, Restore::Mend(spoiled));
        Some(name)
    }

    fn grow_topic(&mut self) -> Option<String> {
        let name = self.some_topic()?;
        let more = self.dice.random_range(1..=3);
        let partitions = self.world.kafka.grow(name, more, MOST_PARTITIONS)?;
        Some(format!("{name} to {partitions}"))
    }

    /// A topic counts as gone after three denials, two seconds apart.
    fn remove_topic(&mut self) -> Option<String> {
        let name = self.some_topic()?;
        let look = self.world.kafka.remove(name)?;
        let span = self.millis(7_000, 15_000);
        self.world.history.excuse_everyone(span + Duration::from_secs(5));
        self.later(span, Restore::Topic(name, look));
        Some(name.to_owned())
    }

    pub(super) fn some_topic(&mut self) -> Option<&'static str> {
        let names: Vec<&'static str> = self.world.shape.topics.iter().map(|(name, _)| *name).collect();
        self.one_of(&names)
    }

    async fn switch_strategy(&mut self) -> Option<String> {
        let current = self.world.read(|state| state.configured(|config| config.strategy.clone()));
        let next = if current == "jump-hash" { "sticky-balanced" } else { "jump-hash" };
        self.world.configure(|config| config.strategy = next.to_owned()).await.then(|| next.to_owned())
    }

    async fn switch_mode(&mut self) -> Option<String> {
        let mode = self.world.shape.mode_switches.then(|| mode(&mut self.dice))?;
        let change = self.world.configure(|config| config.mode = mode);
        change.await.then(|| mode.to_string())
    }

    pub(super) async fn switch_mode_to(&self, mode: Mode) {
        if self.world.configure(|config| config.mode = mode).await {
            self.world.history.happened(Fault::ModeSwitched, mode.to_string());
        }
    }

    async fn change_config(&mut self) -> Option<String> {
        let (warm, phase) = (self.dice.random_range(6_000..=12_000), self.dice.random_range(5_000..=9_000));
        let (moves, warming) = (self.dice.random_range(1..=40), self.dice.random_range(1..=10));
        let debounce = self.dice.random_range(0..=MOST_DEBOUNCE);
        let change = self.world.configure(|config| {
            (config.warm_deadline_ms, config.phase_deadline_ms) = (warm, phase);
            (config.max_moves_in_flight, config.max_warming) = (moves, warming);
            config.debounce_ms = debounce;
        });
        change.await.then(|| format!("moves {moves}, warming {warming}, debounce {debounce}"))
    }
}
