//! The steps of owners with their partitions.

use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use kafka_assigner_types::mode::Mode;

use crate::log::{Flight, Log, Sent};
use crate::property::Invariant;
use crate::session::{Hold, Session};
use crate::step::{Protocol, Step};
use crate::variant::Variant;
use crate::world::World;

pub(super) fn work(protocol: &Protocol, world: &mut World, step: Step) -> Option<()> {
    match step {
        Step::Start(session, at) => start(protocol, world, session, at),
        Step::Work(session, at) => begin_or_process(protocol, world, session, &at),
        Step::EndRecord(session, at) => world.sessions[session].in_works.remove(&at).then_some(()),
        Step::Commit(session, at) => commit(world, session, &at),
        Step::Seize(session, at, is_late) => seize(protocol, world, session, at, is_late),
        Step::Read(session, at) => read(protocol, world, session, &at),
        Step::Deliver(is_late) => deliver(protocol, world, is_late),
        Step::Arrived => arrived(protocol, world),
        _ => None,
    }
}

/// The role of an owner: epoch, mode, and where to start.
fn owned(session: &Session, at: &TopicPartition) -> Option<(Epoch, Mode, Option<Offset>)> {
    match session.roles.get(at)? {
        Role::Owner { epoch, mode, start, .. } => Some((*epoch, *mode, *start)),
        _ => None,
    }
}

/// A session begins to work on what it owns, or goes on where it was stopped.
fn start(protocol: &Protocol, world: &mut World, number: usize, at: TopicPartition) -> Option<()> {
    let session = &world.sessions[number];
    let (epoch, mode, start) = owned(session, &at)?;
    (!session.works.contains(&at) && !session.has_heard(&at, epoch)).then_some(())?;
    if world.logs.contains_key(&at) {
        (session.claim || !mode.is_strict()).then_some(())?;
        match mode {
            Mode::Overlap => hold(world, number, &at, epoch, world.logs[&at].done, false),
            Mode::Exclusive => start_at(protocol, world, number, &at, (epoch, start)),
            Mode::Routed => serve(world, number, &at)?,
        }
    }
    world.sessions[number].works.insert(at).then_some(())
}

fn hold(world: &mut World, number: usize, at: &TopicPartition, epoch: Epoch, position: u8, has_fence: bool) {
    let hold = Hold { epoch, position: Some(position), is_stopped: false, has_fence };
    world.sessions[number].holds.insert(at.clone(), hold);
}

/// I3: it begins where the last one stopped, or at what was committed where that one died.
fn start_at(
    protocol: &Protocol,
    world: &mut World,
    number: usize,
    at: &TopicPartition,
    (epoch, start): (Epoch, Option<Offset>),
) {
    let (log, session) = (world.logs[at], &world.sessions[number]);
    let told = match start {
        Some(offset) => u8::try_from(offset.get()).expect("few records"),
        None if protocol.variant == Variant::OffsetsWithoutIds => log.committed,
        None => log.committed_in(believed(session, at, &log)),
    };
    let kept = session.holds.get(at).and_then(|hold| hold.position);
    let position = kept.filter(|_| !is_caught_up(session, at)).unwrap_or(told);
    if believed(session, at, &log) == log.topic {
        takes_up(world, at, position);
    }
    hold(world, number, at, epoch, position, false);
}

/// Somebody works on the log from `position` on who knows of which topic it is.
fn takes_up(world: &mut World, at: &TopicPartition, position: u8) {
    let log = world.logs[at];
    let is_left = position >= log.committed_in(log.topic) && position < log.done;
    if position != log.done && !(log.is_excused && is_left) && !log.is_revoked {
        world.breaks(Invariant::NoLostWork);
    }
    world.logs.insert(at.clone(), Log { done: position, is_excused: false, ..log });
}

/// Of which topic a session believes the log to be.
fn believed(session: &Session, at: &TopicPartition, log: &Log) -> u8 {
    session.topics.get(at).copied().unwrap_or(log.topic)
}

/// True if what it holds it has only caught up on so far: then it starts where it is told.
fn is_caught_up(session: &Session, at: &TopicPartition) -> bool {
    session.holds.get(at).is_some_and(|hold| hold.has_fence)
}

