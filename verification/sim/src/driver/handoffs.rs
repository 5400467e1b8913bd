//! Deaths in the very moment of a handoff, and routers that come and go in it.

use std::time::Duration;

use rand::RngExt as _;

use super::Driver;
use super::restore::Restore;
use crate::fault::{Fault, Moment, Party, Strike};
use crate::history::What;
use crate::world::{Caught, Trap};

impl Driver {
    /// Waits for some moment in some handoff to kill some party of it.
    pub(super) fn set_trap(&mut self) {
        let mode = self.world.read(|state| state.configured(|config| config.mode));
        let strikes = Strike::all().filter(|strike| !strike.party.routes() && strike.is_in(mode));
        let strikes: Vec<Strike> = strikes.collect();
        if let Some(strike) = self.one_of(&strikes) {
            self.arm(strike);
        }
    }

    /// Waits for some moment in some handoff in which a router dies, joins or leaves.
    pub(super) fn set_router_trap(&mut self) {
        let mode = self.world.read(|state| state.configured(|config| config.mode));
        let strikes = Strike::all().filter(|strike| strike.party.routes() && strike.is_in(mode));
        let strikes: Vec<Strike> = strikes.collect();
        if let Some(strike) = self.one_of(&strikes) {
            self.arm(strike);
        }
    }

    /// Waits for handoffs to be under way to kill the leader.
    pub(super) fn set_trap_for_leader(&mut self) {
        let moment = if self.dice.random_bool(0.5) { Moment::Warming } else { Moment::Ready };
        self.arm(Strike { moment, party: Party::Leader });
    }

    /// A trap needs something that moves.
    fn arm(&mut self, strike: Strike) {
        self.world.observer.arm(Some(Trap::new(strike, self.sprung.clone())));
        if self.world.processes.len() < super::faults::MOST_PROCESSES {
            self.world.join();
        }
    }

    /// The moment has come.
    pub(super) async fn strike(&mut self, caught: &Caught) {
        let struck = match (caught.strike.party, &caught.handoff) {
            (Party::Old, handoff) => self.strike_consumer(handoff.old.name.as_str()).await,
            (Party::New, handoff) => self.strike_consumer(handoff.new.name.as_str()).await,
            (Party::Leader, _) => self.strike_leader(),
            (party, _) => self.strike_router(party),
        };
        if struck {
            let fault = match caught.strike.party {
                Party::Leader => Fault::LeaderKilled,
                Party::Old | Party::New => Fault::PartyKilled,
                Party::Router | Party::Joiner | Party::Leaver => Fault::RouterStruck,
            };
            self.world.history.happened(fault, caught.strike.to_string());
            self.world.history.note(What::Struck(caught.strike));
        }
    }

    /// Half of them are gone at once: their session ran out in the same moment.
    async fn strike_consumer(&mut self, victim: &str) -> bool {
        let Some(process) = self.world.process_of(victim) else { return false };
        if self.world.staying().len() < 3 {
            return false;
        }
        let Some(consumer) = self.world.kill(process) else { return false };
        self.world.history.excuse(&consumer, Duration::ZERO);
        if self.dice.random_bool(0.5) {
            self.world.revoke(victim).await;
        }
        let after = self.millis(200, 20_000);
        let name_returns = self.dice.random_bool(0.5);
        self.later(after, if name_returns { Restore::Spawn(consumer) } else { Restore::Join });
        true
    }

    fn strike_leader(&mut self) -> bool {
        let Some(slot) = self.world.leader().filter(|_| self.world.running().len() > 1) else { return false };
        self.kill_instance(slot);
        true
    }

    /// Whoever leads instead needs the leader's lease to run out, and a moment.
    pub(super) fn kill_instance(&mut self, slot: usize) {
        let failover = self.world.shape.leader_ttl + Duration::from_secs(3);
        self.world.history.excuse_everyone(failover);
        self.world.kill_instance(slot);
        let after = self.millis(1_000, 15_000);
        self.later(after, Restore::StartInstance(slot));
    }
}
