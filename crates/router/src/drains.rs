//! The acknowledgements of drained partitions: due once no request is in flight, until a definite answer came, and
//! again while the service still waits.
//!
//! Pure. A slow partition delays no other one (scenario H23).

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_proto::v1::AckOutcome;
use kafka_assigner_types::id::{HandoffId, TopicPartition};
use kafka_assigner_types::moment::Moment;

/// A partition that is held for so long after its acknowledgement was answered is acknowledged once more: the stored
/// acknowledgement may have been deleted by hand. Short against a phase's 30 s, long against a switch.
pub(crate) const REASSERT: Duration = Duration::from_secs(5);

/// The drains under way: one for each partition that is held for a handoff.
#[derive(Debug, Default)]
pub(crate) struct Drains(BTreeMap<TopicPartition, Drain>);

#[derive(Debug)]
struct Drain {
    handoff: HandoffId,
    ack: AckState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AckState {
    /// A request is in flight.
    NotYet,
    /// To be sent from then on.
    From(Moment),
    Sent,
    /// The service needs no acknowledgement any more.
    Over,
}

impl Drain {
    const fn due(&self) -> Option<Moment> {
        if let AckState::From(moment) = self.ack { Some(moment) } else { None }
    }
}

impl Drains {
    /// The partition is held for this handoff.
    pub(crate) fn begin(&mut self, at: TopicPartition, handoff: HandoffId) {
        self.0.insert(at, Drain { handoff, ack: AckState::NotYet });
    }

    /// The partition is not held for a handoff any more.
    pub(crate) fn end(&mut self, at: &TopicPartition) {
        self.0.remove(at);
    }

    /// Returns true if the partition is held for this handoff now.
    pub(crate) fn holds(&self, at: &TopicPartition, handoff: &HandoffId) -> bool {
        self.0.get(at).is_some_and(|drain| drain.handoff == *handoff)
    }

    /// The partition has no request in flight any more; without effect when it is not held for this handoff now.
    pub(crate) fn drained(&mut self, now: Moment, at: &TopicPartition, handoff: &HandoffId) {
        if let Some(drain) = self.get(at, handoff).filter(|drain| drain.ack == AckState::NotYet) {
            drain.ack = AckState::From(now);
        }
    }

    /// A new stream has begun: what was acknowledged on the last one may not have arrived.
    pub(crate) fn repeat_all(&mut self, now: Moment) {
        for drain in self.0.values_mut().filter(|drain| drain.ack != AckState::NotYet) {
            drain.ack = AckState::From(now);
        }
    }

    /// The session is over: the next one does not acknowledge its handoffs.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The acknowledgements to send now, at most `most`; they count as sent.
    pub(crate) fn take_due(&mut self, now: Moment, most: usize) -> Vec<(TopicPartition, HandoffId)> {
        let due = self.0.iter_mut().filter(|(_, drain)| drain.due().is_some_and(|at| at <= now));
        due.take(most)
            .map(|(at, drain)| {
                drain.ack = AckState::Sent;
                (at.clone(), drain.handoff.clone())
            })
            .collect()
    }

    /// Records the answer to a sent acknowledgement; `None` = unknown, so it is sent again from `retry` on.
    pub(crate) fn answered(
        &mut self,
        now: Moment,
        (at, handoff): (&TopicPartition, &HandoffId),
        outcome: Option<AckOutcome>,
        retry: Moment,
    ) {
        // A new stream may have asked for a repetition while the answer was in flight.
        let sent = self.get(at, handoff).filter(|drain| drain.ack == AckState::Sent);
        let Some(drain) = sent else { return };
        drain.ack = match outcome {
            // A refusal may come from a registration that can't be read just now, so it is not final.
            Some(AckOutcome::Applied | AckOutcome::Already | AckOutcome::Refused) => {
                AckState::From(now + REASSERT)
            }
            Some(AckOutcome::Over) => AckState::Over,
            Some(AckOutcome::Undecided | AckOutcome::Unspecified) | None => AckState::From(retry),
        };
    }

    /// The moment at which the next acknowledgement is due.
    pub(crate) fn next_wake(&self) -> Option<Moment> {
        self.0.values().filter_map(Drain::due).min()
    }

    /// The number of partitions that are held for handoffs.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&mut self, at: &TopicPartition, handoff: &HandoffId) -> Option<&mut Drain> {
        self.0.get_mut(at).filter(|drain| drain.handoff == *handoff)
    }
}

#[cfg(test)]
#[path = "drains_test.rs"]
mod drains_test;
