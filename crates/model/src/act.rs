//! How a step changes the world.

use std::sync::Arc;

use bytes::Bytes;
use kafka_assigner_core::ack::{Verdict, judge};
use kafka_assigner_core::action::{Action, Step as Decision};
use kafka_assigner_core::id::{HandoffId, Member, TopicPartition};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::kv::{Compare, Must, Op, Txn};
use kafka_assigner_core::moment::WallMillis;
use kafka_assigner_core::name::MemberName;
use kafka_assigner_core::record::{Consumer, Leader, Phase, encode};
use kafka_assigner_core::session::{Admission, Leaving, Opening, admit, leave, open};
use kafka_assigner_core::state::{Entry, Presence};
use kafka_assigner_core::view::{ConsumerView, Role, consumer_view};
use kafka_assigner_core::write::{Fence, Write};

use crate::property::Invariant;
use crate::scene::Scene;
use crate::session::{Said, Session};
use crate::step::{Protocol, Step};
use crate::variant::Variant;
use crate::world::{Late, Stray, World, name};

/// The first state: the first consumer owns everything and works on it.
pub(crate) fn begin(protocol: &Protocol) -> World {
    let mut world = World::begin(protocol.bounds);
    for decision in world.now.decided(0).to_vec() {
        world.apply(&fence(&world, 0).alone(&decision.write));
    }
    let now = Arc::clone(&world.now);
    world.views.fill(now);
    world.sessions[0].instance = 0;
    let view = shown(protocol, &world, 0);
    let revision = world.now.revision();
    world.sessions[0].works = view.roles.keys().cloned().collect();
    world.sessions[0].told(view.roles, revision);
    world.settle_excuses();
    world
}

/// How many decisions an instance would carry out.
pub(crate) fn decided(protocol: &Protocol, world: &World, instance: usize) -> usize {
    world.terms[instance].map_or(0, |_| decisions(protocol, world, instance).len())
}

fn decisions(protocol: &Protocol, world: &World, instance: usize) -> Vec<Action> {
    let view = &world.views[instance];
    match protocol.variant {
        Variant::HandoffOverwritten => {
            let blind = view.without(|key| matches!(key, Key::Handoff(_)));
            [view.decided(instance), &blind.planned(instance)].concat()
        }
        Variant::UnreadableIsDead => {
            let is_unreadable =
                |name: &MemberName| matches!(view.state.consumers().get(name), Some(Entry::Unreadable(_)));
            view.without(|key| matches!(key, Key::Consumer(name) if is_unreadable(name)))
                .decided(instance)
                .to_vec()
        }
        Variant::OrphanAtComplete => {
            let is_untaken = |at: &TopicPartition| {
                let handoff =
                    view.state.handoff(at).filter(|h| h.phase == Phase::Complete && h.taken.is_none());
                handoff.is_some_and(|handoff| view.state.presence(&handoff.new) == Presence::Gone)
            };
            view.without(|key| matches!(key, Key::Handoff(at) if is_untaken(at))).decided(instance).to_vec()
        }
        Variant::NeverCleared => {
            let is_kept = |action: &&Action| !matches!(action.step, Decision::Clear { .. });
            view.decided(instance).iter().filter(is_kept).cloned().collect()
        }
        _ => view.decided(instance).to_vec(),
    }
}

fn fence(world: &World, instance: usize) -> Fence {
    let key = world.now.state.layout().encode(&Key::Leader);
    let term = world.terms[instance].expect("only who believes to lead has a fence");
    Fence::new(Compare::new(key, Must::HaveCreateRevision(term)))
}

/// The transaction that carries a decision out, in the way of the variant.
fn transaction(protocol: &Protocol, world: &World, instance: usize, decision: &Action) -> Txn {
    let layout = world.now.state.layout();
    let mut write = decision.write.clone();
    let key_of_handoff = layout.encode(&Key::Handoff(decision.unit[0].clone()));
    match (protocol.variant, &decision.step) {
        (Variant::HandoffOverwritten, Decision::Begin { .. })
        | (Variant::OrphanAtComplete, Decision::Grant { .. }) => {
            write.guards.retain(|guard| guard.key != key_of_handoff);
            if matches!(decision.step, Decision::Grant { .. }) {
                write.ops.push(Op::delete(key_of_handoff));
            }
        }
        (Variant::BareDelete, Decision::Cancel { .. }) => {
            write = Write { guards: Vec::new(), ops: vec![Op::delete(key_of_handoff)] };
        }
        (Variant::GiveBackById, Decision::Grant { why, .. }) if is_give_back(why) => {
            write.guards.retain(|guard| matches!(guard.must, Must::HaveLease(_)));
            let id = |scene: &Scene| scene.state.handoff(&decision.unit[0]).map(|handoff| handoff.id.clone());
            if id(&world.now) != id(&world.views[instance]) {
                write.guards.push(Compare::new(key_of_handoff, Must::HaveValue(Bytes::new())));
            }
        }
        _ => {}
    }
    if protocol.variant == Variant::LeaderUnfenced {
        return write.unfenced();
    }
    fence(world, instance).alone(&write)
}

