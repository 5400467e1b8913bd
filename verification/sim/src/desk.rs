//! The desk at which owners take requests: the library's gate, and a log for each partition.
//!
//! A request that is admitted waits for its turn, takes its time, and is appended to the partition's log if the claim is
//! valid in that very moment, all under its permit. An owner's state is what it has read of the log and appended itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_client::{OwnedContext, Permit, Refusal};
use kafka_assigner_types::id::{Epoch, TopicPartition};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::call::Call;
use crate::history::{History, What};
use crate::hole::Hole;
use crate::ice::Ice;

/// The longest that a request takes to be executed.
const LONGEST_MS: u64 = 12;

/// The outcome of a request that reached an owner's address.
#[derive(Debug)]
pub(crate) enum Served {
    /// It was executed.
    Done,
    /// Nothing of it was executed.
    Refused(String),
    /// The connection broke on the way.
    Broken,
    /// Nothing ever comes back.
    Never,
}

/// The epochs that a request was meant for, and admitted for. The owner may go on under a higher epoch meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admitted {
    pub(crate) asked: Epoch,
    pub(crate) under: Epoch,
}

/// The desks of all processes; a clone is the same ones.
#[derive(Debug, Clone)]
pub(crate) struct Desk(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    history: History,
    hole: Option<Hole>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    dice: StdRng,
    logs: BTreeMap<TopicPartition, u64>,
    processes: BTreeMap<u32, Process>,
}

#[derive(Debug, Clone)]
struct Process {
    consumer: Arc<str>,
    ice: Ice,
    gone: CancellationToken,
    /// The place up to which each log was read for the epoch that is reserved.
    read: BTreeMap<TopicPartition, (Epoch, u64)>,
    places: BTreeMap<TopicPartition, Place>,
    /// The number of requests that have been admitted and have not ended.
    serving: u32,
}

/// One partition that a process owns.
#[derive(Debug, Clone)]
struct Place {
    context: OwnedContext,
    /// The length of the log that its state has.
    knows: u64,
    /// One request after the other.
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// The address of a process.
pub(crate) fn address(process: u32) -> String {
    process.to_string()
}

/// The process at an address.
pub(crate) fn process_at(address: &str) -> u32 {
    address.parse().expect("consumers register the addresses of their processes")
}

impl Desk {
    pub(crate) fn new(seed: u64, history: History, hole: Option<Hole>) -> Self {
        let dice = StdRng::seed_from_u64(seed);
        let state = State { dice, logs: BTreeMap::new(), processes: BTreeMap::new() };
        Self(Arc::new(Shared { history, hole, state: Mutex::new(state) }))
    }

    /// A process begins to listen at its address.
    pub(crate) fn open(&self, process: u32, consumer: &Arc<str>, ice: &Ice) {
        let opened = Process {
            consumer: Arc::clone(consumer),
            ice: ice.clone(),
            gone: CancellationToken::new(),
            read: BTreeMap::new(),
            places: BTreeMap::new(),
            serving: 0,
        };
        self.state().processes.insert(process, opened);
    }

    /// A process is no more.
    pub(crate) fn close(&self, process: u32) {
        if let Some(closed) = self.state().processes.remove(&process) {
            closed.gone.cancel();
        }
    }

    /// A process reads what there is, for the epoch that is reserved for it.
    pub(crate) fn read(&self, process: u32, at: TopicPartition, epoch: Epoch) {
        let mut state = self.state();
        let length = state.length(&at);
        if let Some(process) = state.processes.get_mut(&process) {
            process.read.insert(at, (epoch, length));
        }
    }

    /// A process owns a partition, with the state that it kept, or that it read under the reservation, or reads now.
    pub(crate) fn own(&self, process: u32, at: TopicPartition, context: &OwnedContext) {
        let mut state = self.state();
        let length = state.length(&at);
        let Some(process) = state.processes.get_mut(&process) else { return };
        let kept = process.places.get(&at).filter(|_| context.is_resumed()).map(|place| place.knows);
        let read = process.read.remove(&at).filter(|(epoch, _)| *epoch == context.epoch());
        let knows = kept.or_else(|| read.map(|(_, length)| length)).unwrap_or(length);
        process.places.insert(at, Place { context: context.clone(), knows, turn: Arc::default() });
    }

