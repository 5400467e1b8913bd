//! Sessions come, live by their heartbeats, and end.

use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::{Consumer, DeathSign, Extra, GroupConfig, Suspicion, encode};
use kafka_assigner_core::session::{Leaving, Registration as _, check, end, leave};
use kafka_assigner_types::kv::{Lease, Op, Txn};
use kafka_assigner_types::moment::WallMillis;

use super::telling::is_fresh;
use crate::session::{Life, Session};
use crate::step::{Protocol, Step};
use crate::variant::Variant;
use crate::world::{World, lease, name};

pub(super) fn live(protocol: &Protocol, world: &mut World, step: &Step) -> Option<()> {
    match *step {
        Step::Fence(session) => stop(world, session, true),
        Step::Crash(session) => {
            world.left.crashes -= 1;
            stop(world, session, false);
        }
        Step::Age(session) => age(protocol, world, session)?,
        Step::Grace(session) => {
            world.left.graces -= 1;
            world.sessions[session].has_grace = true;
        }
        Step::GraceOver(session) => world.sessions[session].has_grace = false,
        Step::Beat(session) => beat(protocol, world, session)?,
        Step::SlowBeat(session) => begin_beat(protocol, world, session)?,
        Step::BeatAnswered(session) => answer_beat(protocol, world, session)?,
        Step::Suspect(session) => suspect(world, session)?,
        Step::Unmark(session) => unmark(world, session)?,
        Step::Revoke(session) => revoke(protocol, world, session)?,
        Step::End(session) => end_by_force(protocol, world, session)?,
        Step::Register(number) => register(protocol, world, number)?,
        Step::Leave(session) => {
            world.left.leaves -= 1;
            let is_noted = world.left.waits_out || !world.is_registered(&world.sessions[session]);
            let leaving = if is_noted { Leaving::Noted(mark(session)) } else { Leaving::Now };
            leave_by(world, session, &leaving)?;
            if protocol.variant != Variant::LetGoEarly {
                stop(world, session, false);
            }
        }
        Step::Restart(session) => {
            world.left.restarts -= 1;
            leave_by(world, session, &Leaving::Restart(mark(session)))?;
            stop(world, session, false);
        }
        Step::Forgo(session) => world.end_lease(mark(session).id),
        Step::Drain(session) => {
            world.left.drains -= 1;
            leave_by(world, session, &Leaving::Drain)?;
            if protocol.variant == Variant::DrainRevokes && !world.has_taker() {
                world.sessions[session].life = Life::Gone;
                world.end_lease(world.sessions[session].lease);
            }
        }
        Step::Spoil(number) => spoil(world, number)?,
        Step::Mend => mend(world)?,
        Step::Recreate => world.recreate_topics(),
        Step::LookAtKafka(look) => world.look_at_kafka(look)?,
        Step::Switch => switch(world),
        _ => return None,
    }
    Some(())
}

fn stop(world: &mut World, session: usize, is_fenced: bool) {
    let session = &mut world.sessions[session];
    session.stop();
    session.fenced |= is_fenced;
    session.alive &= is_fenced;
}

/// Time passes for one lease that nobody keeps alive. The claim counts from before the lease was kept alive last: when
/// a third is left of the lease, it is over.
fn age(protocol: &Protocol, world: &mut World, number: usize) -> Option<()> {
    let is_disturbed = world.sessions[number].is_active() && world.is_registered(&world.sessions[number]);
    let is_strict = world.is_strict();
    let session = &mut world.sessions[number];
    let keeps_claim = protocol.variant == Variant::NoMargin && session.life == Life::Fresh;
    session.claim &= keeps_claim;
    session.is_beating = false;
    match (session.life, is_strict) {
        (Life::Fresh, true) => {
            session.life = Life::Third;
            session.stale_life = Life::Third;
            world.left.pauses -= u8::from(is_disturbed);
        }
        (Life::Fresh | Life::Third, _) => {
            session.life = Life::Gone;
            session.stale_life = Life::Gone;
            let lease = session.lease;
            world.left.expiries -= u8::from(is_disturbed);
            world.end_lease(lease);
        }
        // Its clock runs down though its lease is gone.
        (Life::Gone, _) => {}
    }
    Some(())
}

