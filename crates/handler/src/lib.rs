//! The handling of records, apart from where they come from: [`RecordHandler`] is what a user writes, and a *runner*
//! calls it with the records of partitions that it owns.
//!
//! ```text
//!             open ──► catch_up … ──► fence ──► catch_up … ──► begin ──► process … ──► drained ──► close
//!              │        state only      │        up to where     │        state and       │
//!  snapshot ───┘                        │        the old owner   │        effects         └─ or process again, where
//!  (a start)                            │        stopped         │                           the move was cancelled
//!                                  under the new epoch      from here on the owner
//! ```
//!
//! This crate knows neither rdkafka nor the service. The runner over rdkafka is in `kafka-assigner-client`, and whatever
//! else reads partitions can run the same handler.
//!
//! # Reading order
//!
//! - [`RecordHandler`] and [`Record`]: what is handled, and by whom.
//! - [`RecordError`] and [`Remedy`]: what a handler answers where it can't do it; [`ErrorPolicy`] decides for the rest.
//! - [`PartitionContext`]: what a handler may ask about the partition that it owns.
//! - With the feature `testing`, `testing`: a partition whose owners take over, crash and lose their claims in a test.
//! - [`RecordFailures`]: the pure part of a runner, which counts attempts and asks the policy.
//!
//! # State and log
//!
//! A state is what `catch_up` makes of the log, in order. `process` makes the same change, and has effects beside it. So
//! every owner has the same state, whoever processed a record, and however often a partition moved.

mod checksum;
mod confirmations;
mod context;
mod error;
mod failures;
mod file_snapshots;
mod gap;
mod handler;
mod headers;
mod lent_parts;
mod lent_records;
mod on_thread;
mod policy;
mod preparation;
mod record;
mod shard_confirmations;
mod shards;
mod snapshot;
#[cfg(feature = "sqlite")]
mod sqlite_snapshots;
mod start;
#[cfg(feature = "testing")]
pub mod testing;

pub use confirmations::{CommitRule, Confirm, Confirmations};
pub use context::{Ownership, PartitionContext};
pub use error::{OrUnchanged, RecordError, Remedy, StateAfter};
pub use failures::{RecordFailures, guarded};
pub use file_snapshots::FileSnapshots;
pub use gap::{Gap, GapRule};
pub use handler::{BatchEnd, Closing, RecordHandler};
pub use headers::{RecordHeader, RecordHeaders};
/// Beside records, what their offsets, partitions and epochs are.
pub use kafka_assigner_types::{
    id::{Epoch, Offset, TopicPartition},
    topic_id::TopicId,
};
pub use lent_records::LentRecords;
pub use policy::ErrorPolicy;
pub use preparation::{OpenedState, Preparation, PreparationProgress};
pub use record::{Record, RecordTime};
pub use shards::{Sharded, ShardedState};
pub use snapshot::{SnapshotStore, StateSnapshot};
#[cfg(feature = "sqlite")]
pub use sqlite_snapshots::SqliteSnapshots;
pub use start::{StartPosition, StartPositions};
