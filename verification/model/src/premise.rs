//! The states that have to be reachable for an invariant to say anything.

use kafka_assigner_core::record::Phase;
use kafka_assigner_core::view::Role;
use kafka_assigner_types::mode::Mode;
use stateright::Property;

use crate::session::Said;
use crate::step::Protocol;
use crate::world::World;

/// The premises of a mode.
#[must_use]
pub(crate) fn of(mode: Mode) -> Vec<Property<Protocol>> {
    let mut premises = vec![Property::sometimes("a handoff goes through", goes_through)];
    if mode.is_strict() {
        premises.extend([
            Property::sometimes("an owner stands still while another one acts", stands_still),
            Property::sometimes("one works where another one stopped", follows),
            Property::sometimes("an attempt that stopped its owner is cancelled", is_cancelled),
        ]);
    }
    if mode == Mode::Routed {
        premises.push(Property::sometimes("a request waits for a handoff", waits));
        premises.push(Property::sometimes("a handoff passes a router that says nothing", passes_silent));
    }
    premises
}

fn goes_through(_: &Protocol, world: &World) -> bool {
    let took = |said: &(_, _, Said)| said.2 == Said::Taken;
    world.sessions.iter().skip(1).any(|session| !session.works.is_empty() && session.said.iter().any(took))
}

fn stands_still(_: &Protocol, world: &World) -> bool {
    world.partitions().any(|at| {
        let is_owner = |role: Option<&Role>| matches!(role, Some(Role::Owner { .. }));
        let stands = world.sessions.iter().any(|s| s.is_active() && !s.claim && is_owner(s.roles.get(&at)));
        stands && world.sessions.iter().any(|s| s.works.contains(&at) && s.may_act(&at))
    })
}

fn follows(_: &Protocol, world: &World) -> bool {
    world.sessions.iter().skip(1).any(|session| {
        session
            .works
            .iter()
            .any(|at| session.holds.get(at).and_then(|hold| hold.position).is_some_and(|p| p > 0))
    })
}

fn is_cancelled(_: &Protocol, world: &World) -> bool {
    let stopped = |session: &crate::session::Session| session.holds.values().any(|hold| hold.is_stopped);
    let state = &world.now.state;
    let is_over = |at: &_| state.handoff(at).is_some_and(|handoff| handoff.phase == Phase::Cancelled);
    world.partitions().any(|at| is_over(&at)) && world.sessions.iter().any(stopped)
}

fn waits(_: &Protocol, world: &World) -> bool {
    world.request.as_ref().is_some_and(|request| {
        request.sent.is_none() && world.routers[request.router].stashes(&request.at).is_some()
    })
}

fn passes_silent(_: &Protocol, world: &World) -> bool {
    let state = &world.now.state;
    world.routers.iter().any(|router| router.is_mute && router.alive)
        && world.partitions().any(|at| state.handoff(&at).is_some_and(|h| h.phase == Phase::Draining))
}
