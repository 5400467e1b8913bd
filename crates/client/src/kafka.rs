//! Reads the records: a [`PartitionHandler`](crate::PartitionHandler) over rdkafka.
//!
//! Implement [`RecordHandler`] and give [`KafkaRunner::new`] to [`Consumer::run`](crate::Consumer::run):
//!
//! ```no_run
//! use kafka_assigner_client::prelude::*;
//!
//! struct Counter;
//!
//! impl RecordHandler for Counter {
//!     type State = u64; // one for each partition
//!
//!     async fn open(&self, _: &Preparation, _: Option<StateSnapshot>) -> Result<OpenedState<u64>, RecordError> {
//!         Ok(OpenedState::empty(0))
//!     }
//!
//!     async fn catch_up(&self, _: &TopicPartition, count: &mut u64, _: &Record) -> Result<(), RecordError> {
//!         *count += 1; // state only: another owner handles this record
//!         Ok(())
//!     }
//!
//!     async fn process(
//!         &self,
//!         context: &PartitionContext,
//!         count: &mut u64,
//!         record: &Record,
//!     ) -> Result<(), RecordError> {
//!         *count += 1;
//!         println!("{} @ {}: record number {count}", context.partition(), record.offset());
//!         Ok(())
//!     }
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let options = ConsumerOptions {
//!     group: "orders-counter".into(),
//!     topics: vec!["orders".into()],
//!     ..ConsumerOptions::new("worker-1", ["http://127.0.0.1:7420"])
//! };
//! let kafka = KafkaOptions::for_consumer(&options, "127.0.0.1:9092");
//! let runner = KafkaRunner::new(&kafka, Counter)?;
//! Consumer::new(options)?.run(runner, stop::on_signal()?).await?;
//! # Ok(())
//! # }
//! ```
//!
//! What becomes of a partition:
//!
//! ```text
//!  warm ─────────────────────►│ assigned ───────────────────────────────► drain
//!  catch_up(record) …         │ catch_up up to the   process(record) …    finish, commit
//!  never past what the owner  │ start                commit what was
//!  has committed              │                      processed
//!  ───────────────── one reader, which fetches without a break ─────────────────►
//! ```
//!
//! - One rdkafka client for each process reads, assigned by hand; never a subscription. A second one commits and asks. Every
//!   partition has a queue of its own, bounded in bytes: a partition whose records are not taken stops being fetched, and
//!   nothing else does.
//! - The reader that warms a partition is the one that later processes it, so no fetch has to start at a switch.
//! - Records of a partition are handled in order, one at a time; different partitions side by side, within
//!   [`KafkaOptions::concurrency`].
//! - The start is where the old owner stopped in the stricter modes (`exclusive`, `routed`), and what the group has
//!   committed in `overlap`.
//! - Only what was processed is committed, with the epoch and the topic's id beside it: at least once. The claim is asked
//!   before each record and before each commit. An offset that was committed, or [opened](OpenedState), for a topic with
//!   another id does not count: that topic was deleted, and this one created under its name.
//!
//! # TLS, SASL and zstd
//!
//! librdkafka is built with a C compiler alone, and then has SASL/PLAIN, gzip, snappy and lz4. Features of this crate build more:
//!
//! - `ssl`: TLS; needs OpenSSL's headers.
//! - `sasl`: SASL/SCRAM and OAUTHBEARER, for which librdkafka needs OpenSSL; the same as `ssl`.
//! - `zstd`: batches that were compressed with zstd.
//!
//! Kerberos needs libsasl2 and its headers: add `rdkafka` in the same version with the feature `gssapi` to your own manifest, and
//! cargo builds one librdkafka with both. It is not tested here. A setting that needs what is not built in is refused with the name
//! of the feature ([`KafkaRunnerError::NotBuiltIn`]).
//!
//! [`KafkaOptions::settings`] take `security.protocol` and the like, also for [`FencedProducers`], and
//! [`KafkaOptions::tokens`] fetches tokens for OAUTHBEARER.

mod blocking;
mod broker_trouble;
mod broker_watch;
mod built_in;
mod client;
mod commit_note;
mod commit_thread;
mod commits;
mod cursor;
mod dead_letters;
mod error;
mod events;
mod failing_records;
mod fetchers;
mod held;
mod known_sizes;
mod log_ends;
mod log_positions;
mod lookup;
mod metric_labels;
mod options;
mod ownership;
mod partition;
mod partition_stops;
mod pauses;
mod processing;
mod producers;
mod read_ahead;
mod reader;
mod runner;
mod runner_handle;
mod runner_parts;
mod runner_watch;
mod seeks;
mod snapshots;
mod spans;
mod state_reads;
mod statistics;
mod stop_word;
mod survey;
mod taken_records;
mod token_source;
mod topic_sizes;

pub use commits::ConfirmError;
pub use error::KafkaRunnerError;
pub use held::{PartitionPhase, RunnerPartition};
#[cfg(feature = "sqlite")]
pub use kafka_assigner_handler::SqliteSnapshots;
/// The trait that a user implements to handle records, and what comes with it.
pub use kafka_assigner_handler::{
    BatchEnd, Closing, CommitRule, ErrorPolicy, FileSnapshots, Gap, GapRule, OpenedState, OrUnchanged,
    Ownership, PartitionContext, Preparation, PreparationProgress, Record, RecordError, RecordHandler,
    RecordHeader, RecordHeaders, RecordTime, Remedy, Sharded, ShardedState, SnapshotStore, StartPosition,
    StartPositions, StateAfter, StateSnapshot,
};
pub use options::KafkaOptions;
pub use producers::{FencedProducers, WriteError};
/// Everything of the Kafka client.
pub use rdkafka;
pub use rdkafka::client::OAuthToken;
pub use runner::KafkaRunner;
pub use runner_handle::RunnerHandle;
pub use runner_watch::RecordCounts;
pub use seeks::SeekError;
pub use spans::process_span;
pub use state_reads::StateReadError;
pub use statistics::StatisticsSink;
pub use token_source::TokenSource;