    /// A process drops what it has of a partition.
    pub(crate) fn drop_state(&self, process: u32, at: &TopicPartition) {
        if let Some(process) = self.state().processes.get_mut(&process) {
            process.places.remove(at);
            process.read.remove(at);
        }
    }

    /// The processes that execute something just now.
    pub(crate) fn serving(&self) -> Vec<u32> {
        let state = self.state();
        state.processes.iter().filter(|(_, process)| process.serving > 0).map(|(number, _)| *number).collect()
    }

    /// A request has reached the address of a process.
    pub(crate) async fn serve(&self, process: u32, at: &TopicPartition, asked: Epoch, call: Call) -> Served {
        let listening = self.state().processes.get(&process).map(|p| (p.ice.clone(), p.gone.clone()));
        let Some((ice, gone)) = listening else {
            return Served::Refused("nobody listens".into());
        };
        if ice.is_frozen() {
            self.0.history.note(What::Lost { call: call.number });
        }
        tokio::select! {
            biased;
            // It dies with its process.
            () = gone.cancelled() => {
                self.0.history.note(What::Lost { call: call.number });
                Served::Broken
            }
            served = ice.run(self.execute(process, at, asked, call)) => served,
        }
    }

    async fn execute(&self, process: u32, at: &TopicPartition, asked: Epoch, call: Call) -> Served {
        let place = self.state().processes.get(&process).and_then(|p| p.places.get(at).cloned());
        let Some(place) = place else { return Served::Refused("not here".into()) };
        let _permit = match self.admit(&place.context, asked) {
            Ok(permit) => permit,
            Err(refusal) => return Served::Refused(refusal.to_string()),
        };
        let admitted = Admitted { asked, under: place.context.epoch() };
        let _serving = Serving::begin(self, process);
        let _turn = place.turn.lock().await;
        sleep(self.span()).await;
        self.append(process, at, admitted, call)
    }

    fn admit(&self, context: &OwnedContext, asked: Epoch) -> Result<Option<Permit>, Refusal> {
        match self.0.hole {
            Some(Hole::GateForgotten) => Ok(None),
            Some(Hole::EpochIgnored) => context.admit(context.epoch()).map(Some),
            _ => context.admit(asked).map(Some),
        }
    }

    /// The effect. What was a valid claim at the gate may have lapsed since.
    fn append(&self, process: u32, at: &TopicPartition, admitted: Admitted, call: Call) -> Served {
        let mut state = self.state();
        let length = state.length(at);
        let Some(owner) = state.processes.get_mut(&process) else { return Served::Broken };
        let consumer = Arc::clone(&owner.consumer);
        let Some(place) = owner.places.get_mut(at) else {
            return Served::Refused("not here any more".into());
        };
        if !place.context.claim().is_valid() && self.0.hole != Some(Hole::GateForgotten) {
            return Served::Refused("the claim has lapsed".into());
        }
        let (epoch, knows) = (place.context.epoch(), std::mem::replace(&mut place.knows, length + 1));
        state.logs.insert(at.clone(), length + 1);
        let (at, place) = (at.clone(), length);
        let executed = What::Executed { call, process, consumer, at, admitted, epoch, place, knows };
        self.0.history.note(executed);
        Served::Done
    }

    fn span(&self) -> Duration {
        Duration::from_millis(self.state().dice.random_range(0..=LONGEST_MS))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().expect("nothing panics while it holds the desks")
    }
}

impl State {
    fn length(&self, at: &TopicPartition) -> u64 {
        self.logs.get(at).copied().unwrap_or_default()
    }
}

/// One request in the hands of a process.
struct Serving<'a> {
    desk: &'a Desk,
    process: u32,
}

impl<'a> Serving<'a> {
    fn begin(desk: &'a Desk, process: u32) -> Self {
        desk.state().processes.entry(process).and_modify(|process| process.serving += 1);
        Self { desk, process }
    }
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        self.desk.state().processes.entry(self.process).and_modify(|process| process.serving -= 1);
    }
}
