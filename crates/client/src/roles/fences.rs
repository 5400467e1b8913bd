//! The grants that the service has fenced, while the session goes on: [`Fences`].

use std::collections::BTreeMap;

use kafka_assigner_types::id::{Epoch, TopicPartition};

use super::role::ConsumerRole;

/// The partitions of which one session was fenced.
#[derive(Debug, Default)]
pub(super) struct Fences {
    /// Those that the service named last: it waits for the word that they were dropped.
    named: BTreeMap<TopicPartition, Epoch>,
    /// The highest epoch that was ever fenced, of each partition. A stream may tell of such a grant long after the service has
    /// heard the word. At most one for each partition that this member has owned.
    highest: BTreeMap<TopicPartition, Epoch>,
}

impl Fences {
    /// Takes in what the service names now.
    pub(super) fn name(&mut self, named: Vec<(TopicPartition, Epoch)>) {
        self.named = named.into_iter().collect();
        for (at, epoch) in &self.named {
            let highest = self.highest.entry(at.clone()).or_default();
            *highest = epoch.max(highest).to_owned();
        }
    }

    /// The partitions that the service named last, each with the highest epoch that is fenced.
    pub(super) fn named(&self) -> impl Iterator<Item = (&TopicPartition, Epoch)> {
        self.named.iter().map(|(at, epoch)| (at, *epoch))
    }

    /// The role that `told` is: none where it is a grant that was fenced.
    pub(super) fn allow(&self, at: &TopicPartition, told: ConsumerRole) -> ConsumerRole {
        let fenced = self.highest.get(at).copied();
        match &told {
            ConsumerRole::Owner(grant) if fenced.is_some_and(|fenced| grant.epoch <= fenced) => {
                ConsumerRole::None
            }
            _ => told,
        }
    }
}