const fn is_give_back(why: &kafka_assigner_core::reason::Reason) -> bool {
    matches!(why, kafka_assigner_core::reason::Reason::GivenBack { .. })
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
    if dies.is_none() {
        check_gap(world, &mut next);
    }
    Some(next)
}

/// The session that a step is the death of.
fn dying(world: &World, step: &Step) -> Option<usize> {
    match step {
        Step::Crash(session) | Step::Expire(session) | Step::Leave(session) | Step::Fence(session) => {
            Some(*session)
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
        Step::Sync(instance) => sync(world, instance),
        Step::Lead(instance, number) => {
            let decision = decisions(protocol, world, instance).into_iter().nth(number)?;
            let txn = transaction(protocol, world, instance, &decision);
            lead(world, instance, &txn)?;
        }
        Step::LeadUnknown(instance, number) => {
            let decision = decisions(protocol, world, instance).into_iter().nth(number)?;
            world.left.unknowns -= 1;
            world.limbo = Some(Late { instance, txn: transaction(protocol, world, instance, &decision) });
        }
        Step::Overdue(instance, at, is_late) => {
            let decision = world.views[instance].overdue(&at)?;
            world.left.deadlines -= 1;
            let txn = transaction(protocol, world, instance, &decision);
            if is_late {
                world.left.unknowns -= 1;
                world.limbo = Some(Late { instance, txn });
            } else {
                lead(world, instance, &txn)?;
            }
        }
        Step::Land => {
            let late = world.limbo.take()?;
            // Whether it applies, nobody learns.
            let _ = lead(world, late.instance, &late.txn);
        }
        Step::Tell(session) => tell(protocol, world, session)?,
        Step::Start(session, at) => start(world, session, at)?,
        Step::Say(session, at) => {
            let (id, said) = world.sessions[session].to_say(&at)?;
            say(protocol, world, session, &at, (id, said))?;
        }
        Step::Fail(session, at) => {
            let (id, Said::Ready) = world.sessions[session].to_say(&at)? else { return None };
            world.left.failures -= 1;
            say(protocol, world, session, &at, (id, Said::Failed))?;
        }
        Step::Stray(session, at) => {
            let (id, said) = world.sessions[session].to_say(&at)?;
            world.left.strays -= 1;
            world.sessions[session].said.insert((id.clone(), said));
            world.stray = Some(Stray { speaker: world.sessions[session].member.clone(), at, id, said });
        }
        Step::Arrive(instance) => {
            let stray = world.stray.take()?;
            record(protocol, world, instance, &stray);
        }
        Step::Fence(session) => end(world, session, true),
        Step::Crash(session) => {
            world.left.crashes -= 1;
            end(world, session, false);
        }
        Step::Expire(session) => {
            let lease = world.sessions[session].lease;
            world.left.expiries -= u8::from(world.sessions[session].is_active());
            world.end_lease(lease);
        }
        Step::Register(number) => register(protocol, world, number)?,
        Step::Leave(session) => {
            world.left.leaves -= 1;
            leave_by(world, session, &Leaving::Now)?;
            end(world, session, false);
        }
        Step::Drain(session) => {
            world.left.drains -= 1;
            leave_by(world, session, &Leaving::Drain)?;
        }
        Step::Reconnect(session) => reconnect(protocol, world, session)?,
        Step::Depose => depose(world)?,
        Step::Spoil(number) => spoil(world, number)?,
        Step::Mend => mend(world)?,
    }
    Some(())
}

fn sync(world: &mut World, instance: usize) {
    world.views[instance] = Arc::clone(&world.now);
    let term =
        world.now.state.leader().and_then(|entry| entry.readable()).map(|leader| leader.create_revision);
    if world.terms[instance] != term {
        world.terms[instance] = None;
    }
}

/// A leader's transaction; one that applies in a term that is over breaks I7.
fn lead(world: &mut World, instance: usize, txn: &Txn) -> Option<()> {
    let leads =
        world.now.state.leader().and_then(|entry| entry.readable()).map(|leader| leader.create_revision);
    let is_deposed = world.terms[instance] != leads;
    world.apply(txn).then_some(())?;
    if is_deposed {
        world.breaks(Invariant::OneWriter);
    }
    Some(())
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
fn is_fresh(world: &World, session: usize) -> bool {
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
    let mut roles = known.roles.clone();
    difference.ended.keys().for_each(|at| drop(roles.remove(at)));
    roles.extend(difference.roles);
    let is_true =
        known.followed_by(next).roles.iter().all(|(at, role)| roles.get(at).is_some_and(|r| r.is_same(role)));
    let revision = world.views[session.instance].revision();
    session.told(roles, revision);
    if !is_true {
        world.breaks(Invariant::Truth);
    }
    Some(())
}

fn start(world: &mut World, session: usize, at: TopicPartition) -> Option<()> {
    let session = &mut world.sessions[session];
    matches!(session.roles.get(&at), Some(Role::Owner { .. })).then_some(())?;
    session.works.insert(at).then_some(())
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
    world.sessions[session].said.insert((id.clone(), said));
    record(protocol, world, instance, &Stray { speaker, at: at.clone(), id, said }).then_some(())
}

/// An instance records an ack by its own view; whether that applied.
fn record(protocol: &Protocol, world: &mut World, instance: usize, ack: &Stray) -> bool {
    let id = (protocol.variant != Variant::AckWithoutId).then_some(&ack.id);
    let state = &world.views[instance].state;
    match judge(state, &ack.speaker, &ack.at, id, &ack.said.ack(), WallMillis(0)) {
        Verdict::Record { write, .. } => {
            let meant = world.now.state.handoff(&ack.at).map(|handoff| handoff.id.clone());
            let applied = world.apply(&write.unfenced());
            if applied && meant.is_some_and(|meant| meant != ack.id) {
                world.breaks(Invariant::AckIdentity);
            }
            applied
        }
        Verdict::Already | Verdict::Over | Verdict::Refused { .. } | Verdict::Unreadable { .. } => false,
    }
}

fn end(world: &mut World, session: usize, is_fenced: bool) {
    let session = &mut world.sessions[session];
    session.stop();
    session.fenced |= is_fenced;
    session.alive &= is_fenced;
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
    let member: Member = world.sessions[session].member.clone();
    let state = &world.views[world.sessions[session].instance].state;
    let farewell = leave(state, &member, leaving, WallMillis(0))?;
    if let Some(write) = farewell.write {
        world.apply(&write.unfenced()).then_some(())?;
    }
    if let Some(lease) = farewell.ends {
        world.end_lease(lease);
    }
    Some(())
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
    match admit(world.now.shelf.get(&key), &session.member.incarnation, &opening) {
        Admission::Attach => {}
        _ if protocol.variant == Variant::ReconnectRegisters => register_again(world, &session),
        _ => return None,
    }
    (is_fresh(world, number) || protocol.variant == Variant::StaleSnapshot).then_some(())?;
    let revision = world.views[world.sessions[number].instance].revision();
    let known = ConsumerView { roles: session.roles, ..ConsumerView::default() };
    let roles = known.followed_by(shown(protocol, world, number)).roles;
    if revision < session.seen {
        world.breaks(Invariant::Truth);
    }
    world.sessions[number].told(roles, revision);
    Some(())
}

fn register_again(world: &mut World, session: &Session) {
    let lease = kafka_assigner_core::kv::Lease { id: session.lease, ttl: std::time::Duration::from_secs(30) };
    let renewal = kafka_assigner_core::record::Renewal::Client;
    let consumer = Consumer::new(session.member.incarnation.clone(), 30_000, renewal, WallMillis(0));
    let found = world.now.state.mod_revision(&Key::Consumer(session.member.name.clone()));
    let write = open(world.now.state.layout(), &session.member.name, &consumer, lease, found);
    world.apply(&write.unfenced());
}

/// The other instance takes the lead; the deposed one does not know yet.
fn depose(world: &mut World) -> Option<()> {
    let old = world.terms.iter().position(Option::is_some)?;
    let new = (old + 1) % world.views.len();
    world.terms[new].is_none().then_some(())?;
    world.left.depositions -= 1;
    let key = world.now.state.layout().encode(&Key::Leader);
    world.apply(&Txn::guarded(Vec::new(), vec![Op::delete(key.clone())]));
    let leader = encode(&Leader::new(new.to_string(), String::new(), WallMillis(0)));
    world.apply(&Txn::guarded(Vec::new(), vec![Op::put(key, leader)]));
    world.terms[new] = Some(world.now.revision());
    // A leader acts from a view that has seen its own election.
    world.views[new] = Arc::clone(&world.now);
    Some(())
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
