//! The index from members to the partitions that concern them: kept beside the records, so that nobody searches them.

use super::SharedMap;
use crate::record::Handoff;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::MemberName;

/// By member, the partitions in which an assignment or a handoff names it, with how many do.
#[derive(Debug, Clone, Default)]
pub(super) struct RoleIndex(SharedMap<MemberName, SharedMap<TopicPartition, u32>>);

impl RoleIndex {
    pub(super) fn of(&self, name: &MemberName) -> impl Iterator<Item = &TopicPartition> {
        self.0.get(name).into_iter().flat_map(SharedMap::keys)
    }

    pub(super) fn has(&self, name: &MemberName, at: &TopicPartition) -> bool {
        self.0.get(name).is_some_and(|partitions| partitions.contains_key(at))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &MemberName> {
        self.0.keys()
    }

    pub(super) fn replace<'a>(
        &mut self,
        at: &TopicPartition,
        before: impl Iterator<Item = &'a MemberName>,
        after: impl Iterator<Item = &'a MemberName>,
    ) {
        before.for_each(|name| self.release(name, at));
        after.for_each(|name| self.hold(name, at));
    }

    pub(super) fn add(&mut self, handoff: &Handoff) {
        for at in &handoff.unit {
            self.hold(&handoff.old.name, at);
            self.hold(&handoff.new.name, at);
        }
    }

    pub(super) fn remove(&mut self, handoff: &Handoff) {
        for at in &handoff.unit {
            self.release(&handoff.old.name, at);
            self.release(&handoff.new.name, at);
        }
    }

    fn hold(&mut self, name: &MemberName, at: &TopicPartition) {
        *self.0.get_or_default(name).get_or_default(at) += 1;
    }

    fn release(&mut self, name: &MemberName, at: &TopicPartition) {
        let Some(partitions) = self.0.get_mut(name) else { return };
        if let Some(count) = partitions.get_mut(at) {
            *count -= 1;
            if *count == 0 {
                partitions.remove(at);
            }
        }
        if partitions.is_empty() {
            self.0.remove(name);
        }
    }
}
