//! What can happen in a state, as the model that is explored.

use stateright::{Model, Property};

use kafka_assigner_core::id::TopicPartition;

use crate::act;
use crate::bounds::Bounds;
use crate::property::Invariant;
use crate::variant::Variant;
use crate::world::World;

/// The protocol within bounds, whole or with one rule taken out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Protocol {
    /// What may happen.
    pub bounds: Bounds,
    /// What is done wrong.
    pub variant: Variant,
}

/// Something that happens. Sessions, instances and consumers go by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// An instance's view catches up.
    Sync(usize),
    /// An instance that believes to lead carries out one of its decisions.
    Lead(usize, usize),
    /// The same, with an outcome that nobody learns; it applies later or never.
    LeadUnknown(usize, usize),
    /// A phase is overdue: its step is carried out; later, where nobody learns the outcome.
    Overdue(usize, TopicPartition, bool),
    /// The write of unknown outcome arrives at the store.
    Land,
    /// A session is told what changed in its instance's view.
    Tell(usize),
    /// A session begins to work on what it owns.
    Start(usize, TopicPartition),
    /// A session says what its role has to say.
    Say(usize, TopicPartition),
    /// The same, kept by the network.
    Stray(usize, TopicPartition),
    /// The kept ack arrives at an instance.
    Arrive(usize),
    /// A session says that it can't warm up.
    Fail(usize, TopicPartition),
    /// A session learns from the store that it is over.
    Fence(usize),
    /// A process dies.
    Crash(usize),
    /// A lease runs out.
    Expire(usize),
    /// A new process registers.
    Register(u8),
    /// A session ends at once, by its own wish.
    Leave(usize),
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
}

impl Protocol {
    /// The protocol as it is shipped.
    #[must_use]
    pub const fn shipped(bounds: Bounds) -> Self {
        Self { bounds, variant: Variant::Shipped }
    }

    /// What moves forward by itself, without any trouble.
    fn progress(&self, world: &World, steps: &mut Vec<Step>) {
        for instance in 0..world.views.len() {
            if world.views[instance].revision() != world.now.revision() {
                steps.push(Step::Sync(instance));
            }
            let decided = act::decided(self, world, instance);
            steps.extend((0..decided).map(|number| Step::Lead(instance, number)));
        }
        steps.extend(world.limbo.as_ref().map(|_| Step::Land));
        steps.extend(world.spoiled.as_ref().map(|_| Step::Mend));
        for (number, session) in world.sessions.iter().enumerate() {
            let is_registered = world.is_registered(session);
            match (session.is_active(), is_registered) {
                (true, true) => {
                    steps.push(Step::Tell(number));
                    for at in session.roles.keys() {
                        steps.push(Step::Start(number, at.clone()));
                        steps.push(Step::Say(number, at.clone()));
                    }
                }
                (true, false) => steps.push(Step::Fence(number)),
                (false, true) => steps.push(Step::Expire(number)),
                (false, false) => {}
            }
        }
    }

    fn trouble(&self, world: &World, steps: &mut Vec<Step>) {
        let left = &world.left;
        for instance in 0..world.views.len() {
            if left.unknowns > 0 && world.limbo.is_none() {
                steps
                    .extend((0..act::decided(self, world, instance)).map(|n| Step::LeadUnknown(instance, n)));
            }
            if left.deadlines > 0 && world.terms[instance].is_some() {
                for at in world.views[instance].state.handoffs().keys() {
                    steps.push(Step::Overdue(instance, at.clone(), false));
                    if left.unknowns > 0 && world.limbo.is_none() {
                        steps.push(Step::Overdue(instance, at.clone(), true));
                    }
                }
            }
            steps.extend(world.stray.as_ref().map(|_| Step::Arrive(instance)));
        }
        for number in 0..world.sessions.len() {
            self.trouble_of(world, number, steps);
        }
        if left.sessions > 0 {
            steps.extend((0..left.names).map(Step::Register));
        }
        if left.depositions > 0 {
            steps.push(Step::Depose);
        }
        if left.spoils > 0 {
            steps.extend((0..left.names).map(Step::Spoil));
        }
    }

    fn trouble_of(&self, world: &World, number: usize, steps: &mut Vec<Step>) {
        let (left, session) = (&world.left, &world.sessions[number]);
        if !session.is_active() {
            return;
        }
        let mut push = |budget: u8, step: Step| steps.extend((budget > 0).then_some(step));
        push(left.crashes, Step::Crash(number));
        push(left.reconnects, Step::Reconnect(number));
        if world.is_registered(session) {
            push(left.expiries, Step::Expire(number));
            push(left.leaves, Step::Leave(number));
            push(left.drains, Step::Drain(number));
        }
        for at in session.roles.keys() {
            push(left.failures, Step::Fail(number, at.clone()));
            if world.stray.is_none() {
                push(left.strays, Step::Stray(number, at.clone()));
            }
        }
    }

    /// I6: no handoff is left, and what somebody takes is worked on by whom the assignment names.
    fn is_settled(&self, world: &World) -> bool {
        let state = &world.now.state;
        let takes = |name: &_| {
            state
                .registration(name)
                .is_some_and(|c| c.standing == kafka_assigner_core::record::Standing::Active)
        };
        let has_taker = state.consumers().keys().any(takes);
        state.handoffs().is_empty() && (!has_taker || (world.excused.is_empty() && self.has_workers(world)))
    }

    fn has_workers(&self, world: &World) -> bool {
        world.partitions().all(|at| world.workers(&at) == 1)
    }

    fn is_at_rest(&self, world: &World) -> bool {
        if world.views.iter().any(|view| view.revision() != world.now.revision()) {
            return false;
        }
        let mut steps = Vec::new();
        self.progress(world, &mut steps);
        steps.into_iter().all(|step| act::act(self, world, step).is_none())
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
            ($invariant:ident) => {
                Property::always(Invariant::$invariant.name(), |_, world: &World| {
                    world.broken != Some(Invariant::$invariant)
                })
            };
        }
        vec![
            unbroken!(Epochs),
            unbroken!(NoGap),
            unbroken!(OneWriter),
            unbroken!(AckIdentity),
            unbroken!(Truth),
            unbroken!(Finality),
            unbroken!(OneAttempt),
            Property::always(Invariant::Liveness.name(), |model: &Self, world: &World| {
                world.broken.is_some() || model.is_settled(world) || !model.is_at_rest(world)
            }),
            Property::sometimes("a handoff goes through", |_, world: &World| {
                world
                    .sessions
                    .iter()
                    .skip(1)
                    .any(|session| session.said.iter().any(|(_, said)| *said == crate::session::Said::Taken))
                    && world.now.state.handoffs().is_empty()
            }),
        ]
    }
}
