//! A store that changes its leader again and again: each time it gives every lease its whole time again, also that of a consumer
//! that stands still, and whose stream stays open.

use std::time::Duration;

use super::restore::Restore;
use super::{Act, Driver};
use crate::fault::Fault;
use crate::situation::StoreRevival;

/// The time after which it is tried again where something else is still wrong.
const AGAIN: Duration = Duration::from_secs(1);

/// The most tries. Faults are over within a minute.
const MOST_TRIES: u32 = 60;

/// One step of a store that does not come to rest.
#[derive(Debug)]
pub(super) enum Reviving {
    /// It begins, once nothing else is wrong.
    Begin { revival: StoreRevival, tries: u32 },
    /// All leases get their whole time again, until the time at which the process goes on that stands still.
    Again { every: Duration, until: Duration, still: u32 },
}

impl Driver {
    /// Plans it, where this world has such a store.
    pub(super) fn plan_revival(&mut self) {
        if let Some(revival) = self.world.shape.situations.revival {
            let begin = Restore::Leases(Reviving::Begin { revival, tries: 0 });
            self.schedule(revival.from, Act::Restore(begin));
        }
    }

    pub(super) async fn revive(&mut self, step: Reviving) {
        match step {
            Reviving::Begin { revival, tries } => self.begin_revival(revival, tries),
            Reviving::Again { until, still, .. } if self.world.history.now() >= until => {
                self.world.thaw(still);
            }
            Reviving::Again { every, until, still } => {
                self.world.revive_leases().await;
                self.later(every, Restore::Leases(Reviving::Again { every, until, still }));
            }
        }
    }

    /// Nothing else goes wrong from the first try on: whoever else is suspected keeps that one from being taken over.
    fn begin_revival(&mut self, revival: StoreRevival, tries: u32) {
        let now = self.world.history.now();
        self.quiet_until = self.quiet_until.max(now + AGAIN * 2);
        self.world.observer.arm(None);
        if self.has_something_wrong() {
            if tries < MOST_TRIES {
                let begin = Reviving::Begin { revival, tries: tries + 1 };
                self.later(AGAIN, Restore::Leases(begin));
            }
            return;
        }
        let Some(still) = self.victim(|_| true) else { return };
        let consumer = self.consumer(still);
        let (every, span) = (revival.every(self.world.shape.ttl()), self.world.shape.patience() * 2);
        // It may keep what it has until it goes on.
        self.world.history.excuse(&consumer, span);
        let to = format!("each {every:?}, while {consumer} stands still");
        self.world.history.happened(Fault::LeasesRevived, to);
        self.world.freeze(still);
        self.quiet_until = self.quiet_until.max(now + span);
        self.later(every, Restore::Leases(Reviving::Again { every, until: now + span, still }));
    }

    fn has_something_wrong(&self) -> bool {
        let is_open =
            |act: &Act| !matches!(act, Act::Fault | Act::Restore(Restore::Store(_) | Restore::KillMinimal));
        let is_one_leaving = self.world.processes.values().any(|process| process.leaves);
        self.world.is_closed
            || self.world.outage.is_some()
            || self.cut_off.is_some()
            || is_one_leaving
            || self.agenda.values().any(is_open)
    }
}