/// I5: it serves with all that was acknowledged.
fn serve(world: &mut World, number: usize, at: &TopicPartition) -> Option<()> {
    let log = world.logs[at];
    let hold = world.sessions[number].holds.get_mut(at).filter(|hold| hold.has_fence)?;
    let position = hold.position?;
    hold.is_stopped = false;
    if position != log.done && !log.is_revoked {
        world.breaks(Invariant::NoLostWrite);
    }
    Some(())
}

/// In `routed` a record is begun, which takes a while; in `exclusive` the next one takes effect.
fn begin_or_process(
    protocol: &Protocol,
    world: &mut World,
    number: usize,
    at: &TopicPartition,
) -> Option<()> {
    let session = &mut world.sessions[number];
    let Role::Owner { mode: Mode::Routed, resting, .. } = session.roles.get(at)? else {
        return process(world, number, at);
    };
    let rests = resting.is_some() && protocol.variant != Variant::BegunAfterRest;
    (!rests && session.claim && session.works.contains(at)).then_some(())?;
    world.left.records -= 1;
    session.in_works.insert(at.clone()).then_some(())
}

/// One record takes effect at the sink, under the epoch of the grant.
fn process(world: &mut World, number: usize, at: &TopicPartition) -> Option<()> {
    world.left.records -= 1;
    let session = &mut world.sessions[number];
    let (epoch, mode, _) = owned(session, at)?;
    (mode == Mode::Exclusive && session.claim && session.works.contains(at)).then_some(())?;
    let log = world.logs.get_mut(at)?;
    let counts = believed(session, at, log) == log.topic;
    let position = session.holds.get_mut(at)?.position.as_mut()?;
    let (is_refused, is_revoked) = (log.sink > epoch, log.is_revoked);
    let is_next = *position == log.done || !counts;
    if !is_refused {
        log.sink = epoch;
        log.done += u8::from(counts);
        *position += 1;
    }
    match (is_revoked, is_refused, is_next) {
        (true, true, _) => return None,
        (false, true, _) => world.breaks(Invariant::Epochs),
        (false, false, false) => world.breaks(Invariant::NoLostWork),
        _ => {}
    }
    Some(())
}

fn commit(world: &mut World, number: usize, at: &TopicPartition) -> Option<()> {
    world.left.commits -= 1;
    let session = &world.sessions[number];
    (session.claim && session.works.contains(at)).then_some(())?;
    let position = session.holds.get(at)?.position?;
    let log = world.logs.get_mut(at)?;
    let topic = believed(session, at, log);
    (position > log.committed_in(topic)).then(|| (log.committed, log.committed_of) = (position, topic))
}

/// The session takes the log's fence, by a valid claim. Where that takes long, the claim is checked again afterwards.
fn seize(
    protocol: &Protocol,
    world: &mut World,
    number: usize,
    at: TopicPartition,
    is_late: bool,
) -> Option<()> {
    let session = &world.sessions[number];
    let hold = session.holds.get(&at);
    let epoch = seizes_for(session, &at)?;
    (session.claim && hold.is_none_or(|hold| !hold.has_fence)).then_some(())?;
    let has_read = hold.is_some_and(|hold| hold.position.is_some());
    (protocol.variant != Variant::FenceAfterRead || has_read).then_some(())?;
    world.logs.contains_key(&at).then_some(())?;
    if is_late {
        world.flight.is_none().then_some(())?;
        world.left.flights -= 1;
        world.flight = Some(Flight { session: number, at, what: Sent::Seizure });
        return Some(());
    }
    take_fence(world, number, &at, epoch);
    Some(())
}

/// Under which epoch a session needs the fence of a log, if it does.
fn seizes_for(session: &Session, at: &TopicPartition) -> Option<Epoch> {
    match session.roles.get(at)? {
        Role::CatchingUp { epoch, .. } | Role::Owner { epoch, mode: Mode::Routed, .. } => Some(*epoch),
        _ => None,
    }
}

fn take_fence(world: &mut World, number: usize, at: &TopicPartition, epoch: Epoch) {
    let log = world.logs.get_mut(at).expect("every partition has a log");
    log.holder = Some(number);
    log.sink = log.sink.max(epoch);
    let session = &mut world.sessions[number];
    if session.is_active() && session.claim {
        let fresh = Hold { epoch, position: None, is_stopped: true, has_fence: true };
        session.holds.entry(at.clone()).or_insert(fresh).has_fence = true;
    }
}

