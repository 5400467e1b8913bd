//! The steps of instances that lead, or believe to.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use kafka_assigner_core::ack::{Verdict, abort};
use kafka_assigner_core::action::{Action, Step as Decision};
use kafka_assigner_core::claim::{Leases, Remaining, doubtful};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::{FenceReason, Reason};
use kafka_assigner_core::record::{Assignment, LeaderRecord, Phase, decode, encode};
use kafka_assigner_core::state::{Entry, Presence, SharedMap};
use kafka_assigner_core::write::{Fence, Write};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::kv::{Compare, LeaseId, Must, Op, Txn};
use kafka_assigner_types::moment::WallMillis;
use kafka_assigner_types::name::MemberName;

use crate::property::Invariant;
use crate::scene::{Quiet, Scene};
use crate::step::{Protocol, Step};
use crate::variant::Variant;
use crate::world::{Late, World, name};

/// More missed freezes make no difference to a leader.
const MOST_MISSED: u8 = 2;

pub(super) fn lead(protocol: &Protocol, world: &mut World, step: Step) -> Option<()> {
    match step {
        Step::Sync(instance) => sync(world, instance),
        Step::Ask(instance) => ask(protocol, world, instance)?,
        Step::Lead(instance, number) => {
            let decision = decisions(protocol, world, instance).into_iter().nth(number)?;
            perform(protocol, world, instance, &decision)?;
        }
        Step::LeadUnknown(instance, number) => {
            let decision = decisions(protocol, world, instance).into_iter().nth(number)?;
            world.left.unknowns -= 1;
            world.limbo = Some(Late { instance, txn: transaction(protocol, world, instance, &decision) });
        }
        Step::Overdue(instance, at, is_late) => {
            let decision = world.views[instance].overdue(&at)?;
            world.left.deadlines -= 1;
            if is_late {
                world.left.unknowns -= 1;
                world.limbo = Some(Late { instance, txn: transaction(protocol, world, instance, &decision) });
            } else {
                perform(protocol, world, instance, &decision)?;
            }
        }
        Step::Fenced(instance, at) => fence_owner(protocol, world, instance, &at)?,
        Step::FenceOver(instance, at) => {
            let handoff = world.views[instance].state.handoff(&at)?;
            (!world.may_act_on_fenced(handoff) || protocol.variant == Variant::FenceUnwaited).then_some(())?;
            let decision = world.views[instance].overdue(&at)?;
            perform(protocol, world, instance, &decision)?;
        }
        Step::FreezeOverdue(instance, at) => call_freeze_off(protocol, world, instance, &at)?,
        Step::Land => {
            let late = world.limbo.take()?;
            // Whether it applies, nobody learns.
            let _ = write(world, late.instance, &late.txn);
        }
        Step::Abort(instance, at) => {
            world.left.aborts -= 1;
            let verdict = abort(&world.views[instance].state, &at, "", WallMillis(0));
            let Verdict::Record { write, .. } = verdict else { return None };
            world.apply(&write.unfenced()).then_some(())?;
        }
        Step::Depose => depose(world)?,
        _ => return None,
    }
    Some(())
}

/// The freeze at `at` is called off for its time, which the leader remembers.
fn call_freeze_off(
    protocol: &Protocol,
    world: &mut World,
    instance: usize,
    at: &TopicPartition,
) -> Option<()> {
    let decision = world.views[instance].overdue(at)?;
    let froze = Arc::clone(&world.views[instance]);
    perform(protocol, world, instance, &decision)?;
    let missed = world.missed.as_ref().map_or(0, |(.., times)| *times);
    if protocol.variant != Variant::MissesForgotten {
        world.missed = Some((froze, Arc::clone(&world.now), (missed + 1).min(MOST_MISSED)));
    }
    Some(())
}

