//! The faults at the edges: topics that are created anew, records that take too long, members that reach some instances only,
//! and clocks that jump.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt as _;

use super::Driver;
use super::restore::Restore;
use crate::fault::Fault;
use crate::history::What;
use crate::network::SILENCE;
use crate::world::{Process, topic};

/// The most by which a wall clock is set, forward and back.
const MOST_AHEAD_S: u64 = 7_200;

/// The most partitions of a topic that is created anew.
const MOST_ANEW: u32 = 14;

/// Two looks tell that a topic is another one, and its partitions are granted after a third; two seconds apart, and more
/// where denials come between.
const SEEN_ANEW: Duration = Duration::from_secs(12);

impl Driver {
    /// Lets a fault at an edge happen, and tells to whom; nothing where it can't.
    pub(super) fn try_edge_fault(&mut self, fault: Fault) -> Option<String> {
        match fault {
            Fault::ConsumerCutFromOne => {
                let consumer = self.victim(|_| true).map(|process| self.consumer(process))?;
                self.cut_from_one(&consumer)
            }
            Fault::RouterCutFromOne => {
                let router =
                    self.some_router().map(|router| Arc::clone(&self.world.routers[&router].name))?;
                self.cut_from_one(&router)
            }
            Fault::SlowFirstRecord | Fault::SlowDrain => self.slow_down(fault),
            Fault::TopicRecreated => self.recreate_topic(),
            Fault::GroupDeleted => self.close_group(),
            Fault::WallClockJumps => self.set_clock(),
            _ => None,
        }
    }

    /// The connection is given up by its silence, and another instance answers.
    fn cut_from_one(&mut self, member: &Arc<str>) -> Option<String> {
        let running = self.world.running();
        let has_others = running.len() > 2 && self.cut_off.is_none();
        let slot = self.one_of(&running).filter(|_| has_others)?;
        let endpoint = self.world.slots[slot].endpoint.clone();
        let span = self.millis(3_000, 60_000);
        self.world.network.cut_way(member, &endpoint);
        self.world.history.excuse(member, span.min(SILENCE));
        self.world.history.excuse_requests(span.min(SILENCE));
        self.later(SILENCE, Restore::GiveWayUp(Arc::clone(member), endpoint.clone()));
        self.later(span, Restore::MendWay(Arc::clone(member), endpoint.clone()));
        Some(format!("{member} from {endpoint} for {span:?}"))
    }

    /// Told when it strikes.
    fn slow_down(&mut self, fault: Fault) -> Option<String> {
        let number = self.victim(|_: &Process| true)?;
        let times = self.dice.random_range(1..=3);
        let temper = &self.world.processes[&number].temper;
        match fault {
            Fault::SlowDrain if self.world.shape.routers > 0 && self.dice.random_bool(0.5) => {
                temper.take_long(times);
            }
            Fault::SlowDrain => temper.drain_slowly(times),
            _ => temper.start_slowly(times),
        }
        Some(String::new())
    }

    /// A topic without an id is known to be another one only where it was seen to be gone.
    fn recreate_topic(&mut self) -> Option<String> {
        let name = self.some_topic()?;
        let is_quick = self.world.kafka.has_ids() && self.dice.random_bool(0.5);
        let away = if is_quick { self.millis(0, 500) } else { self.millis(10_000, 30_000) };
        let partitions = self.dice.random_range(1..=MOST_ANEW);
        let former = self.world.kafka.remove(name)?.partitions;
        self.world.history.excuse_everyone(away + SEEN_ANEW);
        self.later(away, Restore::AnotherTopic(name, partitions));
        Some(format!("{name} from {former} to {partitions} partitions after {away:?}"))
    }

    /// Kafka tells ids in most worlds: then the service has to notice by the id alone.
    pub(super) fn create_another(&self, name: &'static str, partitions: u32) {
        self.world.kafka.create(name, partitions);
        if self.world.kafka.has_ids() {
            self.world.history.note(What::Recreated { topic: topic(name) });
        }
    }

    fn set_clock(&mut self) -> Option<String> {
        let slot = self.dice.random_range(0..self.world.slots.len());
        let ahead = Duration::from_secs(self.dice.random_range(0..=MOST_AHEAD_S));
        self.world.slots[slot].set_clock(ahead);
        Some(format!("at slot {slot} to {ahead:?}"))
    }
}
