//! Partitions that come and go, and the application's part in it.

use std::collections::BTreeSet;

use kafka_assigner_types::id::TopicPartition;

use super::{ClassicCommand, ClassicMember, ClassicState};
use crate::RebalanceCallback;

impl ClassicMember {
    /// Calls the application where it is owed something, one call at a time: a loss first, then what is to be given up,
    /// then what is new.
    pub(super) fn hand_over(&mut self) {
        if self.callback.is_some() {
            return;
        }
        if std::mem::take(&mut self.is_lost) {
            let lost = std::mem::take(&mut self.owned.partitions);
            self.owned.generation = -1;
            self.call(RebalanceCallback::Lost(lost));
        } else if self.state == ClassicState::Stable && self.closing.is_none() {
            self.apply_plan();
        }
    }

    fn apply_plan(&mut self) {
        let Some(target) = &self.target else { return };
        let revoked: BTreeSet<_> = self.owned.partitions.difference(target).cloned().collect();
        if !revoked.is_empty() {
            return self.revoke(revoked);
        }
        let Some(target) = self.target.take() else { return };
        let added = target.difference(&self.owned.partitions).cloned().collect();
        self.owned.partitions = target;
        self.owned.generation = self.membership.as_ref().map_or(-1, |membership| membership.generation);
        self.last = self.owned.clone();
        self.call(RebalanceCallback::Assigned(added));
    }

    /// Stops reading at once, and has the application finish its work. The partitions are owned until it has.
    pub(super) fn revoke(&mut self, partitions: BTreeSet<TopicPartition>) {
        self.stop_reading(&partitions);
        self.call(RebalanceCallback::Revoked(partitions));
    }

    fn call(&mut self, callback: RebalanceCallback) {
        self.commands.push(ClassicCommand::Call(callback.clone()));
        self.callback = Some(callback);
    }

    pub(super) fn callback_done(&mut self) {
        match self.callback.take() {
            Some(RebalanceCallback::Revoked(given_up)) => self.gave_up(&given_up),
            Some(RebalanceCallback::Assigned(added)) => self.start_reading(added),
            Some(RebalanceCallback::Lost(_)) | None => {}
        }
    }

    fn gave_up(&mut self, given_up: &BTreeSet<TopicPartition>) {
        self.owned.partitions.retain(|partition| !given_up.contains(partition));
        self.is_lost &= !self.owned.partitions.is_empty();
        if self.target.is_some() {
            // The others can have them only in a rebalance of their own.
            self.rejoin.ask();
        }
    }

    fn start_reading(&mut self, added: BTreeSet<TopicPartition>) {
        let goes_on = !self.is_lost && self.closing.is_none() && self.state != ClassicState::Over;
        if goes_on && !added.is_empty() {
            self.reading.extend(added.iter().cloned());
            self.commands.push(ClassicCommand::StartReading(added));
        }
    }

    pub(super) fn stop_reading(&mut self, partitions: &BTreeSet<TopicPartition>) {
        let stopped: BTreeSet<_> = self.reading.intersection(partitions).cloned().collect();
        if !stopped.is_empty() {
            self.reading.retain(|partition| !stopped.contains(partition));
            self.commands.push(ClassicCommand::StopReading(stopped));
        }
    }
}
