//! The faults of routers.

use std::sync::Arc;
use std::time::Duration;

use rand::RngExt as _;

use super::Driver;
use super::restore::Restore;
use crate::fault::{Fault, Party};
use crate::network::Cut;

/// More routers would only make a world slower.
const MOST_ROUTERS: usize = 4;

impl Driver {
    /// Lets a fault of routers happen, and tells to whom; nothing where it can't.
    pub(super) async fn try_router_fault(&mut self, fault: Fault) -> Option<String> {
        match fault {
            Fault::OwnerKilledServing => self.kill_a_serving_owner(),
            Fault::RouterKilled | Fault::RouterRestarted => self.kill_router(fault),
            Fault::RouterFrozen => self.freeze_router(),
            Fault::RouterCutOff => self.cut_router_off(Cut::Both),
            Fault::RouterHalfCutOff => {
                let cut = self.one_of(&[Cut::Calls, Cut::Answers])?;
                self.cut_router_off(cut)
            }
            Fault::RouterTableLags => self.let_table_lag(),
            Fault::RouterJoins => self.let_router_join(),
            Fault::RouterLeaves => self.let_router_leave(),
            Fault::RouterNameTakenTwice => self.take_router_name_twice(),
            Fault::RouterSessionEnded => self.end_router_session().await,
            Fault::RouterWordDeleted => self.world.delete_a_word().await,
            _ => None,
        }
    }

    /// It executes requests in that very moment: some are in the log, and nobody learns of them.
    fn kill_a_serving_owner(&mut self) -> Option<String> {
        let serving = self.world.desk.serving();
        let process = self.victim(|process| serving.contains(&process.number))?;
        let consumer = self.world.kill(process)?;
        self.world.history.excuse(&consumer, Duration::ZERO);
        let after = self.beyond_ttl();
        self.later(after, Restore::Spawn(Arc::clone(&consumer)));
        Some(consumer.to_string())
    }

    pub(super) fn some_router(&mut self) -> Option<u32> {
        let staying = self.world.staying_routers();
        self.one_of(&staying)
    }

    fn name_of(&self, router: u32) -> Arc<str> {
        Arc::clone(&self.world.routers[&router].name)
    }

    /// A freeze waits for whoever does not answer, at most until its session is over; requests may fail meanwhile.
    fn excuse_router(&self, name: &Arc<str>, span: Duration) {
        self.world.history.excuse(name, span);
        self.world.history.excuse_requests(span);
    }

    fn kill_router(&mut self, fault: Fault) -> Option<String> {
        let router = self.some_router()?;
        let after = match fault {
            Fault::RouterRestarted => self.world.shape.ttl().mul_f64(self.dice.random_range(0.02..=0.5)),
            _ => self.beyond_ttl(),
        };
        self.kill_router_for(router, after).map(|name| name.to_string())
    }

    fn kill_router_for(&mut self, router: u32, span: Duration) -> Option<Arc<str>> {
        let name = self.world.kill_router(router)?;
        self.excuse_router(&name, span);
        self.later(span, Restore::SpawnRouter(Arc::clone(&name)));
        Some(name)
    }

    fn freeze_router(&mut self) -> Option<String> {
        let router = self.some_router()?;
        let (name, span) = (self.name_of(router), self.beyond_ttl());
        self.excuse_router(&name, span);
        self.world.freeze_router(router);
        self.later(span, Restore::ThawRouter(router));
        Some(name.to_string())
    }

    fn cut_router_off(&mut self, cut: Cut) -> Option<String> {
        let router = self.some_router()?;
        let name = self.name_of(router);
        let span = self.world.shape.ttl().mul_f64(self.dice.random_range(0.3..=2.0));
        self.excuse_router(&name, span);
        self.world.network.cut_off(&name, cut);
        self.later(span, Restore::Reconnect(Arc::clone(&name)));
        Some(format!("{name}: {cut:?}"))
    }

    fn let_table_lag(&mut self) -> Option<String> {
        let span = self.millis(3_000, 15_000);
        let routers: Vec<Arc<str>> =
            self.world.routers.values().map(|process| Arc::clone(&process.name)).collect();
        let is_router = |member: &str| routers.iter().any(|name| **name == *member);
        let name = self.world.network.deafen_a_stream(span, is_router)?;
        self.excuse_router(&name, span);
        Some(name.to_string())
    }

    fn let_router_join(&mut self) -> Option<String> {
        (self.world.routers.len() < MOST_ROUTERS).then(|| self.world.join_router().to_string())
    }

    /// Somebody else stays, so that there is somebody to ask.
    fn let_router_leave(&mut self) -> Option<String> {
        let router = self.some_router().filter(|_| self.world.staying_routers().len() > 1)?;
        self.world.shut_router_down(router);
        Some(self.name_of(router).to_string())
    }

    fn take_router_name_twice(&mut self) -> Option<String> {
        let router = self.some_router().filter(|_| self.world.routers.len() < MOST_ROUTERS)?;
        let name = self.name_of(router);
        self.excuse_router(&name, Duration::from_secs(5));
        self.world.spawn_router(&name);
        Some(name.to_string())
    }

    async fn end_router_session(&mut self) -> Option<String> {
        let router = self.some_router()?;
        let name = self.name_of(router);
        self.excuse_router(&name, Duration::from_secs(5));
        let revokes = self.dice.random_bool(0.5);
        let ended = match revokes {
            true => self.world.revoke_router(&name).await,
            false => self.world.unregister_router(&name).await,
        };
        ended.then(|| name.to_string())
    }

    /// The moment has come in which a router is to die, to come or to go.
    pub(super) fn strike_router(&mut self, party: Party) -> bool {
        match party {
            Party::Router => {
                let after = self.millis(200, 15_000);
                self.some_router().and_then(|router| self.kill_router_for(router, after)).is_some()
            }
            Party::Joiner => self.let_router_join().is_some(),
            _ => self.let_router_leave().is_some(),
        }
    }
}