/// The new owner reads what is there, up to where the old one stopped where that is known.
fn read(protocol: &Protocol, world: &mut World, number: usize, at: &TopicPartition) -> Option<()> {
    let done = world.logs.get(at)?.done;
    let session = &mut world.sessions[number];
    let epoch = seizes_for(session, at)?;
    if protocol.variant == Variant::FenceAfterRead {
        let fresh = Hold { epoch, position: None, is_stopped: true, has_fence: false };
        session.holds.entry(at.clone()).or_insert(fresh);
    } else {
        session.holds.get(at).filter(|hold| hold.has_fence)?;
    }
    let until = match session.roles.get(at) {
        Some(Role::CatchingUp { until: Some(offset), .. }) => {
            u8::try_from(offset.get()).expect("few records")
        }
        _ => done,
    };
    let hold = session.holds.get_mut(at).filter(|hold| hold.position.is_none())?;
    hold.position = Some(until);
    Some(())
}

/// The owner has the last word: it admits a request by a valid claim, for the epoch that it carries, and not from the
/// moment on when it was told to drain.
fn deliver(protocol: &Protocol, world: &mut World, is_late: bool) -> Option<()> {
    let request = world.request.clone()?;
    let (member, epoch) = request.sent.clone()?;
    let number = world.sessions.iter().rposition(|session| session.member == member)?;
    let session = &world.sessions[number];
    let is_owner = owned(session, &request.at).is_some_and(|(held, ..)| held == epoch);
    let hold = session.holds.get(&request.at).filter(|hold| hold.has_fence);
    let is_admitted = session.is_active()
        && session.claim
        && is_owner
        && session.works.contains(&request.at)
        && hold.is_some();
    match (is_admitted, is_late) {
        // Nothing was executed: the router keeps it.
        (false, false) => world.request.as_mut()?.sent = None,
        (false, true) => return None,
        (true, false) => append(protocol, world, number, &request.at),
        (true, true) => {
            world.flight.is_none().then_some(())?;
            world.left.flights -= 1;
            world.flight = Some(Flight { session: number, at: request.at, what: Sent::Record });
        }
    }
    Some(())
}

/// The log takes a record of whoever took its fence last, and the request is acknowledged. A write that is refused is
/// not repeated: the request has to be admitted anew.
fn append(protocol: &Protocol, world: &mut World, number: usize, at: &TopicPartition) {
    let log = world.logs.get_mut(at).expect("every partition has a log");
    // Where there were three phases there was no fence either.
    let is_refused = log.holder != Some(number) && protocol.variant != Variant::ThreePhases;
    if is_refused {
        if let Some(hold) = world.sessions[number].holds.get_mut(at) {
            hold.has_fence = false;
        }
        world.request.iter_mut().for_each(|request| request.sent = None);
        return;
    }
    log.done += 1;
    let (done, is_revoked) = (log.done, log.is_revoked);
    world.request = None;
    let writer = world.sessions[number].holds.get_mut(at).and_then(|hold| hold.position.as_mut());
    let lacks = writer.is_some_and(|position| {
        *position += 1;
        *position != done
    });
    let is_served = |(other, session): (usize, &Session)| {
        other != number && session.is_active() && session.claim && session.works.contains(at)
    };
    if !is_revoked && (lacks || world.sessions.iter().enumerate().any(is_served)) {
        world.breaks(Invariant::NoLostWrite);
    }
}

/// What was under way arrives at the log.
fn arrived(protocol: &Protocol, world: &mut World) -> Option<()> {
    let Flight { session, at, what } = world.flight.take()?;
    match what {
        Sent::Seizure => {
            let epoch = seizes_for(&world.sessions[session], &at).unwrap_or_default();
            if epoch == Epoch::default() {
                world.logs.get_mut(&at)?.holder = Some(session);
            } else {
                take_fence(world, session, &at, epoch);
            }
        }
        Sent::Record => {
            let is_refused = world.logs[&at].holder != Some(session);
            if is_refused && protocol.variant == Variant::RefusedRepeated && world.sessions[session].alive {
                world.logs.get_mut(&at)?.holder = Some(session);
            }
            append(protocol, world, session, &at);
        }
    }
    Some(())
}
