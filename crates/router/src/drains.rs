//! Which partitions are to be acknowledged: once nothing of them is on its way, until a definite answer came, and again
//! while the service still waits.
//!
//! Pure. A slow partition keeps no other one waiting (scenario H23).

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_client::{Moment, TopicPartition};
use kafka_assigner_proto::v1::AckOutcome;
use kafka_assigner_types::id::HandoffId;

/// A partition that is held for so long after its acknowledgement was answered is acknowledged once more: the stored
/// acknowledgement may have been deleted by hand. Short against a phase's 30 s, long against a switch.
pub(crate) const REASSERT: Duration = Duration::from_secs(5);

/// The drains under way: one for each partition that is held for a handoff.
#[derive(Debug, Default)]
pub(crate) struct Drains(BTreeMap<TopicPartition, Drain>);

#[derive(Debug)]
struct Drain {
    handoff: HandoffId,
    ack: Ack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ack {
    /// Something is on its way.
    NotYet,
    /// To be sent from then on.
    From(Moment),
    Sent,
    /// The service said that it needs none.
    Over,
}

impl Drain {
    const fn due(&self) -> Option<Moment> {
        if let Ack::From(moment) = self.ack { Some(moment) } else { None }
    }
}

impl Drains {
    /// The partition is held for this handoff.
    pub(crate) fn begin(&mut self, at: TopicPartition, handoff: HandoffId) {
        self.0.insert(at, Drain { handoff, ack: Ack::NotYet });
    }

    /// The partition is not held for a handoff any more.
    pub(crate) fn end(&mut self, at: &TopicPartition) {
        self.0.remove(at);
    }

    /// Whether the partition is held for this handoff now.
    pub(crate) fn holds(&self, at: &TopicPartition, handoff: &HandoffId) -> bool {
        self.0.get(at).is_some_and(|drain| drain.handoff == *handoff)
    }

    /// Nothing of the partition is on its way any more; without effect when it is not held for this handoff now.
    pub(crate) fn drained(&mut self, now: Moment, at: &TopicPartition, handoff: &HandoffId) {
        if let Some(drain) = self.get(at, handoff).filter(|drain| drain.ack == Ack::NotYet) {
            drain.ack = Ack::From(now);
        }
    }

    /// A new stream has begun: what was acknowledged on the last one may not have arrived.
    pub(crate) fn repeat_all(&mut self, now: Moment) {
        for drain in self.0.values_mut().filter(|drain| drain.ack != Ack::NotYet) {
            drain.ack = Ack::From(now);
        }
    }

    /// The session is over, and its handoffs are none of the next one's.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The acknowledgements to send now, at most `most`; they count as sent.
    pub(crate) fn take_due(&mut self, now: Moment, most: usize) -> Vec<(TopicPartition, HandoffId)> {
        let due = self.0.iter_mut().filter(|(_, drain)| drain.due().is_some_and(|at| at <= now));
        due.take(most)
            .map(|(at, drain)| {
                drain.ack = Ack::Sent;
                (at.clone(), drain.handoff.clone())
            })
            .collect()
    }

    /// What became of a sent acknowledgement; `None` = nobody knows, so it is sent again from `retry` on.
    pub(crate) fn answered(
        &mut self,
        now: Moment,
        (at, handoff): (&TopicPartition, &HandoffId),
        outcome: Option<AckOutcome>,
        retry: Moment,
    ) {
        // A new stream may have asked for a repetition while the answer was on its way.
        let sent = self.get(at, handoff).filter(|drain| drain.ack == Ack::Sent);
        let Some(drain) = sent else { return };
        drain.ack = match outcome {
            // A refusal may come from a registration that can't be read just now, so it is not the last word.
            Some(AckOutcome::Applied | AckOutcome::Already | AckOutcome::Refused) => {
                Ack::From(now + REASSERT)
            }
            Some(AckOutcome::Over) => Ack::Over,
            Some(AckOutcome::Undecided | AckOutcome::Unspecified) | None => Ack::From(retry),
        };
    }

    /// When the next acknowledgement is due.
    pub(crate) fn next_wake(&self) -> Option<Moment> {
        self.0.values().filter_map(Drain::due).min()
    }

    /// How many partitions are held for handoffs.
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
