//! The sessions that were taken over lately: [`Deaths`].

use std::collections::BTreeMap;
use std::time::Duration;

use crate::record::Consumer;
use crate::state::GroupState;
use kafka_assigner_types::id::{Incarnation, Member, TopicPartition};
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::MemberName;

/// For how long the death of an owner counts against its units.
const REMEMBERED: Duration = Duration::from_secs(600);

/// After so many deaths of its owners a unit waits for the end of the next session: what kills its owner must not do so
/// faster than without takeovers.
const MOST_DEATHS: usize = 2;

/// The sessions that were taken over, and the deaths of the owners of units.
#[derive(Debug, Clone, Default)]
pub(super) struct Deaths {
    sessions: BTreeMap<Member, TakenOver>,
    units: BTreeMap<TopicPartition, Vec<Death>>,
}

#[derive(Debug, Clone)]
struct TakenOver {
    process: String,
    ttl: Duration,
    at: Moment,
}

#[derive(Debug, Clone)]
struct Death {
    incarnation: Incarnation,
    at: Moment,
}

impl TakenOver {
    /// Its registration may stand for a time to live, and must not be counted again.
    fn forgotten(&self) -> Moment {
        self.at + self.ttl.max(REMEMBERED)
    }
}

impl Deaths {
    /// Notes that the session `member` is ended because its process seems to be dead.
    pub(super) fn note(&mut self, state: &GroupState, member: &Member, consumer: &Consumer, now: Moment) {
        if self.sessions.contains_key(member) {
            return;
        }
        self.forget_old(now);
        let process = process_of(&member.name, consumer).to_owned();
        let taken_over = TakenOver { process, ttl: Duration::from_millis(consumer.ttl_ms), at: now };
        self.sessions.insert(member.clone(), taken_over);
        for at in state.concerned(&member.name).filter(|at| state.owner(at).as_ref() == Some(member)) {
            let death = Death { incarnation: member.incarnation.clone(), at: now };
            self.units.entry(at.clone()).or_default().push(death);
        }
    }

    fn forget_old(&mut self, now: Moment) {
        self.sessions.retain(|_, taken_over| now < taken_over.forgotten());
        self.units.retain(|_, deaths| {
            deaths.retain(|death| now < death.at + REMEMBERED);
            !deaths.is_empty()
        });
    }

    /// The processes that were taken over within the time to live of their sessions.
    pub(super) fn processes(&self, now: Moment) -> impl Iterator<Item = &str> {
        let lately = self.sessions.values().filter(move |taken_over| now < taken_over.at + taken_over.ttl);
        lately.map(|taken_over| taken_over.process.as_str())
    }

    /// The moments at which a process counts no more.
    pub(super) fn forgotten(&self) -> impl Iterator<Item = Moment> {
        self.sessions.values().map(|taken_over| taken_over.at + taken_over.ttl)
    }

    /// True if too many owners of `at` were taken over lately before the session `incarnation`.
    pub(super) fn of_unit(&self, at: &TopicPartition, incarnation: &Incarnation, now: Moment) -> bool {
        let counts = |death: &&Death| death.incarnation != *incarnation && now < death.at + REMEMBERED;
        self.units.get(at).is_some_and(|deaths| deaths.iter().filter(counts).count() >= MOST_DEATHS)
    }
}

/// The process of a consumer: one of its own where the client does not say.
pub(super) fn process_of<'c>(name: &'c MemberName, consumer: &'c Consumer) -> &'c str {
    if consumer.process.is_empty() { name.as_str() } else { &consumer.process }
}