/// Read, keep alive, read: a session is confirmed that the store knows before and after.
fn beat(protocol: &Protocol, world: &mut World, number: usize) -> Option<()> {
    if protocol.variant == Variant::KeepsConfirming && world.sessions[number].life != Life::Gone {
        confirm(&mut world.sessions[number]);
        return Some(());
    }
    begin_beat_unbounded(protocol, world, number)?;
    answer_beat(protocol, world, number)
}

fn confirm(session: &mut Session) {
    session.life = Life::Fresh;
    session.claim = true;
    session.has_grace = false;
    session.is_beating = false;
}

fn begin_beat(protocol: &Protocol, world: &mut World, number: usize) -> Option<()> {
    world.left.slow_beats -= 1;
    begin_beat_unbounded(protocol, world, number)
}

fn begin_beat_unbounded(protocol: &Protocol, world: &mut World, number: usize) -> Option<()> {
    is_known(world, number).then_some(())?;
    let session = &mut world.sessions[number];
    session.life = Life::Fresh;
    if protocol.variant != Variant::TermReadAfter {
        session.stale_life = Life::Fresh;
    }
    session.is_beating = true;
    Some(())
}

/// The second read decides. The mark of a session goes before it is answered.
fn answer_beat(protocol: &Protocol, world: &mut World, number: usize) -> Option<()> {
    world.sessions[number].is_beating.then_some(())?;
    if is_known(world, number) {
        if protocol.variant != Variant::MarkRemovedLate && world.is_suspected(&world.sessions[number]) {
            unmark(world, number)?;
        }
        hear_fences(protocol, world, number)?;
        world.sessions[number].is_heard = true;
        confirm(&mut world.sessions[number]);
    } else {
        stop(world, number, true);
    }
    Some(())
}

/// What the client says it has dropped goes from its registration, and it is told of the rest before it is confirmed.
fn hear_fences(protocol: &Protocol, world: &mut World, number: usize) -> Option<()> {
    if !world.is_fenced_of_any(&world.sessions[number]) {
        return Some(());
    }
    let session = &world.sessions[number];
    let (heard, news): (Vec<_>, Vec<_>) =
        world.fences_of(session).into_iter().partition(|(at, epoch)| session.has_heard(at, *epoch));
    let registration = world.now.state.registration_of(&session.member)?;
    if let Some(next) = registration.unfenced(&heard) {
        let key = world.now.state.layout().encode(&Key::Consumer(session.member.name.clone()));
        let put = Op::put_leased(key, encode(&next), session.lease);
        world.apply(&Txn::guarded(Vec::new(), vec![put])).then_some(())?;
    }
    for (at, epoch) in news {
        let committed = world.logs.get(&at).map_or(0, |log| log.committed);
        let session = &mut world.sessions[number];
        match protocol.variant {
            Variant::FenceDisobeyed => drop(session.fences.insert(at, epoch)),
            _ => session.drop_fenced(&at, epoch, committed),
        }
    }
    Some(())
}

/// An instance saw its stream end, and has not heard it since.
fn suspect(world: &mut World, number: usize) -> Option<()> {
    let session = &world.sessions[number];
    (!world.is_suspected(session)).then_some(())?;
    let mark = Suspicion {
        sign: DeathSign::Detached,
        by: "0".to_owned(),
        stream: 1,
        rest_ms: 30_000,
        since: WallMillis(0),
        extra: Extra::new(),
    };
    world.left.suspicions -= 1;
    remark(world, number, Some(mark))?;
    world.sessions[number].is_heard = false;
    Some(())
}

fn unmark(world: &mut World, number: usize) -> Option<()> {
    remark(world, number, None)
}

fn remark(world: &mut World, number: usize, suspected: Option<Suspicion>) -> Option<()> {
    let session = &world.sessions[number];
    let registration = world.now.state.registration(&session.member.name)?;
    let is_its = registration.incarnation == session.member.incarnation && !registration.is_ending();
    is_its.then_some(())?;
    let next = Consumer { suspected, ..(**registration).clone() };
    let key = world.now.state.layout().encode(&Key::Consumer(session.member.name.clone()));
    let put = Op::put_leased(key, encode(&next), session.lease);
    world.apply(&Txn::guarded(Vec::new(), vec![put])).then_some(())
}

