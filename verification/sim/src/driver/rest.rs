//! After the healing: the group has to come to rest, and stay so.

use std::time::Duration;

use kafka_assigner_core::claim::Leases;
use kafka_assigner_core::leader::{Leader, StepInputs};
use kafka_assigner_core::plan::WhatIf;
use kafka_assigner_core::reason::DeferReason;
use kafka_assigner_core::record::Standing;
use kafka_assigner_core::state::{GroupState, Presence};
use kafka_assigner_strategies::Registry;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::moment::{Moment, WallMillis};
use tokio::time::sleep;

use super::{Driver, PATROL};
use crate::history::What;
use crate::world::World;

/// The time for which nothing may move for the group to be at rest: two of a leader's ticks, and more.
const REST: Duration = Duration::from_secs(25);

/// The longest time that the way to it may take. Longest are the waits after failed handoffs, which double from 10 s, and a
/// consumer that still leaves.
const LONGEST: Duration = Duration::from_secs(300);

/// The longest time for which a request may be without an answer in a group at rest.
const ANSWERED: Duration = Duration::from_secs(10);

impl Driver {
    /// Waits for rest, and notes whether it came.
    pub(super) async fn rest(&mut self) {
        let healed = self.world.history.now();
        let mut calm_since = healed;
        let mut last = (String::new(), Vec::new());
        let mut wishes = Wishes::default();
        while self.world.history.now() < healed + LONGEST {
            sleep(PATROL).await;
            self.look_after().await;
            let unrest = self.world.unrest(&mut wishes).unwrap_or_default();
            let now = (unrest, self.world.read(owners));
            if !now.0.is_empty() || now != last {
                calm_since = self.world.history.now();
            }
            last = now;
            if self.world.history.now() >= calm_since + REST {
                return self.finish().await;
            }
        }
        self.world.history.note(What::Restless { because: last.0 });
    }

    /// Nobody asks for anything any more, and everything that was asked for has to be answered.
    async fn finish(&self) {
        let calm = self.world.history.now();
        while self.world.clients.waiting() > 0 {
            if self.world.history.now() > calm + ANSWERED {
                let because = format!("{} calls have no answer", self.world.clients.waiting());
                return self.world.history.note(What::Restless { because });
            }
            sleep(PATROL).await;
        }
        self.world.history.note(What::Settled);
    }
}

/// After this time no failure is avoided any more, whatever it was.
const FORGOTTEN: Duration = Duration::from_secs(3_600);

type Owners = Vec<(TopicPartition, Revision)>;

fn owners(state: &GroupState) -> Owners {
    state.assignments().iter().map(|(at, entry)| (at.clone(), entry.mod_revision())).collect()
}

impl World {
    /// The work that is still to be done; `None` where nothing is.
    fn unrest(&self, wishes: &mut Wishes) -> Option<String> {
        self.read(|state| {
            if let Some(at) = state.handoffs().keys().next() {
                return Some(format!("the handoff at {at} has not ended"));
            }
            if let Some(name) = self.closed_router() {
                return Some(format!("the table of the router {name} is closed"));
            }
            partitions(state).iter().find_map(|at| self.misplaced(state, at)).or_else(|| wishes.of(state))
        })
    }

    fn misplaced(&self, state: &GroupState, at: &TopicPartition) -> Option<String> {
        let Some(owner) = state.assignment(at).and_then(|a| a.owner.as_ref()) else {
            return Some(format!("{at} has no owner"));
        };
        let active = state.registration(&owner.name).is_some_and(|c| c.standing == Standing::Active);
        if state.presence(&owner.member()) != Presence::Here || !active {
            return Some(format!("the owner {} of {at} is not there to stay", owner.name));
        }
        let workers = self.floor.workers(at);
        let fits = matches!(&workers[..], [one] if **one == *owner.name.as_str());
        (!fits).then(|| format!("{at} is owned by {} and processed by {workers:?}", owner.name))
    }
}

fn partitions(state: &GroupState) -> Vec<TopicPartition> {
    let topics = state.topics().iter().filter_map(|(name, entry)| Some((name, entry.readable()?.partitions)));
    topics
        .flat_map(|(name, count)| (0..count).map(move |number| TopicPartition::new(name.clone(), number)))
        .collect()
}

/// The wish of a leader, as it was last decided: it follows from the records alone, so that one look at each
/// revision is enough.
#[derive(Debug, Default)]
struct Wishes {
    at: Revision,
    wanted: Option<String>,
}

impl Wishes {
    fn of(&mut self, state: &GroupState) -> Option<String> {
        if self.at != state.revision() {
            *self = Self { at: state.revision(), wanted: wanted(state) };
        }
        self.wanted.clone()
    }
}

/// The wish of a leader whose failures are all still to be avoided, or all forgotten: there is rest where either
/// wants nothing, since only the present leader knows which.
fn wanted(state: &GroupState) -> Option<String> {
    wanted_at(state, Moment::default()).and_then(|_| wanted_at(state, Moment(FORGOTTEN)))
}

fn wanted_at(state: &GroupState, moment: Moment) -> Option<String> {
    let inputs =
        StepInputs { moment, wall: WallMillis::default(), nonce: 0, strategies: Registry::builtin() };
    let leader = Leader::having_seen(state, Moment::default());
    match leader.preview(state, &Leases::default(), inputs, &WhatIf::default()) {
        Err(error) => Some(format!("there is no plan: {error}")),
        Ok(plan) => {
            let waits = |why: &DeferReason| matches!(why, DeferReason::FailedLately { .. });
            let action = plan.actions.first().map(|action| format!("{} is wanted", action.step));
            let deferral = plan.deferred.iter().find(|deferral| !waits(&deferral.why));
            action.or_else(|| deferral.map(|deferral| format!("deferred: {:?}", deferral.why)))
        }
    }
}
