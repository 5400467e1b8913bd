//! The entries that a run writes down.

use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use serde::{Deserialize, Serialize};

/// Microseconds since 1970, by the clock of whoever wrote it.
pub type Micros = u64;

/// One record that a consumer handled as the partition's owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handled {
    /// The partition from which it was read.
    #[serde(flatten)]
    pub slot: TopicPartition,
    /// Its offset.
    pub offset: Offset,
    /// Its id.
    pub id: u64,
    /// The epoch under which it was handled.
    pub epoch: Epoch,
    /// The process that handled it; a restarted consumer is another process.
    pub process: String,
    /// The time.
    pub at: Micros,
}

/// Something that was done to a run on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "incident")]
pub enum Incident {
    /// A consumer's process was killed: no goodbye, nothing released.
    ConsumerKilled {
        /// The process.
        process: String,
        /// The time.
        at: Micros,
    },
    /// A consumer's process was stopped from running for longer than its session lives, and then let go on.
    ConsumerFrozen {
        /// The process.
        process: String,
        /// The time.
        at: Micros,
        /// The time at which it could go on; by then others owned what it had.
        thawed: Micros,
    },
    /// The leading instance was killed, and another one leads since.
    LeaderKilled {
        /// The time.
        at: Micros,
        /// The time at which another instance was seen leading.
        led_again: Micros,
    },
}
