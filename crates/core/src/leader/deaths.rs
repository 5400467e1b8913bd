//! The sessions that were taken over lately: [`Deaths`].

use std::collections::BTreeMap;
use std::time::Duration;

use crate::record::Consumer;
use kafka_assigner_types::id::{Incarnation, Member, TopicPartition};
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::MemberName;

/// For how long the death of an owner counts against its units.
const COUNTED: Duration = Duration::from_secs(600);

/// After so many deaths of its owners a unit waits for the end of the next session: what kills its owner must not do so
/// faster than without takeovers.
const MOST_DEATHS: usize = 2;

/// The sessions that a leader has taken over, and the deaths of the owners of units, as far as they still count.
#[derive(Debug, Clone, Default)]
pub struct Deaths {
    sessions: BTreeMap<Member, TakenOver>,
    units: BTreeMap<TopicPartition, Vec<Death>>,
}

/// A session whose process seems to be dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkedSession {
    pub(super) member: Member,
    pub(super) process: String,
    pub(super) ttl: Duration,
}

impl MarkedSession {
    pub(super) fn of(name: &MemberName, consumer: &Consumer) -> Self {
        Self {
            member: Member { name: name.clone(), incarnation: consumer.incarnation.clone() },
            process: process_of(name, consumer).to_owned(),
            ttl: Duration::from_millis(consumer.ttl_ms),
        }
    }
}

#[derive(Debug, Clone)]
struct TakenOver {
    session: MarkedSession,
    at: Moment,
}

#[derive(Debug, Clone)]
struct Death {
    incarnation: Incarnation,
    at: Moment,
}

impl TakenOver {
    /// The moment from which its process counts no more: a time to live after its end.
    fn counts_until(&self) -> Moment {
        self.at + self.session.ttl
    }

    /// The moment from which nobody asks for it: its registration may stand for a time to live, and is not counted again.
    fn is_kept_until(&self) -> Moment {
        self.at + self.session.ttl.max(COUNTED)
    }
}

impl Deaths {
    /// Notes that `session`, which owned `units`, is ended because its process seems to be dead.
    pub(super) fn note<'a>(
        &mut self,
        session: &MarkedSession,
        units: impl Iterator<Item = &'a TopicPartition>,
        now: Moment,
    ) {
        if self.sessions.contains_key(&session.member) {
            return;
        }
        self.forget_old(now);
        self.sessions.insert(session.member.clone(), TakenOver { session: session.clone(), at: now });
        for at in units {
            let death = Death { incarnation: session.member.incarnation.clone(), at: now };
            self.units.entry(at.clone()).or_default().push(death);
        }
    }

    fn forget_old(&mut self, now: Moment) {
        self.sessions.retain(|_, taken_over| now < taken_over.is_kept_until());
        self.units.retain(|_, deaths| {
            deaths.retain(|death| now < death.at + COUNTED);
            !deaths.is_empty()
        });
    }

    /// The processes that were taken over within the time to live of their sessions.
    pub(super) fn processes(&self, now: Moment) -> impl Iterator<Item = &str> {
        let lately = self.sessions.values().filter(move |taken_over| now < taken_over.counts_until());
        lately.map(|taken_over| taken_over.session.process.as_str())
    }

    /// The moments from which a process counts no more.
    pub(super) fn ends(&self) -> impl Iterator<Item = Moment> {
        self.sessions.values().map(TakenOver::counts_until)
    }

    /// True if too many owners of `at` were taken over lately before the session `incarnation`.
    pub(super) fn of_unit(&self, at: &TopicPartition, incarnation: &Incarnation, now: Moment) -> bool {
        let counts = |death: &&Death| death.incarnation != *incarnation && now < death.at + COUNTED;
        self.units.get(at).is_some_and(|deaths| deaths.iter().filter(counts).count() >= MOST_DEATHS)
    }
}

/// The process of a consumer: one of its own where the client does not say.
pub(super) fn process_of<'c>(name: &'c MemberName, consumer: &'c Consumer) -> &'c str {
    if consumer.process.is_empty() { name.as_str() } else { &consumer.process }
}
