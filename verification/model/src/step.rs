//! The steps that are possible in a state, as the model that is explored.

use stateright::{Model, Property};

use kafka_assigner_types::id::TopicPartition;

use crate::act;
use crate::bounds::Bounds;
use crate::premise;
use crate::property::Invariant;
use crate::session::{Life, Session};
use crate::settle::Rests;
use crate::topic::Look;
use crate::variant::Variant;
use crate::world::World;

/// The protocol within bounds, whole or with one rule taken out.
#[derive(Debug, Clone, Default)]
pub struct Protocol {
    /// What may happen.
    pub bounds: Bounds,
    /// What is done wrong.
    pub variant: Variant,
    /// What is known of how states come to rest.
    pub(crate) rests: Rests,
}

/// Something that happens. Sessions, instances, routers and names go by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// An instance's view catches up.
    Sync(usize),
    /// An instance that believes to lead asks what is left of the leases in doubt.
    Ask(usize),
    /// An instance that believes to lead carries out one of its decisions.
    Lead(usize, usize),
    /// The same, with an outcome that nobody learns; it applies later or never.
    LeadUnknown(usize, usize),
    /// A phase is overdue: its step is carried out; later, where nobody learns the outcome.
    Overdue(usize, TopicPartition, bool),
    /// A freeze that waits for a router which stands still is overdue.
    FreezeOverdue(usize, TopicPartition),
    /// An owner that was asked to stop before, or to let go, says nothing: it is fenced.
    Fenced(usize, TopicPartition),
    /// One time to live has passed since a fence was seen.
    FenceOver(usize, TopicPartition),
    /// The write of unknown outcome arrives at the store.
    Land,
    /// An operator asks an instance to stop a handoff.
    Abort(usize, TopicPartition),
    /// A session is told what changed in its instance's view.
    Tell(usize),
    /// A session begins to work on what it owns.
    Start(usize, TopicPartition),
    /// An owner works on the next record; in `routed` it begins it.
    Work(usize, TopicPartition),
    /// The record in the works has ended.
    EndRecord(usize, TopicPartition),
    /// An owner commits what it has done.
    Commit(usize, TopicPartition),
    /// A session takes the fence of a log; later, where that takes long.
    Seize(usize, TopicPartition, bool),
    /// A session reads a log.
    Read(usize, TopicPartition),
    /// The write that is under way to a log arrives.
    Arrived,
    /// A session says what its role has to say.
    Say(usize, TopicPartition),
    /// The same, kept by the network.
    Stray(usize, TopicPartition),
    /// The kept ack arrives at an instance.
    Arrive(usize),
    /// A session says that it can't warm or catch up.
    Fail(usize, TopicPartition),
    /// A session learns that it is over.
    Fence(usize),
    /// A process dies.
    Crash(usize),
    /// A lease that nobody keeps alive gets older.
    Age(usize),
    /// An instance answers a session that the store can't be reached.
    Grace(usize),
    /// The outage grace of a session is over.
    GraceOver(usize),
    /// A heartbeat of a session that stood still is answered.
    Beat(usize),
    /// A heartbeat has kept its lease alive, and its second read is still to come.
    SlowBeat(usize),
    /// The second read, and the answer.
    BeatAnswered(usize),
    /// An instance marks a session as one of a dead process.
    Suspect(usize),
    /// The mark of a session goes that was confirmed before.
    Unmark(usize),
    /// Somebody outside revokes a lease.
    Revoke(usize),
    /// A session is ended by force.
    End(usize),
    /// A new process registers.
    Register(u8),
    /// A session ends at once, by its own wish.
    Leave(usize),
    /// A session ends at once, and says that its name comes back.
    Restart(usize),
    /// A name that said so is not waited for any more.
    Forgo(usize),
    /// A session asks to be drained.
    Drain(usize),
    /// A stream moves to the other instance.
    Reconnect(usize),
    /// Another instance wins the election.
    Depose,
    /// A registration becomes unreadable.
    Spoil(u8),
    /// It becomes readable again.
    Mend,
    /// The topics are deleted and created again, with empty logs.
    Recreate,
    /// A leader has looked at Kafka as often as it takes to believe it.
    LookAtKafka(Look),
    /// The group is switched to its other mode, or back.
    Switch,
    /// A router is told where requests go.
    TellRouter(usize),
    /// A router says that it freezes a partition.
    SayRouter(usize, TopicPartition),
    /// A router registers.
    JoinRouter(u8),
    /// A router that stood still goes on.
    WakeRouter(usize),
    /// A router dies.
    CrashRouter(usize),
    /// The lease of a dead router runs out.
    ExpireRouter(usize),
    /// A router gets a request.
    Request(usize, TopicPartition),
    /// It sends it.
    Send,
    /// The owner gets it; what it writes arrives later, where that takes long.
    Deliver(bool),
}

/// The names of routers there are.
const ROUTER_NAMES: u8 = 2;

