//! I14: nobody goes on with what it has of a topic once another one, with another id, has taken its place in Kafka.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::TopicName;

use super::{Findings, Invariant};
use crate::history::{Entry, What};

#[derive(Debug, Default)]
pub(super) struct SameTopic {
    /// The time at which another topic took the place of one.
    replaced: BTreeMap<TopicName, Duration>,
    /// Those who work, each with the time since which they do.
    working: BTreeMap<(u32, TopicPartition), (Arc<str>, Duration)>,
}

impl Invariant for SameTopic {
    fn entry(&mut self, entry: &Entry, _findings: &mut Findings) {
        match &entry.what {
            What::Recreated { topic } => drop(self.replaced.insert(topic.clone(), entry.at)),
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
                findings.report(end, what);
            }
        }
    }
}
