//! A group that an operator deletes, and that is made again: most of its members are gone, and some reach nobody who could tell
//! them.

use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_store::faulty::{Outage, Rates};
use kafka_assigner_types::mode::Mode;
use rand::RngExt as _;

use super::Driver;
use super::restore::Restore;
use crate::fault::Fault;
use crate::shape::mode;
use crate::world::Deletion;

/// The time between two tries of an operator to delete a group. Whoever is there may be without partitions on its account.
const DELETE_AGAIN: Duration = Duration::from_secs(1);

/// After the group was deleted, everybody registers, and topics are looked for.
const MADE_AGAIN: Duration = Duration::from_secs(10);

/// The most members that live through the deletion.
const MOST_STRANDED: usize = 2;

/// The share of the operator's writes that arrive late, and nobody learns of it.
const OFTEN_LATE: f64 = 0.5;

impl Driver {
    /// Almost everybody is gone at once; the group is deleted as soon as their claims are over.
    pub(super) fn close_group(&mut self) -> Option<String> {
        if self.world.outage.is_some() {
            return None;
        }
        self.world.is_closed = true;
        let stranded = self.strand_some();
        for process in self.world.processes.keys().copied().collect::<Vec<_>>() {
            if !stranded.contains(&self.consumer(process)) {
                drop(self.world.kill(process));
            }
        }
        while let Some(consumer) = self.world.kill_minimal() {
            self.later(Duration::ZERO, Restore::SpawnMinimal(consumer));
        }
        for router in self.world.routers.keys().copied().collect::<Vec<_>>() {
            drop(self.world.kill_router(router));
        }
        self.world.history.excuse_everyone(self.world.shape.ttl());
        self.later(DELETE_AGAIN, Restore::DeleteGroup);
        Some(String::new())
    }

    /// Some hear of nothing: they reach nobody, or one instance that does not reach the store.
    fn strand_some(&mut self) -> Vec<Arc<str>> {
        let count = self.dice.random_range(0..=MOST_STRANDED);
        let stranded: Vec<u32> = (0..count).filter_map(|_| self.victim(|_| true)).collect();
        let stranded: Vec<Arc<str>> = stranded.into_iter().map(|process| self.consumer(process)).collect();
        let span = self.world.shape.ttl().mul_f64(self.dice.random_range(1.5..=4.0));
        if !stranded.is_empty() {
            let deaf = self.cut_an_instance_off(span);
            stranded.iter().for_each(|consumer| self.strand(consumer, deaf.as_deref(), span));
        }
        stranded
    }

    /// The endpoint of an instance that does not reach the store for `span`; `None` where that would leave too few.
    fn cut_an_instance_off(&mut self, span: Duration) -> Option<String> {
        let running = self.world.running();
        let slot = self.one_of(&running).filter(|_| running.len() > 2 && self.cut_off.is_none())?;
        let slot = Some(slot).filter(|_| self.dice.random_bool(0.7))?;
        self.world.slots[slot].running.as_ref()?.link.begin_outage(Outage::Refusing);
        self.cut_off = Some(slot);
        self.later(span, Restore::EndCutOff(slot));
        Some(self.world.slots[slot].endpoint.clone())
    }

    /// Cuts `consumer` off from all instances but the one at `deaf`.
    fn strand(&mut self, consumer: &Arc<str>, deaf: Option<&str>, span: Duration) {
        self.world.history.happened(Fault::ConsumerStranded, consumer.to_string());
        self.world.history.excuse(consumer, span);
        for endpoint in self.world.slots.iter().map(|slot| slot.endpoint.clone()).collect::<Vec<_>>() {
            if deaf != Some(endpoint.as_str()) {
                self.world.network.cut_way(consumer, &endpoint);
                self.world.network.give_way_up(consumer, &endpoint);
                self.later(span, Restore::MendWay(Arc::clone(consumer), endpoint));
            }
        }
    }

    /// An operator tries until it is done. Where nobody learns whether it was, people start their programs again.
    pub(super) async fn delete_group(&mut self) {
        let slots: Vec<usize> =
            self.world.running().into_iter().filter(|slot| self.cut_off != Some(*slot)).collect();
        let slot = self.one_of(&slots).filter(|_| self.world.outage.is_none());
        self.world.history.excuse_everyone(DELETE_AGAIN * 2);
        let Some(slot) = slot else { return self.later(DELETE_AGAIN, Restore::DeleteGroup) };
        if self.dice.random_bool(OFTEN_LATE) {
            let late = Rates { apply_late: 0.8, latest: Duration::from_secs(3), ..Rates::default() };
            self.world.set_losses(slot, late);
        }
        let deletion = self.world.delete_group(slot).await;
        self.world.set_losses(slot, Rates::default());
        match deletion {
            Deletion::Done => {
                self.world.history.happened(Fault::GroupDeleted, format!("at slot {slot}"));
                self.make_group_again(slot).await;
            }
            Deletion::Unknown => self.open_group(),
            Deletion::Refused => self.later(DELETE_AGAIN, Restore::DeleteGroup),
        }
    }

    /// An operator makes it, where modes change, in one of them, and switches it soon.
    async fn make_group_again(&mut self, slot: usize) {
        if self.world.shape.mode_switches {
            let first = if self.dice.random_bool(0.6) { Mode::Overlap } else { mode(&mut self.dice) };
            let _is_made = self.world.make_group(slot, first).await;
            let (after, next) = (self.millis(500, 6_000), mode(&mut self.dice));
            self.later(after, Restore::SwitchMode(next));
        }
        self.open_group();
    }

    /// Whoever comes first makes the group, where nobody has.
    pub(super) fn open_group(&mut self) {
        self.world.is_closed = false;
        self.world.history.excuse_everyone(MADE_AGAIN);
        (0..self.world.shape.consumers).for_each(|_| drop(self.world.join()));
        (0..self.world.shape.routers).for_each(|_| drop(self.world.join_router()));
    }
}
