//! A store that is put back to a backup, under the instances that run, or by an operator who says so.

use std::time::Duration;

use kafka_assigner_store::embedded::StoreBackup;
use kafka_assigner_types::moment::millis;

use super::restore::Restore;
use super::{Act, Driver};
use crate::fault::Fault;
use crate::situation::{MOST_STARTING, StoreRestore};

/// The time after which a step is tried again that can't be done now.
const AGAIN: Duration = Duration::from_secs(1);

/// One step on the way to a store that was put back.
#[derive(Debug)]
pub(super) enum Restoring {
    /// A backup is made.
    BackUp(StoreRestore),
    /// The store goes away, to come back as it was in the backup.
    TakeAway(StoreRestore, StoreBackup),
    /// It comes back.
    PutBack(StoreRestore, StoreBackup),
}

impl Driver {
    /// Plans what this world's store goes through.
    pub(super) fn plan_restores(&mut self) {
        for restore in self.world.shape.situations.restores.clone() {
            self.schedule(restore.backed_up, Act::Restore(Restore::Store(Restoring::BackUp(restore))));
        }
    }

    pub(super) async fn step_restore(&mut self, step: Restoring) {
        if self.has_to_wait(&step) {
            return self.later(AGAIN, Restore::Store(step));
        }
        match step {
            Restoring::BackUp(restore) => {
                let backup = self.world.store.back_up();
                self.later(restore.age, Restore::Store(Restoring::TakeAway(restore, backup)));
            }
            Restoring::TakeAway(restore, backup) => self.take_store_to_restore(restore, backup),
            Restoring::PutBack(restore, backup) => self.put_store_back(&restore, &backup).await,
        }
    }

    /// At the end of all faults only what has begun is brought to its end.
    pub(super) async fn heal_restore(&mut self, step: Restoring) {
        if let Restoring::PutBack(restore, backup) = step {
            self.put_store_back(&restore, &backup).await;
        }
    }

    /// A record that is unreadable in a backup stays so: whoever mends it knows only the record as it was then.
    fn has_to_wait(&self, step: &Restoring) -> bool {
        let is_mending = |act: &Act| matches!(act, Act::Restore(Restore::Mend(_)));
        match step {
            Restoring::BackUp(_) => self.world.is_closed || self.agenda.values().any(is_mending),
            Restoring::TakeAway(..) => self.world.is_closed || self.world.outage.is_some(),
            Restoring::PutBack(..) => false,
        }
    }

    fn take_store_to_restore(&mut self, restore: StoreRestore, backup: StoreBackup) {
        let (away, outage) = restore.away;
        self.world.outage = Some(outage);
        self.world.links().for_each(|link| link.begin_outage(outage));
        if restore.is_announced {
            self.world.running().into_iter().for_each(|slot| drop(self.world.kill_instance(slot)));
        }
        self.world.history.excuse_everyone(away);
        if restore.cuts_off {
            let cut_off = self.cut_consumer_off();
            cut_off.into_iter().for_each(|who| self.world.history.happened(Fault::ConsumerCutOff, who));
        }
        self.later(away, Restore::Store(Restoring::PutBack(restore, backup)));
    }

    async fn put_store_back(&mut self, restore: &StoreRestore, backup: &StoreBackup) {
        self.world.put_back(backup, restore.is_raised).await;
        let how = match restore.is_announced {
            true => "by an operator",
            false => "under the instances",
        };
        self.world.history.happened(Fault::StoreWentBack, format!("by {:?}, {how}", restore.age));
        if restore.is_announced {
            self.world.announce_restore().await;
            for slot in 0..self.world.slots.len() {
                let after = self.millis(0, millis(MOST_STARTING));
                self.later(after, Restore::StartInstance(slot));
            }
        }
        self.end_outage();
        self.excuse_restore(restore);
    }

    /// In the strict modes everybody waits for the longest session that may have begun after the backup.
    fn excuse_restore(&mut self, restore: &StoreRestore) {
        let shape = &self.world.shape;
        let waits = if shape.is_strict_at_times() { shape.longest_session() } else { Duration::ZERO };
        let starts = if restore.is_announced { MOST_STARTING } else { Duration::ZERO };
        self.world.history.excuse_everyone(starts + waits);
        // Nothing else goes wrong while it is seen whether the group finds back.
        self.quiet_until = self.world.history.now() + starts + waits + shape.patience();
    }
}
