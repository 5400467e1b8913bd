//! Partitions that come and go, and the application's part in it.

use std::collections::BTreeSet;

use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;

use super::owned::PartitionsById;
use super::{ConsumerCommand, ConsumerMember, ConsumerState};
use crate::RebalanceCallback;

impl ConsumerMember {
    /// Calls the application where it is owed something, one call at a time: a loss first, then what is to be given up,
    /// then what is new.
    pub(super) fn hand_over(&mut self, now: Moment) {
        if self.callback.is_some() {
            return;
        }
        if std::mem::take(&mut self.is_lost) {
            let lost = std::mem::take(&mut self.owned);
            self.call(RebalanceCallback::Lost(lost.named(&self.names)));
        } else if self.closing.is_some() {
            self.give_all_up();
        } else if matches!(self.state, ConsumerState::Member(_)) {
            self.reach_target(now);
        }
    }

    fn give_all_up(&mut self) {
        match self.state {
            ConsumerState::Over => {}
            _ if !self.owned.is_empty() => self.revoke(&self.owned.clone()),
            // A member that joins may be known to the broker already.
            ConsumerState::Member(_) => self.leave(),
            ConsumerState::Joining if self.flight.is_some() => self.leave(),
            ConsumerState::Away if self.owes_leave => {}
            ConsumerState::Joining | ConsumerState::Away => self.end(),
        }
    }

    fn leave(&mut self) {
        (self.state, self.owes_leave) = (ConsumerState::Away, true);
        self.round += 1;
    }

    /// Gives up what the broker wants for others, then takes what it has for this member. Partitions of topics that have
    /// no name yet come when they have one.
    fn reach_target(&mut self, now: Moment) {
        let Some(target) = self.target.clone() else { return };
        let revoked = self.owned.without(&target);
        if !revoked.is_empty() {
            return self.revoke(&revoked);
        }
        let unnamed: BTreeSet<_> =
            target.topics().into_iter().filter(|topic| !self.names.contains_key(topic)).collect();
        if unnamed.is_empty() {
            self.target = None;
            self.lookup.succeeded();
        } else if self.lookup.ask(now) {
            self.commands.push(ConsumerCommand::LookUp(unnamed.clone()));
        }
        self.take_over(target.without_topics(&unnamed));
    }

    fn take_over(&mut self, target: PartitionsById) {
        let added = target.without(&self.owned);
        if !added.is_empty() {
            self.owned = target;
            self.call(RebalanceCallback::Assigned(added.named(&self.names)));
        }
    }

    fn revoke(&mut self, partitions: &PartitionsById) {
        let named = partitions.named(&self.names);
        self.stop_reading(&named);
        self.call(RebalanceCallback::Revoked(named));
    }

    fn call(&mut self, callback: RebalanceCallback) {
        self.commands.push(ConsumerCommand::Call(callback.clone()));
        self.callback = Some(callback);
    }

    pub(super) fn callback_done(&mut self) {
        match self.callback.take() {
            Some(RebalanceCallback::Revoked(given_up)) => {
                self.owned = self.owned.unnamed(&given_up, &self.names);
                self.is_lost &= !self.owned.is_empty();
            }
            Some(RebalanceCallback::Assigned(added)) => self.start_reading(added),
            Some(RebalanceCallback::Lost(_)) | None => {}
        }
    }

    fn start_reading(&mut self, added: BTreeSet<TopicPartition>) {
        let goes_on =
            !self.is_lost && self.closing.is_none() && matches!(self.state, ConsumerState::Member(_));
        if goes_on && !added.is_empty() {
            self.reading.extend(added.iter().cloned());
            self.commands.push(ConsumerCommand::StartReading(added));
        }
    }

    pub(super) fn stop_reading(&mut self, partitions: &BTreeSet<TopicPartition>) {
        let stopped: BTreeSet<_> = self.reading.intersection(partitions).cloned().collect();
        if !stopped.is_empty() {
            self.reading.retain(|partition| !stopped.contains(partition));
            self.commands.push(ConsumerCommand::StopReading(stopped));
        }
    }
}
