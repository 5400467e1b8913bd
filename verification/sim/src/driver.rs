//! The course of a world: faults for five minutes, then healing, then rest.

mod deletion;
mod edges;
mod faults;
mod handoffs;
mod minimal;
mod rest;
mod restore;
mod restored;
mod revival;
mod routers;

use std::collections::BTreeMap;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::shape::FAULTY;
use crate::world::{Caught, World};
use restore::Restore;

/// The time between two looks at claims; a claim that lapses is noticed that late.
const PATROL: Duration = Duration::from_millis(100);

/// The time of the first fault: the first consumers have settled by then.
const FIRST_FAULT: Duration = Duration::from_secs(5);

/// The time at which the first routers come: the first consumer to register has brought the group up by then.
const FIRST_ROUTERS: Duration = Duration::from_secs(1);

/// The time after which a router that took itself out is run again.
const RUN_AGAIN: Duration = Duration::from_secs(1);

/// An instance marks a session so long after its last stream ended.
const SUSPECT_AFTER: Duration = Duration::from_secs(1);

/// Something that comes up.
#[derive(Debug)]
enum Act {
    /// Something goes wrong.
    Fault,
    /// Something that went wrong is over.
    Restore(Restore),
}

/// Drives one world.
#[derive(Debug)]
pub(crate) struct Driver {
    world: World,
    dice: StdRng,
    agenda: BTreeMap<(Duration, u64), Act>,
    /// The slot whose instance is cut off from the store for minutes.
    cut_off: Option<usize>,
    /// Nothing else goes wrong until then.
    quiet_until: Duration,
    next: u64,
    sprung: mpsc::Sender<Caught>,
    caught: mpsc::Receiver<Caught>,
}

impl Driver {
    pub(crate) fn new(world: World, seed: u64) -> Self {
        // One trap is set at a time.
        let (sprung, caught) = mpsc::channel(1);
        let dice = StdRng::seed_from_u64(seed ^ 0xd21_4e5);
        let (agenda, quiet_until) = (BTreeMap::new(), Duration::ZERO);
        Self { world, dice, agenda, cut_off: None, quiet_until, next: 0, sprung, caught }
    }

    /// Runs the world to its end, and gives it back for its figures.
    pub(crate) async fn run(mut self) -> World {
        self.world.begin().await;
        self.later(FIRST_ROUTERS, Restore::Routers(self.world.shape.routers));
        self.plan_fault(FIRST_FAULT);
        self.plan_restores();
        self.plan_minimal();
        self.plan_revival();
        while self.world.history.now() < FAULTY {
            self.turn().await;
        }
        self.heal().await;
        self.rest().await;
        self.world
    }

    /// Waits for what comes next, at most until the next patrol.
    async fn turn(&mut self) {
        let now = self.world.history.now();
        let due = self.agenda.keys().next().map_or(FAULTY, |(at, _)| *at);
        tokio::select! {
            biased;
            // The moment to strike lasts no time at all.
            Some(caught) = self.caught.recv() => self.strike(&caught).await,
            () = sleep(due.saturating_sub(now).min(PATROL)) => {}
        }
        self.look_after().await;
    }

    /// Does what is due at each look at the world.
    async fn look_after(&mut self) {
        self.world.patrol();
        self.world.bury();
        for name in self.world.bury_routers() {
            self.later(RUN_AGAIN, Restore::SpawnRouter(name));
        }
        self.world.ask();
        self.perform_due().await;
    }

    async fn perform_due(&mut self) {
        while let Some(first) = self.agenda.first_entry() {
            if first.key().0 > self.world.history.now() {
                return;
            }
            match first.remove() {
                Act::Fault => self.next_fault().await,
                Act::Restore(restore) => self.restore(restore).await,
            }
        }
    }

    async fn next_fault(&mut self) {
        self.inject().await;
        let pause = self.world.shape.pause.mul_f64(self.dice.random_range(0.2..=1.8));
        self.plan_fault(pause);
    }

    fn plan_fault(&mut self, after: Duration) {
        self.schedule(after, Act::Fault);
    }

    /// Something is over after that time.
    fn later(&mut self, after: Duration, restore: Restore) {
        self.schedule(after, Act::Restore(restore));
    }

    fn schedule(&mut self, after: Duration, act: Act) {
        self.next += 1;
        self.agenda.insert((self.world.history.now() + after, self.next), act);
    }

    fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.dice.random_range(least..=most))
    }

    /// Less than the life of a session, or more.
    fn share_of_a_session(&mut self) -> f64 {
        self.dice.random_range(0.1..=2.0)
    }

    /// One of `choices`, by chance.
    fn one_of<T: Clone>(&mut self, choices: &[T]) -> Option<T> {
        let chosen = self.dice.random_range(0..choices.len().max(1));
        choices.get(chosen).cloned()
    }
}
