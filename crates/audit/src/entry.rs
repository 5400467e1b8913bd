//! What is written down while a run goes on.

use serde::{Deserialize, Serialize};

/// Microseconds since 1970, by the clock of whoever wrote it.
pub type Micros = u64;

/// One partition of one topic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// The topic.
    pub topic: String,
    /// The partition, from 0.
    pub partition: i32,
}

/// One record that a consumer handled as the partition's owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handled {
    /// The partition from which it was read.
    #[serde(flatten)]
    pub slot: Slot,
    /// Its offset.
    pub offset: i64,
    /// Its id.
    pub id: u64,
    /// The epoch under which it was handled.
    pub epoch: u64,
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
        /// When it could go on; by then others owned what it had.
        thawed: Micros,
    },
    /// The leading instance was killed, and another one leads since.
    LeaderKilled {
        /// The time.
        at: Micros,
        /// When another instance was seen leading.
        led_again: Micros,
    },
}