impl Protocol {
    /// The protocol as it is shipped.
    #[must_use]
    pub fn shipped(bounds: Bounds) -> Self {
        Self::broken(bounds, Variant::Shipped)
    }

    /// The protocol without one of its rules.
    #[must_use]
    pub fn broken(bounds: Bounds, variant: Variant) -> Self {
        Self { bounds, variant, rests: Rests::default() }
    }

    /// What moves forward by itself, without any trouble.
    pub(crate) fn progress(&self, world: &World, steps: &mut Vec<Step>) {
        steps.extend(world.limbo.as_ref().map(|_| Step::Land));
        steps.extend(world.flight.as_ref().map(|_| Step::Arrived));
        steps.extend(world.spoiled.as_ref().map(|_| Step::Mend));
        if !world.knows_its_topics() {
            steps.extend([Look::Here, Look::Gone].map(Step::LookAtKafka));
        }
        for instance in 0..world.views.len() {
            if world.views[instance].revision() != world.now.revision() {
                steps.push(Step::Sync(instance));
            }
            if world.is_strict() && world.terms[instance].is_some() {
                steps.push(Step::Ask(instance));
            }
            let decided = act::decided(self, world, instance);
            steps.extend((0..decided).map(|number| Step::Lead(instance, number)));
        }
        (0..world.sessions.len()).for_each(|number| self.progress_of(world, number, steps));
        for instance in (0..world.views.len()).filter(|instance| world.terms[*instance].is_some()) {
            steps.extend(world.views[instance].fenced().map(|at| Step::FenceOver(instance, at.clone())));
        }
        self.progress_of_routers(world, steps);
        steps.extend((0..world.sessions.len()).filter(|number| world.is_awaited(*number)).map(Step::Forgo));
        let graced = world.sessions.iter().enumerate().filter(|(_, session)| session.has_grace);
        steps.extend(graced.map(|(number, _)| Step::GraceOver(number)));
        if world.routers.iter().any(|router| router.is_stuck) {
            for instance in (0..world.views.len()).filter(|instance| world.terms[*instance].is_some()) {
                let freezes = world.views[instance].freezes();
                steps.extend(freezes.map(|at| Step::FreezeOverdue(instance, at.clone())));
            }
        }
    }

    fn progress_of(&self, world: &World, number: usize, steps: &mut Vec<Step>) {
        let session = &world.sessions[number];
        let (is_registered, is_strict) = (world.is_registered(session), world.is_strict());
        if session.is_active() && session.is_beating {
            steps.push(Step::BeatAnswered(number));
        } else if session.is_active()
            && (self.has_to_beat(session, is_registered, is_strict)
                || world.is_suspected(session) && !session.is_heard
                || is_registered && world.is_fenced_of_any(session))
        {
            steps.push(Step::Beat(number));
        }
        if session.is_heard && world.is_suspected(session) {
            steps.push(Step::Unmark(number));
        }
        if session.is_active() && (is_registered || is_strict) {
            steps.push(Step::Tell(number));
            for at in session.roles.keys() {
                if is_strict {
                    steps.push(Step::Seize(number, at.clone(), false));
                    steps.push(Step::Read(number, at.clone()));
                }
                steps.push(Step::Start(number, at.clone()));
                steps.push(Step::Say(number, at.clone()));
            }
        }
        steps.extend(session.in_works.iter().map(|at| Step::EndRecord(number, at.clone())));
        if session.is_active() && !is_registered {
            steps.push(Step::Fence(number));
        }
        let runs = session.life != Life::Gone || session.claim;
        if is_strict && runs && !(session.is_active() && is_registered)
            || !is_strict && is_registered && !session.is_active()
        {
            steps.push(Step::Age(number));
        }
    }

    fn has_to_beat(&self, session: &Session, is_registered: bool, is_strict: bool) -> bool {
        let is_kept = self.variant == Variant::KeepsConfirming && !is_registered;
        (is_strict && session.life == Life::Third) || is_kept
    }

    fn progress_of_routers(&self, world: &World, steps: &mut Vec<Step>) {
        for (number, router) in world.routers.iter().enumerate() {
            if router.alive {
                steps.push(Step::TellRouter(number));
                steps.extend(router.table.keys().map(|at| Step::SayRouter(number, at.clone())));
            } else if world.now.state.is_routing(&router.member) {
                steps.push(Step::ExpireRouter(number));
            }
        }
        if let Some(request) = &world.request {
            let is_stuck = world.routers[request.router].is_stuck;
            match request.sent {
                Some(_) => steps.push(Step::Deliver(false)),
                None => steps.extend((!is_stuck).then_some(Step::Send)),
            }
        }
    }