/// The owner that the handoff at `at` waits for is fenced of it. What it has done and not committed is done again.
fn fence_owner(protocol: &Protocol, world: &mut World, instance: usize, at: &TopicPartition) -> Option<()> {
    let decision = world.views[instance].overdue_again(at)?;
    matches!(decision.step, Decision::Fence { .. }).then_some(())?;
    world.left.fences -= 1;
    perform(protocol, world, instance, &decision)?;
    for of in &decision.unit {
        world.logs.entry(of.clone()).and_modify(|log| log.is_excused = true);
    }
    Some(())
}

/// What the leader plans at the start is carried out.
pub(super) fn grant_all(world: &mut World) {
    for decision in world.now.decided(0).cloned().collect::<Vec<_>>() {
        world.apply(&fence(world, 0).alone(&decision.write));
    }
    let now = Arc::clone(&world.now);
    world.views.fill(now);
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
            view.decided(instance).chain(blind.planned(instance)).cloned().collect()
        }
        Variant::ThreePhases => {
            view.in_three_phases().into_iter().chain(view.planned(instance).cloned()).collect()
        }
        Variant::QuorumByCount => {
            count_quorum(view).into_iter().chain(view.decided(instance).cloned()).collect()
        }
        Variant::LateJoinerAwaited => {
            let is_awaited = |action: &&Action| !is_left_while_awaited(view, action);
            view.decided(instance).filter(is_awaited).cloned().collect()
        }
        Variant::UnreadableIsDead => {
            let is_unreadable =
                |name: &MemberName| matches!(view.state.consumers().get(name), Some(Entry::Unreadable(_)));
            let blind = view.without(|key| matches!(key, Key::Consumer(name) if is_unreadable(name)));
            blind.decided(instance).cloned().collect()
        }
        Variant::OrphanAtComplete => {
            let is_untaken = |at: &TopicPartition| {
                let handoff =
                    view.state.handoff(at).filter(|h| h.phase == Phase::Complete && h.taken.is_none());
                handoff.is_some_and(|handoff| view.state.presence(&handoff.new) == Presence::Gone)
            };
            let blind = view.without(|key| matches!(key, Key::Handoff(at) if is_untaken(at)));
            blind.decided(instance).cloned().collect()
        }
        Variant::TakenFromOwner => {
            view.decided(instance).cloned().chain(grants_past_owners(view, instance)).collect()
        }
        Variant::AheadCompletes => {
            let rows = ["warm ahead", "old owner suspected"];
            view.without_rows(&rows).into_iter().chain(view.planned(instance).cloned()).collect()
        }
        Variant::RestUnawaited => {
            let rows = ["a record is in the works"];
            view.without_rows(&rows).into_iter().chain(view.planned(instance).cloned()).collect()
        }
        Variant::EndsAndGrants => {
            let ended = |action: &Action| end_and_grant(view, instance, action);
            view.decided(instance)
                .flat_map(|action| ended(action).unwrap_or_else(|| vec![action.clone()]))
                .collect()
        }
        Variant::NeverCleared => {
            let is_kept = |action: &&Action| !matches!(action.step, Decision::Clear { .. });
            view.decided(instance).filter(is_kept).cloned().collect()
        }
        _ => view.decided(instance).cloned().collect(),
    }
}

/// What would be granted if the first consumer were gone, where it owns anything, and its claim over.
fn grants_past_owners(view: &Scene, instance: usize) -> Vec<Action> {
    let owners = view.state.assignments().keys().filter_map(|at| view.state.assignment(at)?.owner.as_ref());
    let owners = owners.filter(|owner| owner.name.as_str() == name(0));
    let (names, leases): (BTreeSet<MemberName>, BTreeSet<LeaseId>) =
        owners.map(|owner| (owner.name.clone(), owner.lease)).unzip();
    let blind = view.without(|key| matches!(key, Key::Consumer(name) if names.contains(name)));
    let gone: Leases = leases.into_iter().map(|lease| (lease, Remaining::Gone)).collect();
    let blind = blind.answered(gone, BTreeSet::new(), Quiet::No);
    blind.planned(instance).filter(|action| matches!(action.step, Decision::Grant { .. })).cloned().collect()
}

