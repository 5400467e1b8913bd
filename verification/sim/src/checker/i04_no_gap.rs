//! I4: from the first assignment on every partition is processed, except for a bounded time after its owner's death.
//!
//! In `overlap` a gap that opens because the old owner let go in good order is forgiven only where the new owner worked
//! and died meanwhile; in the strict modes it is what a handoff takes, and bounded like the one after a
//! death. One that opens by a death, or because the owner lost its claim to a known fault, has to close within the world's
//! patience, counted from its cause or from the end of the last fault that overlaps it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::id::{Epoch, TopicPartition};

use super::excuses::Excuses;
use super::{Findings, Invariant, Step};
use crate::history::{Entry, What, Why};

#[derive(Debug)]
pub(super) struct NoGap {
    patience: Duration,
    places: BTreeMap<TopicPartition, Place>,
    /// The partitions whose owner stops before the next one begins.
    strict: BTreeSet<TopicPartition>,
    excuses: Excuses,
}

/// One partition that was processed before.
#[derive(Debug, Default)]
struct Place {
    workers: BTreeSet<u32>,
    owner: Option<Arc<str>>,
    /// The one who worked under the highest epoch, and how that ended.
    latest: Option<(Epoch, u32, Option<Why>)>,
    gap: Option<Gap>,
}

#[derive(Debug)]
struct Gap {
    since: Duration,
    why: Why,
    who: Arc<str>,
    /// Those whose faults may prolong it.
    involved: BTreeSet<Arc<str>>,
    /// The time by which it has to be over, if nothing else happens.
    by: Duration,
}

impl NoGap {
    pub(super) fn new(patience: Duration) -> Self {
        Self { patience, places: BTreeMap::new(), strict: BTreeSet::new(), excuses: Excuses::default() }
    }

    fn began(
        &mut self,
        entry: &Entry,
        process: u32,
        at: &TopicPartition,
        epoch: Epoch,
        findings: &mut Findings,
    ) {
        let place = self.places.entry(at.clone()).or_default();
        place.workers.insert(process);
        if place.latest.is_none_or(|(latest, ..)| latest <= epoch) {
            place.latest = Some((epoch, process, None));
        }
        if let Some(gap) = place.gap.take() {
            self.judge(&gap, at, entry.at, findings);
        }
    }

    fn ended(&mut self, entry: &Entry, process: u32, who: &Arc<str>, at: &TopicPartition, why: Why) {
        let Some(place) = self.places.get_mut(at) else { return };
        if !place.workers.remove(&process) {
            return;
        }
        if let Some((_, latest, end)) = place.latest.as_mut()
            && *latest == process
        {
            *end = Some(why);
        }
        if place.workers.is_empty() {
            let involved: BTreeSet<Arc<str>> = place.owner.iter().chain([who]).cloned().collect();
            let taker_died = place.latest.is_some_and(|(_, latest, end)| latest != process && is_death(end));
            let hands_over = why == Why::Drained && self.strict.contains(at);
            let forgiven = taker_died || hands_over;
            let by = self.first_deadline(entry.at, why, &involved, forgiven);
            let gap = Gap { since: entry.at, why, who: Arc::clone(who), involved, by };
            self.places.get_mut(at).expect("it was there").gap = Some(gap);
        }
    }

    fn first_deadline(
        &self,
        now: Duration,
        why: Why,
        involved: &BTreeSet<Arc<str>>,
        forgiven: bool,
    ) -> Duration {
        let is_forgiven = match why {
            Why::Killed | Why::Frozen | Why::Left => true,
            Why::Lost | Why::Lapsed | Why::Drained => {
                forgiven || self.excuses.forgives(involved, now, self.patience)
            }
        };
        if is_forgiven { now + self.patience } else { now }
    }

    fn judge(&self, gap: &Gap, at: &TopicPartition, now: Duration, findings: &mut Findings) {
        let by = match gap.by > gap.since {
            true => self.excuses.put_off(&gap.involved, (gap.since, gap.by), self.patience),
            false => gap.by,
        };
        if now > by {
            let (who, why, lasted) = (&gap.who, gap.why, now - gap.since);
            let what = format!("nobody worked on {at} for {lasted:?}, since {who} ended ({why:?})");
            findings.report(gap.since, what);
        }
    }

    fn owner_changed(&mut self, state: &GroupState, at: &TopicPartition) {
        let owner = state.assignment(at).and_then(|a| a.owner.as_ref()).map(|o| Arc::from(o.name.as_str()));
        let Some(place) = self.places.get_mut(at) else { return };
        if let Some(gap) = &mut place.gap {
            gap.involved.extend(owner.clone());
        }
        place.owner = owner;
    }

    fn mode_changed(&mut self, state: &GroupState, at: &TopicPartition) {
        match state.assignment(at).is_some_and(|assignment| assignment.mode.is_strict()) {
            true => self.strict.insert(at.clone()),
            false => self.strict.remove(at),
        };
    }
}

fn exists(state: &GroupState, at: &TopicPartition) -> bool {
    let topic = state.topics().get(&at.topic).and_then(|entry| entry.last_good());
    topic.is_some_and(|topic| at.partition < topic.partitions)
}

const fn is_death(end: Option<Why>) -> bool {
    matches!(end, Some(Why::Killed | Why::Frozen | Why::Left | Why::Lost | Why::Lapsed))
}

impl Invariant for NoGap {
    fn step(&mut self, step: &Step<'_>, _findings: &mut Findings) {
        for (key, _) in step.changes {
            match key {
                Key::Assignment(at) => {
                    self.mode_changed(step.after, at);
                    self.owner_changed(step.after, at);
                }
                // A partition that does not exist needs nobody, until somebody has it again.
                Key::Topic(topic) => {
                    self.places.retain(|at, _| at.topic != *topic || exists(step.after, at));
                }
                _ => {}
            }
        }
    }

    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        self.excuses.entry(entry);
        match &entry.what {
            What::Began { process, at, epoch, .. } => self.began(entry, *process, at, *epoch, findings),
            What::Ended { process, consumer, at, why } => self.ended(entry, *process, consumer, at, *why),
            _ => {}
        }
    }

    fn finish(&mut self, end: Duration, state: &Arc<GroupState>, findings: &mut Findings) {
        for (at, place) in self.places.iter().filter(|(at, _)| exists(state, at)) {
            if let Some(gap) = &place.gap {
                self.judge(gap, at, end, findings);
            }
        }
    }
}
