//! The effect of a step on the world.

mod leading;
mod living;
mod routing;
mod telling;
mod working;

use std::sync::Arc;

use crate::property::Invariant;
use crate::session::{Life, Session};
use crate::step::{Protocol, Step};
use crate::variant::Variant;
use crate::world::{World, name};

pub(crate) use leading::decided;

/// The first state: the first consumer owns everything and works on it, and the first routers know.
pub(crate) fn begin(protocol: &Protocol) -> World {
    let mut world = World::begin(protocol.bounds);
    world.has_three_phases = protocol.variant == Variant::ThreePhases;
    world.has_blind_ends = protocol.variant == Variant::EndsAndGrants;
    leading::grant_all(&mut world);
    telling::tell_first(protocol, &mut world);
    for at in world.partitions().collect::<Vec<_>>() {
        for step in [Step::Seize(0, at.clone(), false), Step::Read(0, at.clone()), Step::Start(0, at)] {
            world = act(protocol, &world, step).unwrap_or(world);
        }
    }
    (1..protocol.bounds.present).for_each(|number| world.register(number, false));
    let now = Arc::clone(&world.now);
    world.views.fill(now);
    for router in 0..world.routers.len() {
        world = act(protocol, &world, Step::TellRouter(router)).unwrap_or(world);
    }
    world
}

/// The world after a step; `None` where it changes nothing.
pub(crate) fn act(protocol: &Protocol, world: &World, step: Step) -> Option<World> {
    let mut next = world.clone();
    let dies = dying(world, &step);
    if let Some(dead) = dies {
        next.note_death(dead);
    }
    carry_out(protocol, &mut next, step)?;
    next.settle_excuses();
    next.forget_words();
    if world.is_strict() {
        // Three phases have two owners by design: what that costs is what has to be seen.
        if !next.has_three_phases {
            next.check_holders();
        }
    } else if dies.is_none() {
        check_gap(world, &mut next);
    }
    Some(next)
}

/// The session that a step is the death of.
fn dying(world: &World, step: &Step) -> Option<usize> {
    match step {
        Step::Crash(session)
        | Step::Leave(session)
        | Step::Restart(session)
        | Step::Fence(session)
        | Step::Revoke(session)
        | Step::End(session) => Some(*session),
        Step::Age(session) => {
            (world.sessions[*session].life != Life::Fresh || !world.is_strict()).then_some(*session)
        }
        Step::Beat(session) | Step::BeatAnswered(session) => {
            (!world.is_registered(&world.sessions[*session])).then_some(*session)
        }
        Step::Register(number) => {
            let is_it = |session: &Session| session.member.name.as_str() == name(*number);
            world.sessions.iter().rposition(|session| is_it(session) && world.is_registered(session))
        }
        _ => None,
    }
}

/// I4, over one step that is nobody's death.
fn check_gap(before: &World, after: &mut World) {
    for at in before.partitions() {
        let is_gap = before.workers(&at) > 0 && after.workers(&at) == 0 && !after.excused.contains(&at);
        match (is_gap, after.owner_lives(&at)) {
            (false, _) => {}
            (true, true) => after.breaks(Invariant::NoGap),
            // It went to somebody whose death nobody has noticed yet.
            (true, false) => drop(after.excused.insert(at)),
        }
    }
}

fn carry_out(protocol: &Protocol, world: &mut World, step: Step) -> Option<()> {
    match step {
        Step::Sync(_)
        | Step::Ask(_)
        | Step::Lead(..)
        | Step::LeadUnknown(..)
        | Step::Overdue(..)
        | Step::FreezeOverdue(..)
        | Step::Fenced(..)
        | Step::FenceOver(..)
        | Step::Land
        | Step::Abort(..)
        | Step::Depose => leading::lead(protocol, world, step),
        Step::Tell(_)
        | Step::Say(..)
        | Step::Fail(..)
        | Step::Stray(..)
        | Step::Arrive(_)
        | Step::Reconnect(_) => telling::talk(protocol, world, step),
        Step::Start(..)
        | Step::Work(..)
        | Step::EndRecord(..)
        | Step::Commit(..)
        | Step::Seize(..)
        | Step::Read(..)
        | Step::Deliver(_)
        | Step::Arrived => working::work(protocol, world, step),
        Step::TellRouter(_)
        | Step::SayRouter(..)
        | Step::JoinRouter(_)
        | Step::WakeRouter(_)
        | Step::CrashRouter(_)
        | Step::ExpireRouter(_)
        | Step::Request(..)
        | Step::Send => routing::route(protocol, world, step),
        Step::Fence(_)
        | Step::Crash(_)
        | Step::Age(_)
        | Step::Grace(_)
        | Step::GraceOver(_)
        | Step::Beat(_)
        | Step::SlowBeat(_)
        | Step::BeatAnswered(_)
        | Step::Suspect(_)
        | Step::Unmark(_)
        | Step::Revoke(_)
        | Step::End(_)
        | Step::Register(_)
        | Step::Leave(_)
        | Step::Restart(_)
        | Step::Forgo(_)
        | Step::Drain(_)
        | Step::Spoil(_)
        | Step::Mend
        | Step::Recreate
        | Step::LookAtKafka(_)
        | Step::Switch => living::live(protocol, world, &step),
    }
}