/// The end of a suspect's session and what is granted once it is seen, in one write that forgets the mark.
fn end_and_grant(view: &Scene, instance: usize, action: &Action) -> Option<Vec<Action>> {
    let Decision::EndSession { member, .. } = &action.step else { return None };
    let lease = view.state.registration(&member.name)?.lease;
    let rest = view.rests.remaining(lease)?;
    let ended = view.written(action.write.ops.clone());
    let ended = ended.answered([(lease, rest)].into_iter().collect(), BTreeSet::new(), Quiet::No);
    let grants = ended.decided(instance).filter(|next| matches!(next.step, Decision::Grant { .. }));
    let whole = |grant: &Action| {
        let mut whole = grant.clone();
        whole.write.ops.extend(action.write.ops.clone());
        whole
    };
    Some(grants.map(whole).collect())
}

/// The freezes that as many routers have spoken of as are registered.
fn count_quorum(view: &Scene) -> Vec<Action> {
    let is_met = |at: &&TopicPartition| {
        let freezes = view.state.handoff(at).is_some_and(|handoff| handoff.phase == Phase::Freezing);
        let said = view.state.router_acks().get(*at).map_or(0, SharedMap::len);
        freezes && said >= view.state.routers().len()
    };
    let quiet = view.without(|key| matches!(key, Key::Router(_)));
    view.state.handoffs().keys().filter(is_met).filter_map(|at| quiet.step(at)).collect()
}

/// True if a freeze would end though a router that is registered now has not spoken of it.
pub(super) fn is_left_while_awaited(view: &Scene, action: &Action) -> bool {
    let at = &action.unit[0];
    let freezes = view.state.handoff(at).is_some_and(|handoff| handoff.phase == Phase::Freezing);
    let said = view.state.router_acks().get(at);
    let is_silent = |name: &MemberName| said.is_none_or(|acks| !acks.contains_key(name));
    freezes && view.state.routers().keys().any(is_silent)
}

fn perform(protocol: &Protocol, world: &mut World, instance: usize, decision: &Action) -> Option<()> {
    let txn = transaction(protocol, world, instance, decision);
    if let Decision::EndSession { member, why: FenceReason::Suspected } = &decision.step {
        // Whoever is taken over counts as dead from here on.
        let taken_over = world.sessions.iter().position(|session| session.member == *member);
        taken_over.into_iter().for_each(|number| world.note_death(number));
    }
    if protocol.variant == Variant::TwoTransactions {
        return halves(world, instance, &txn);
    }
    write(world, instance, &txn)
}

/// The handoff is written now, and the assignment that belongs to it later.
pub(super) fn halves(world: &mut World, instance: usize, txn: &Txn) -> Option<()> {
    let layout = world.now.state.layout().clone();
    let of_assignment = |key: &Bytes| matches!(layout.decode(key), Some(Key::Assignment(_)));
    let is_complete = txn.then.iter().any(|op| match op {
        Op::Put { key, value, .. } if matches!(layout.decode(key), Some(Key::Handoff(_))) => {
            value.windows(10).any(|part| part == b"\"complete\"")
        }
        _ => false,
    });
    if !is_complete || world.limbo.is_some() {
        return write(world, instance, txn);
    }
    let is_later = |op: &&Op| matches!(op, Op::Put { key, .. } if of_assignment(key));
    let later = Txn::guarded(Vec::new(), txn.then.iter().filter(is_later).cloned().collect());
    let first = txn.then.iter().filter(|op| !is_later(op)).cloned().collect();
    write(world, instance, &Txn::guarded(txn.compares.clone(), first))?;
    world.limbo = Some(Late { instance, txn: later });
    Some(())
}

/// A leader's transaction; one that applies in a term that is over breaks I7.
fn write(world: &mut World, instance: usize, txn: &Txn) -> Option<()> {
    let leads =
        world.now.state.leader().and_then(|entry| entry.readable()).map(|leader| leader.create_revision);
    let is_deposed = world.terms[instance].is_some() && world.terms[instance] != leads;
    world.apply(txn).then_some(())?;
    if is_deposed {
        world.breaks(Invariant::OneWriter);
    }
    Some(())
}