    fn trouble(&self, world: &World, steps: &mut Vec<Step>) {
        let left = &world.left;
        for instance in 0..world.views.len() {
            self.trouble_at(world, instance, steps);
            steps.extend(world.stray.as_ref().map(|_| Step::Arrive(instance)));
        }
        for number in 0..world.sessions.len() {
            self.trouble_of(world, number, steps);
        }
        self.trouble_of_routers(world, steps);
        if left.sessions > 0 {
            steps.extend((0..left.names).map(Step::Register));
        }
        if left.spoils > 0 {
            steps.extend((0..left.names).map(Step::Spoil));
        }
        steps.extend((left.depositions > 0).then_some(Step::Depose));
        steps.extend((left.switches > 0).then_some(Step::Switch));
        steps.extend((left.returns > 0 && world.knows_its_topics()).then_some(Step::Recreate));
    }

    fn trouble_at(&self, world: &World, instance: usize, steps: &mut Vec<Step>) {
        let left = &world.left;
        let may_be_late = left.unknowns > 0 && world.limbo.is_none();
        if may_be_late {
            steps.extend((0..act::decided(self, world, instance)).map(|n| Step::LeadUnknown(instance, n)));
        }
        for at in world.views[instance].state.handoffs().keys() {
            if left.deadlines > 0 && world.terms[instance].is_some() {
                steps.push(Step::Overdue(instance, at.clone(), false));
                steps.extend(may_be_late.then(|| Step::Overdue(instance, at.clone(), true)));
            }
            if left.fences > 0 && world.terms[instance].is_some() {
                steps.push(Step::Fenced(instance, at.clone()));
            }
            steps.extend((left.aborts > 0).then(|| Step::Abort(instance, at.clone())));
        }
    }

    fn trouble_of(&self, world: &World, number: usize, steps: &mut Vec<Step>) {
        let (left, session) = (&world.left, &world.sessions[number]);
        if left.suspicions > 0 && world.is_registered(session) {
            steps.push(Step::Suspect(number));
        }
        if !session.is_active() {
            return;
        }
        let mut push = |budget: u8, step: Step| steps.extend((budget > 0).then_some(step));
        push(left.crashes, Step::Crash(number));
        push(left.reconnects, Step::Reconnect(number));
        push(if session.claim && !session.has_grace { left.graces } else { 0 }, Step::Grace(number));
        // Also one that another session took over from says that it has stopped.
        push(left.leaves, Step::Leave(number));
        if world.is_registered(session) {
            let is_strict = world.is_strict();
            let is_standing = is_strict && session.life == Life::Fresh;
            push(if is_standing { left.pauses } else { left.expiries }, Step::Age(number));
            push(left.revocations, Step::Revoke(number));
            push(left.ends, Step::End(number));
            push(left.restarts, Step::Restart(number));
            push(left.drains, Step::Drain(number));
            push(if is_strict && !session.is_beating { left.slow_beats } else { 0 }, Step::SlowBeat(number));
        }
        for at in session.roles.keys() {
            push(left.failures, Step::Fail(number, at.clone()));
            push(left.records, Step::Work(number, at.clone()));
            push(left.commits, Step::Commit(number, at.clone()));
            push(left.flights, Step::Seize(number, at.clone(), true));
            if world.stray.is_none() {
                push(left.strays, Step::Stray(number, at.clone()));
            }
        }
    }

    fn trouble_of_routers(&self, world: &World, steps: &mut Vec<Step>) {
        let left = &world.left;
        if left.router_joins > 0 {
            steps.extend((0..ROUTER_NAMES).map(Step::JoinRouter));
        }
        for (number, _) in world.routers.iter().enumerate().filter(|(_, router)| router.alive) {
            steps.extend((left.router_crashes > 0).then_some(Step::CrashRouter(number)));
            let may_wake = left.wakes > 0 && world.routers[number].is_stuck;
            steps.extend(may_wake.then_some(Step::WakeRouter(number)));
            if left.requests > 0 && world.request.is_none() {
                steps.extend(world.partitions().map(|at| Step::Request(number, at)));
            }
        }
        let is_sent = world.request.as_ref().is_some_and(|request| request.sent.is_some());
        steps.extend((left.flights > 0 && is_sent).then_some(Step::Deliver(true)));
    }
}

impl Model for Protocol {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![act::begin(self)]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        // What is broken is shown; what comes after it shows nothing.
        if world.broken.is_none() {
            self.progress(world, steps);
            self.trouble(world, steps);
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        act::act(self, world, step)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        macro_rules! unbroken {
            ($($invariant:ident),*) => {
                vec![$(Property::always(Invariant::$invariant.name(), |_: &Self, world: &World| {
                    world.broken != Some(Invariant::$invariant)
                })),*]
            };
        }
        let mut properties = unbroken![
            SingleHolder,
            Epochs,
            NoLostWork,
            NoGap,
            NoLostWrite,
            OneWriter,
            AckIdentity,
            Truth,
            Finality,
            OneAttempt,
            Heard,
            Ahead,
            Quiet,
            Rested
        ];
        properties.push(Property::always(Invariant::Liveness.name(), |model: &Self, world: &World| {
            world.broken.is_some() || model.settles(world)
        }));
        properties.extend(premise::of(self.bounds.mode));
        properties
    }
}
