//! The sink: what a downstream database would be that compares and sets the epoch with each write.
//!
//! It speaks lines of JSON over TCP: a [`Write`] in, a [`Verdict`] out. It is never disturbed.

mod client;
mod log;
mod server;

use std::collections::BTreeMap;

use kafka_assigner_rig::clock::Moment;
use serde::{Deserialize, Serialize};

pub(crate) use client::Connection;
pub(crate) use server::Sink;

/// The effect of one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Write {
    /// The partition.
    pub(crate) partition: i32,
    /// The writer's fencing token.
    pub(crate) epoch: u64,
    /// The record's offset.
    pub(crate) offset: i64,
    /// The process that writes.
    pub(crate) process: String,
}

/// The sink's answer to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub(crate) enum Verdict {
    /// It took effect.
    Applied,
    /// It did not: a write of a later epoch had taken effect.
    Refused {
        /// That epoch.
        epoch: u64,
    },
}

/// A write with what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Judged {
    /// The write.
    #[serde(flatten)]
    pub(crate) write: Write,
    /// The time at which it was judged.
    pub(crate) at: Moment,
    /// The sink's answer.
    #[serde(flatten)]
    pub(crate) verdict: Verdict,
}

/// The highest epoch of each partition.
#[derive(Debug, Default)]
struct Fence(BTreeMap<i32, u64>);

impl Fence {
    /// Compares and sets.
    fn judge(&mut self, write: &Write) -> Verdict {
        let highest = self.0.entry(write.partition).or_insert(write.epoch);
        if write.epoch < *highest {
            return Verdict::Refused { epoch: *highest };
        }
        *highest = write.epoch;
        Verdict::Applied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(partition: i32, epoch: u64) -> Write {
        Write { partition, epoch, offset: 0, process: "a.1".to_owned() }
    }

    #[test]
    fn an_older_epoch_is_refused_once_a_later_one_took_effect_in_its_partition() {
        let mut fence = Fence::default();
        for (partition, epoch, expected) in [
            (0, 5, Verdict::Applied),
            (0, 7, Verdict::Applied),
            (0, 7, Verdict::Applied),
            (0, 6, Verdict::Refused { epoch: 7 }),
            (1, 6, Verdict::Applied),
        ] {
            assert_eq!(fence.judge(&write(partition, epoch)), expected, "{partition} {epoch}");
        }
    }

    #[tokio::test]
    async fn writes_over_a_connection_are_judged_and_kept_in_their_order() {
        let sink = Sink::start().await.unwrap();
        let mut connection = Connection::default();
        let mut verdicts = Vec::new();
        for epoch in [5, 7, 6] {
            verdicts.push(connection.write(sink.address(), &write(0, epoch)).await.unwrap());
        }
        assert_eq!(verdicts, [Verdict::Applied, Verdict::Applied, Verdict::Refused { epoch: 7 }]);
        let judged = sink.judged();
        assert_eq!(judged.iter().map(|judged| judged.write.epoch).collect::<Vec<_>>(), [5, 7, 6]);
        assert_eq!(judged.iter().map(|judged| judged.verdict).collect::<Vec<_>>(), verdicts);
        assert_eq!(sink.last_applied(0).unwrap().write.epoch, 7);
    }
}