fn fence(world: &World, instance: usize) -> Fence {
    let key = world.now.state.layout().encode(&Key::Leader);
    let term = world.terms[instance].unwrap_or_default();
    Fence::new(Compare::new(key, Must::HaveCreateRevision(term)))
}

/// The transaction that carries a decision out.
fn transaction(protocol: &Protocol, world: &World, instance: usize, decision: &Action) -> Txn {
    let layout = world.now.state.layout();
    let mut write = decision.write.clone();
    let first = decision.unit.first().map(|at| layout.encode(&Key::Handoff(at.clone())));
    let key_of_handoff = first.unwrap_or_default();
    match (protocol.variant, &decision.step) {
        (Variant::HandoffOverwritten, Decision::Begin { .. })
        | (Variant::OrphanAtComplete, Decision::Grant { .. }) => {
            write.guards.retain(|guard| guard.key != key_of_handoff);
            // What is given back keeps its handoff.
            let is_kept =
                write.ops.iter().any(|op| matches!(op, Op::Put { key, .. } if *key == key_of_handoff));
            if matches!(decision.step, Decision::Grant { .. }) && !is_kept {
                write.ops.push(Op::delete(key_of_handoff));
            }
        }
        (Variant::TakeoverUnguarded, Decision::EndSession { .. }) => write.guards.clear(),
        (Variant::BareDelete, Decision::Cancel { .. }) => {
            write = Write { guards: Vec::new(), ops: vec![Op::delete(key_of_handoff)] };
        }
        (Variant::StartDropped, Decision::Cancel { .. }) => {
            write.ops.iter_mut().for_each(|op| drop_start(world, op));
        }
        (Variant::ReleaseDropsOffset, Decision::Clear { .. }) => {
            write.ops.iter_mut().for_each(|op| forget_start(world, op));
        }
        (Variant::ReturnKeepsStart, Decision::Grant { why: Reason::TopicReturned, .. }) => {
            write.ops.iter_mut().for_each(|op| keep_start(world, op));
        }
        (Variant::GiveBackById, Decision::Grant { why: Reason::GivenBack { .. }, .. }) => {
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

fn drop_start(world: &World, op: &mut Op) {
    let Op::Put { key, value, .. } = op else { return };
    if let Some(Key::Assignment(at)) = world.now.state.layout().decode(key) {
        let assignment: Assignment = decode(value).expect("just encoded");
        let stopped = world.now.state.handoff(&at).and_then(|handoff| handoff.final_offset(&at));
        *value = encode(&Assignment { start: stopped, ..assignment });
    }
}

/// No start at all.
fn forget_start(world: &World, op: &mut Op) {
    let Op::Put { key, value, .. } = op else { return };
    if let Some(Key::Assignment(_)) = world.now.state.layout().decode(key) {
        let assignment: Assignment = decode(value).expect("just encoded");
        *value = encode(&Assignment { start: None, ..assignment });
    }
}

/// The start of the grant before.
fn keep_start(world: &World, op: &mut Op) {
    let Op::Put { key, value, .. } = op else { return };
    if let Some(Key::Assignment(at)) = world.now.state.layout().decode(key) {
        let assignment: Assignment = decode(value).expect("just encoded");
        let start = world.now.state.assignment(&at).and_then(|before| before.start);
        *value = encode(&Assignment { start, ..assignment });
    }
}

fn sync(world: &mut World, instance: usize) {
    world.look(instance);
    let term =
        world.now.state.leader().and_then(|entry| entry.readable()).map(|leader| leader.create_revision);
    if world.terms[instance] != term {
        world.terms[instance] = None;
    }
}

/// The leader asks the store what is left of the leases in doubt.
fn ask(protocol: &Protocol, world: &mut World, instance: usize) -> Option<()> {
    let state = &world.views[instance].state;
    let leases: Vec<LeaseId> = match protocol.variant {
        Variant::AskedEarly => {
            let owners = state.assignments().keys().filter_map(|at| state.assignment(at)?.owner.as_ref());
            owners.map(|owner| owner.lease).collect()
        }
        _ => doubtful(state, state.assignments().keys()).into_keys().collect(),
    };
    let remaining = |lease| match protocol.variant {
        Variant::NotWaited => Remaining::Gone,
        Variant::TermReadAfter => world.stale_remaining(lease),
        _ => world.remaining(lease),
    };
    let known = &world.views[instance];
    let is_early = protocol.variant == Variant::AskedEarly;
    let answer = |lease: &LeaseId| {
        let earlier = known.leases.remaining(*lease).filter(|_| is_early);
        (*lease, earlier.unwrap_or_else(|| remaining(*lease)))
    };
    let leases: Leases = leases.iter().map(answer).collect();
    let is_over = |lease: &LeaseId| world.sessions.iter().all(|s| s.lease != *lease || !s.may_act_at_all());
    let is_waited = world.left.waits_out || world.outage_grace_ms > 0;
    let waited_out: BTreeSet<LeaseId> =
        if is_waited { leases.gone().filter(is_over).collect() } else { BTreeSet::new() };
    let quiet = if waits_to_switch(known) { quiet(protocol, world, instance) } else { known.quiet };
    let quiet = quiet.max(known.quiet);
    let is_news = known.leases != leases || known.waited_out != waited_out || known.quiet != quiet;
    let suspects = known.suspects_to_ask();
    let rests: Leases = suspects.into_iter().map(|lease| (lease, world.remaining(lease))).collect();
    (is_news || known.rests != rests).then_some(())?;
    world.views[instance] = Arc::new(known.answered(leases, waited_out, quiet).rested(rests));
    world.remind(instance);
    Some(())
}

/// True if something is still granted in `overlap` that should not be.
fn waits_to_switch(view: &Scene) -> bool {
    let state = &view.state;
    state.configured(|config| config.mode).is_strict()
        && state.assignments().keys().any(|at| state.assignment(at).is_some_and(|a| !a.mode.is_strict()))
}

/// For how long the instance may have seen the grants as they are, by those who were over when it saw them first: longer than
/// the claims last of all of them, or their outage graces too.
fn quiet(protocol: &Protocol, world: &World, instance: usize) -> Quiet {
    let state = &world.views[instance].state;
    let former = || world.sessions.iter().filter(|s| state.presence(&s.member).is_over() && s.is_active());
    let waits = protocol.variant != Variant::FenceUnwaited;
    let unheard = || world.sessions.iter().filter(|s| waits && s.is_active() && world.has_unheard_fence(s));
    let has_claim = former().any(|session| session.claim) && protocol.variant != Variant::SwitchedAtOnce
        || unheard().any(|session| session.claim);
    let has_grace = former().any(|session| session.has_grace) && protocol.variant != Variant::GraceForgotten
        || unheard().any(|session| session.has_grace);
    match (has_claim, has_grace) {
        (true, _) => Quiet::No,
        (false, true) => Quiet::Claims,
        (false, false) => Quiet::Graces,
    }
}

/// The other instance takes the lead; the deposed one does not know yet.
fn depose(world: &mut World) -> Option<()> {
    let old = world.terms.iter().position(Option::is_some)?;
    let new = (old + 1) % world.views.len();
    world.terms[new].is_none().then_some(())?;
    world.left.depositions -= 1;
    let key = world.now.state.layout().encode(&Key::Leader);
    world.apply(&Txn::guarded(Vec::new(), vec![Op::delete(key.clone())]));
    let leader = encode(&LeaderRecord::new(new.to_string(), String::new(), WallMillis(0)));
    world.apply(&Txn::guarded(Vec::new(), vec![Op::put(key, leader)]));
    world.terms[new] = Some(world.now.revision());
    // A leader acts from a view that has seen its own election.
    world.views[new] = Arc::clone(&world.now);
    Some(())
}