fn is_known(world: &World, number: usize) -> bool {
    let session = &world.sessions[number];
    let key = world.now.state.layout().encode(&Key::Consumer(session.member.name.clone()));
    let registered = world.now.shelf.get(&key);
    session.life != Life::Gone
        && check::<Consumer>(registered, &session.member.incarnation, session.lease).is_ok()
}

fn revoke(protocol: &Protocol, world: &mut World, number: usize) -> Option<()> {
    world.left.revocations -= 1;
    let session = &mut world.sessions[number];
    session.life = Life::Gone;
    let (lease, member) = (session.lease, session.member.clone());
    let is_outside = protocol.variant != Variant::TimerRevokes && !world.left.waits_out;
    for (at, log) in &mut world.logs {
        let owner = world.now.state.assignment(at).and_then(|a| a.owner.as_ref());
        log.is_revoked |= is_outside && owner.is_some_and(|owner| owner.is(&member));
    }
    world.end_lease(lease);
    Some(())
}

fn end_by_force(protocol: &Protocol, world: &mut World, number: usize) -> Option<()> {
    world.left.ends -= 1;
    let session = &world.sessions[number];
    let (lease, view) = (session.lease, &world.views[session.instance]);
    let write = end(&view.state, &session.member, FenceReason::NoProgress)?;
    world.apply(&write.unfenced()).then_some(())?;
    if protocol.variant == Variant::EndRevokes {
        world.sessions[number].life = Life::Gone;
        world.end_lease(lease);
    }
    Some(())
}

fn register(protocol: &Protocol, world: &mut World, number: u8) -> Option<()> {
    let is_it = |session: &&Session| session.member.name.as_str() == name(number);
    let has_live = world.sessions.iter().filter(is_it).any(Session::is_active);
    if has_live {
        world.left.twins = world.left.twins.checked_sub(1)?;
    }
    world.spoiled.is_none().then_some(())?;
    world.left.sessions -= 1;
    world.register(number, protocol.variant == Variant::IncarnationPerProcess);
    Some(())
}

fn leave_by(world: &mut World, session: usize, leaving: &Leaving) -> Option<()> {
    is_fresh(world, session).then_some(())?;
    let member = world.sessions[session].member.clone();
    let state = &world.views[world.sessions[session].instance].state;
    let farewell = leave(state, &member, leaving, WallMillis(0))?;
    if let Some(write) = farewell.write {
        world.apply(&write.unfenced()).then_some(())?;
    }
    if let Some(lease) = farewell.ends {
        world.sessions[session].life = Life::Gone;
        world.end_lease(lease);
    }
    Some(())
}

/// The lease of the mark that a session leaves behind which comes back.
fn mark(session: usize) -> Lease {
    // Those of sessions count from 1, those of routers from 1001.
    lease(2_000 + session)
}

impl World {
    /// True if the mark of a session is there that said that it comes back.
    pub(crate) fn is_awaited(&self, session: usize) -> bool {
        self.now.shelf.records().any(|record| record.lease == mark(session).id)
    }
}

fn spoil(world: &mut World, number: u8) -> Option<()> {
    world.spoiled.is_none().then_some(())?;
    let key = world.now.state.layout().encode(&Key::Consumer(name(number).parse().ok()?));
    let record = world.now.shelf.get(&key)?.clone();
    world.left.spoils -= 1;
    world.spoiled = Some((number, record.value));
    world.apply(&Txn::guarded(Vec::new(), vec![Op::put_leased(key, "{", record.lease)])).then_some(())
}

fn mend(world: &mut World) -> Option<()> {
    let (number, value) = world.spoiled.take()?;
    let key = world.now.state.layout().encode(&Key::Consumer(name(number).parse().ok()?));
    if let Some(record) = world.now.shelf.get(&key).cloned() {
        world.apply(&Txn::guarded(Vec::new(), vec![Op::put_leased(key, value, record.lease)]));
    }
    Some(())
}

/// An operator wants another mode from now on, or the first one again.
fn switch(world: &mut World) {
    world.left.switches -= 1;
    let config = world.now.state.config().unwrap_or_default();
    let (first, other) = (world.left.mode, world.left.other_mode);
    let mode = if config.mode == first { other } else { first };
    let config = GroupConfig { mode, ..config };
    let key = world.now.state.layout().encode(&Key::GroupConfig);
    world.apply(&Txn::guarded(Vec::new(), vec![Op::put(key, encode(&config))]));
}
