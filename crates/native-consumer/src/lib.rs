//! A consumer for Kafka in pure Rust. Its group may hold Java's and librdkafka's members too, and is planned by the
//! strategies of Kafka Assigner when this member leads it. No service and no librdkafka are needed.
//!
//! ```text
//!  application ── RecordStream ── OwnedPartition ── cells ──┐
//!                 (one stream)     (a task each)            │ a batch, an end; done, released
//!                                                           ▼
//!  machines of group-member ◄── events ──  Driver (one task, on a thread of its own)
//!                           ── commands ─►   ├─ coordinator: join, sync, heartbeat, commit, leave
//!                                            ├─ any broker: metadata, coordinator look-up
//!                                            └─ leaders: offsets, fetch sessions
//! ```
//!
//! The machines decide; the driver carries out what they say over the connections of the crate `kafka`, and looks at what
//! there is after each event. Nothing is queued without a bound: one request of each kind is under way, and a partition
//! is not fetched while what it has read ahead waits for the application.
//!
//! Start reading at [`NativeConsumer`] and [`RecordStream`]; inside, at `Driver::run`.

mod batch;
mod cell;
mod consumer;
#[cfg(test)]
mod consumer_test;
mod driver;
mod end;
mod failure;
#[cfg(test)]
mod failures_test;
mod fetching;
mod group_member;
mod listener;
mod offsets;
mod options;
mod partition;
#[cfg(test)]
mod positions_test;
mod properties;
#[cfg(test)]
mod rebalance_test;
mod shared;
#[cfg(test)]
mod simulated;
mod status;
mod stream;
mod topology;

pub use batch::PartitionBatch;
pub use consumer::NativeConsumer;
pub use end::PartitionEnd;
pub use failure::{NativeFailure, ReceiveFailure, StartFailure};
pub use listener::{RebalanceChange, RebalanceListener};
pub use options::{GroupProtocol, InvalidSetting, NativeOptions, StartAt, TopicChoice};
pub use partition::{CommitFailure, OwnedPartition};
pub use status::NativeStatus;
pub use stream::{RecordStream, StreamedRecord};

/// Words of a member to its application.
pub use kafka_assigner_group_member::{KafkaError, MemberFailure, MemberNotice, Membership};
/// The way to a cluster, and records.
pub use kafka_assigner_kafka::{
    BrokerAddress, Options as KafkaConnection,
    records::{Isolation, KafkaRecord, RecordHeader},
};
/// Names of what is read.
pub use kafka_assigner_types::{
    id::{Offset, TopicPartition},
    name::TopicName,
};
