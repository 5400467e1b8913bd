//! The messages to members and from them.

use std::collections::BTreeSet;

use kafka_assigner_core::ack::{MemberAck, Verdict, judge};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Consumer, Handoff, Phase, encode};
use kafka_assigner_core::session::{Admission, Opening, admit, open};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_core::view::{ConsumerView, Role, consumer_view};
use kafka_assigner_types::id::{HandoffId, TopicPartition};
use kafka_assigner_types::kv::{Change, Record, Revision};
use kafka_assigner_types::moment::WallMillis;

use super::leading::halves;
use crate::property::Invariant;
use crate::scene::Scene;
use crate::session::{Life, Said, Session};
use crate::step::{Protocol, Step};
use crate::topic;
use crate::variant::Variant;
use crate::world::{Stray, World, lease};

pub(super) fn talk(protocol: &Protocol, world: &mut World, step: Step) -> Option<()> {
    match step {
        Step::Tell(session) => tell(protocol, world, session)?,
        Step::Say(session, at) => {
            let word = to_say(protocol, world, session, &at)?;
            // A client's acknowledgements wait for each other no more than this: what was recorded before changes nothing.
            if say(protocol, world, session, &at, word).is_none() {
                let rested = world.sessions[session].rested_beside(&at)?;
                say(protocol, world, session, &at, rested)?;
            }
        }
        Step::Fail(session, at) => {
            let (id, _) = fails(&world.sessions[session], &at)?;
            world.left.failures -= 1;
            say(protocol, world, session, &at, (id, Said::Failed))?;
        }
        Step::Stray(session, at) => {
            let (id, said) = to_say(protocol, world, session, &at)?;
            world.left.strays -= 1;
            world.sessions[session].said.insert((id.clone(), at.clone(), said));
            world.stray = Some(Stray { speaker: world.sessions[session].member.clone(), at, id, said });
        }
        Step::Arrive(instance) => {
            let stray = world.stray.take()?;
            record(protocol, world, instance, &stray);
        }
        Step::Reconnect(session) => reconnect(protocol, world, session)?,
        _ => return None,
    }
    Some(())
}

/// The first session is told all.
pub(super) fn tell_first(protocol: &Protocol, world: &mut World) {
    world.sessions[0].instance = 0;
    let roles = shown(protocol, world, 0).roles;
    let topics = topic::told(&world.views[0].state, roles.keys());
    let revision = world.now.revision();
    world.sessions[0].told(roles, topics, revision, protocol.variant);
}

/// A new owner may fail while it warms up, and while it catches up.
fn fails(session: &Session, at: &TopicPartition) -> Option<(HandoffId, Said)> {
    match session.roles.get(at)? {
        Role::Warming { handoff, .. } | Role::CatchingUp { handoff, .. } => {
            Some((handoff.clone(), Said::Failed))
        }
        _ => None,
    }
}

fn to_say(
    protocol: &Protocol,
    world: &World,
    number: usize,
    at: &TopicPartition,
) -> Option<(HandoffId, Said)> {
    let session = &world.sessions[number];
    let (id, said) = session.to_say(at)?;
    let is_sending = world.flight.as_ref().is_some_and(|f| f.session == number && f.at == *at);
    match said {
        // Whoever drains waits for what it has under way.
        Said::Drained(_) if is_sending => None,
        Said::Drained(Some(_))
            if protocol.variant == Variant::OffsetInvented && !session.holds.contains_key(at) =>
        {
            Some((id, Said::Drained(world.logs.get(at).map(|log| log.committed))))
        }
        _ => Some((id, said)),
    }
}

/// What a session's instance would show it.
fn shown(protocol: &Protocol, world: &World, session: usize) -> ConsumerView {
    let session = &world.sessions[session];
    let state = &world.views[session.instance].state;
    let mut view = consumer_view(state, &session.member);
    if protocol.variant == Variant::ReleaseBeforeTaken {
        for (at, role) in &mut view.roles {
            let handoff = state.handoff(at).filter(|h| h.phase == Phase::Complete && h.old == session.member);
            if let (Some(handoff), Role::Owner { epoch, .. }) = (handoff, &*role) {
                let (handoff, new_owner) = (handoff.id.clone(), handoff.new.name.clone());
                *role = Role::Releasing { handoff, epoch: *epoch, new_owner };
            }
        }
    }
    view
}

/// An instance answers only from a view at or beyond what the client has seen.
pub(super) fn is_fresh(world: &World, session: usize) -> bool {
    let session = &world.sessions[session];
    world.views[session.instance].revision() >= session.seen
}

fn tell(protocol: &Protocol, world: &mut World, number: usize) -> Option<()> {
    is_fresh(world, number).then_some(())?;
    let next = shown(protocol, world, number);
    let session = &mut world.sessions[number];
    let known = ConsumerView { roles: session.roles.clone(), ..ConsumerView::default() };
    let difference = known.difference(&next);
    (!difference.is_empty()).then_some(())?;
    let topics = topic::told(&world.views[session.instance].state, difference.roles.keys());
    let mut roles = known.roles.clone();
    difference.ended.keys().for_each(|at| drop(roles.remove(at)));
    roles.extend(difference.roles);
    let is_true =
        known.followed_by(next).roles.iter().all(|(at, role)| roles.get(at).is_some_and(|r| r.is_same(role)));
    let revision = world.views[session.instance].revision();
    session.told(roles, topics, revision, protocol.variant);
    if !is_true {
        world.breaks(Invariant::Truth);
    }
    Some(())
}

