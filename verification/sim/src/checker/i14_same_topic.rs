//! I14: nobody goes on with what it has of a topic once another one, with another id, has taken its place.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::TopicName;

use super::{Findings, Invariant, Step};
use crate::history::{Entry, What};

#[derive(Debug, Default)]
pub(super) struct SameTopic {
    /// The last id that each topic is known to have had.
    ids: BTreeMap<TopicName, String>,
    /// When another id took the place of one.
    replaced: BTreeMap<TopicName, Duration>,
    /// Who works, and since when.
    working: BTreeMap<(u32, TopicPartition), (Arc<str>, Duration)>,
}

impl Invariant for SameTopic {
    fn step(&mut self, step: &Step<'_>, _findings: &mut Findings) {
        for (key, _) in step.changes {
            let Key::Topic(name) = key else { continue };
            let topic = step.after.topics().get(name).and_then(|entry| entry.last_good());
            let Some(id) = topic.and_then(|topic| topic.topic_id.clone()) else { continue };
            let known = self.ids.insert(name.clone(), id.clone());
            if known.is_some_and(|known| known != id) {
                self.replaced.insert(name.clone(), step.at);
            }
        }
    }

    fn entry(&mut self, entry: &Entry, _findings: &mut Findings) {
        match &entry.what {
            What::Began { process, consumer, at, .. } => {
                let began = (Arc::clone(consumer), entry.at);
                self.working.insert((*process, at.clone()), began);
            }
            What::Ended { process, at, .. } => drop(self.working.remove(&(*process, at.clone()))),
            _ => {}
        }
    }

    /// By then everybody has been told.
    fn finish(&mut self, end: Duration, _state: &Arc<GroupState>, findings: &mut Findings) {
        for ((_, at), (consumer, since)) in &self.working {
            if self.replaced.get(&at.topic).is_some_and(|replaced| since < replaced) {
                let what =
                    format!("{consumer} goes on with {at} as it was before its topic was created anew");
                findings.report("I14", end, what);
            }
        }
    }
}
