//! The check that a state comes to rest when it is left alone (I6).

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use kafka_assigner_core::record::{Handoff, Standing};

use crate::act;
use crate::router::Router;
use crate::step::Protocol;
use crate::world::World;

/// The most steps that a group takes to its rest: a few dozen for each handoff that may follow from one state.
pub const MOST_STEPS: u16 = 400;

/// How many steps each state is away from its rest, for the states that were followed so far.
#[derive(Debug, Clone, Default)]
pub struct Rests(Arc<Mutex<HashMap<u64, u16>>>);

impl Rests {
    fn of(&self, state: u64) -> Option<u16> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&state).copied()
    }

    fn note(&self, path: &[u64], steps_from_end: u16) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (state, steps) in path.iter().rev().zip(steps_from_end..) {
            known.insert(*state, steps);
        }
    }
}

impl Protocol {
    /// True if the group comes to rest within [`MOST_STEPS`] of a scheduler that always takes the first step that
    /// changes something, and no trouble.
    #[must_use]
    pub fn settles(&self, world: &World) -> bool {
        let mut path = Vec::new();
        let mut at = world.clone();
        loop {
            let state = key(&at);
            let known = self.rests.of(state);
            if path.len() + usize::from(known.unwrap_or_default()) > usize::from(MOST_STEPS)
                || at.broken.is_some()
            {
                return false;
            }
            if let Some(steps) = known {
                self.rests.note(&path, steps + 1);
                return true;
            }
            path.push(state);
            match self.undisturbed(&at) {
                Some(next) => at = next,
                None if self.is_settled(&at) => {
                    self.rests.note(&path, 0);
                    return true;
                }
                None => return false,
            }
        }
    }

    fn undisturbed(&self, world: &World) -> Option<World> {
        let mut steps = Vec::new();
        self.progress(world, &mut steps);
        steps.into_iter().find_map(|step| act::act(self, world, step))
    }

    /// No handoff is left, what somebody takes is worked on by whom the assignment names, and no request waits.
    fn is_settled(&self, world: &World) -> bool {
        let state = &world.now.state;
        let takes = |name: &_| state.registration(name).is_some_and(|c| c.standing == Standing::Active);
        let has_taker = state.consumers().keys().any(takes);
        let is_worked_on = world.excused.is_empty() && world.partitions().all(|at| world.workers(&at) == 1);
        let may_wait = |router: &Router| !router.alive || router.is_stuck;
        let is_served = world.request.as_ref().is_none_or(|request| may_wait(&world.routers[request.router]));
        match has_taker {
            true => state.handoffs().is_empty() && is_worked_on && is_served && has_its_mode(world),
            // Where the old owner stopped is kept for whoever comes.
            false => state.handoffs().keys().filter_map(|at| state.handoff(at)).all(keeps_offset),
        }
    }
}

/// No switch of the mode is under way any more.
fn has_its_mode(world: &World) -> bool {
    let mode = world.now.state.configured(|config| config.mode);
    let has_it =
        |at| world.now.state.assignment(&at).is_some_and(|a| a.mode == mode && a.switching.is_none());
    world.partitions().all(has_it)
}

fn keeps_offset(handoff: &Handoff) -> bool {
    handoff.phase.is_in_flight() && !handoff.stopped_at.is_empty()
}

fn key(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash_without_bounds(&mut hasher);
    hasher.finish()
}