fn say(
    protocol: &Protocol,
    world: &mut World,
    session: usize,
    at: &TopicPartition,
    (id, said): (HandoffId, Said),
) -> Option<()> {
    is_fresh(world, session).then_some(())?;
    let (speaker, instance) = (world.sessions[session].member.clone(), world.sessions[session].instance);
    world.sessions[session].said.insert((id.clone(), at.clone(), said));
    record(protocol, world, instance, &Stray { speaker, at: at.clone(), id, said }).then_some(())
}

/// An instance records an ack by its own view; whether that applied.
fn record(protocol: &Protocol, world: &mut World, instance: usize, ack: &Stray) -> bool {
    match judged(protocol, &world.views[instance], ack) {
        Verdict::Record { write, handoff } => {
            let meant = world.now.state.handoff_of(&ack.at).map(|handoff| handoff.id.clone());
            let txn = write.unfenced();
            let applied = match protocol.variant {
                Variant::TwoTransactions => halves(world, instance, &txn).is_some(),
                _ => world.apply(&txn),
            };
            if applied && handoff.is_some() && meant.is_some_and(|meant| meant != ack.id) {
                world.breaks(Invariant::AckIdentity);
            }
            applied
        }
        Verdict::Already | Verdict::Over | Verdict::Refused { .. } | Verdict::Unreadable { .. } => false,
    }
}

fn judged(protocol: &Protocol, view: &Scene, ack: &Stray) -> Verdict {
    let hasty = (protocol.variant == Variant::FirstWordForAll).then(|| with_words_on_others(view, &ack.at));
    let hasty = hasty.flatten();
    let state = hasty.as_ref().unwrap_or(&view.state);
    let lying = state.handoff_of(&ack.at).filter(|_| protocol.variant == Variant::AckWithoutId);
    let id = lying.map_or(&ack.id, |handoff| &handoff.id);
    let said = MemberAck { at: ack.at.clone(), handoff: Some(id.clone()), ack: ack.said.ack() };
    judge(state, &ack.speaker, &said, WallMillis(0))
}

/// The group as if everything had been said of the partitions that move with `at`.
fn with_words_on_others(view: &Scene, at: &TopicPartition) -> Option<GroupState> {
    let mut state = view.state.clone();
    let handoff = state.handoff_of(at)?.clone();
    let record = view.shelf.get(&state.layout().encode(&Key::Handoff(handoff.lead().clone())))?.clone();
    let others: BTreeSet<_> = handoff.unit.iter().filter(|of| *of != at).cloned().collect();
    let heard = Handoff { said: others.clone(), old_said: others, ..handoff };
    state.apply(&[Change::Put(Record { value: encode(&heard), ..record })], Revision(0));
    Some(state)
}

/// The stream comes up at the other instance, which opens it with a snapshot.
fn reconnect(protocol: &Protocol, world: &mut World, number: usize) -> Option<()> {
    world.left.reconnects -= 1;
    let instances = world.views.len();
    let session = &mut world.sessions[number];
    session.instance = (session.instance + 1) % instances;
    let session = world.sessions[number].clone();
    let key = world.now.state.layout().encode(&Key::Consumer(session.member.name.clone()));
    let opening = Opening::Resume(session.lease);
    match admit::<Consumer>(world.now.shelf.get(&key), &session.member.incarnation, &opening) {
        Admission::Attach if session.life != Life::Gone => attach(protocol, &mut world.sessions[number]),
        _ if protocol.variant == Variant::ReconnectRegisters => register_again(world, &session),
        _ => return None,
    }
    (is_fresh(world, number) || protocol.variant == Variant::StaleSnapshot).then_some(())?;
    let view = &world.views[world.sessions[number].instance];
    let revision = view.revision();
    let known = ConsumerView { roles: session.roles, ..ConsumerView::default() };
    let roles = known.followed_by(shown(protocol, world, number)).roles;
    let topics = topic::told(&view.state, roles.keys());
    if revision < session.seen {
        world.breaks(Invariant::Truth);
    }
    world.sessions[number].told(roles, topics, revision, protocol.variant);
    Some(())
}

/// A Register that resumes a session keeps its lease alive as a heartbeat does.
fn attach(protocol: &Protocol, session: &mut Session) {
    session.claim = true;
    session.has_grace = false;
    if protocol.variant != Variant::ClaimWithoutLease {
        (session.life, session.stale_life) = (Life::Fresh, Life::Fresh);
    }
}

fn register_again(world: &mut World, session: &Session) {
    let number = usize::try_from(session.lease.0 - 1).expect("leases count from 1");
    let consumer = world.registration(session.member.incarnation.clone());
    let found = world.now.state.registration(&session.member.name).map(|registered| registered.lease);
    let write = open(world.now.state.layout(), &session.member.name, &consumer, lease(number), found);
    world.apply(&write.unfenced());
}
