//! The library of a consumer's process: it joins a group, receives its partitions, and takes partitions over and hands
//! them on without a gap.
//!
//! ```no_run
//! use kafka_assigner_client::prelude::*;
//!
//! struct Work;
//!
//! #[async_trait]
//! impl PartitionHandler for Work {
//!     async fn assigned(&self, context: &OwnedContext) -> Result<(), HandlerError> {
//!         println!("{} is ours, epoch {}", context.partition(), context.epoch());
//!         Ok(())
//!     }
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let consumer = Consumer::new(ConsumerOptions::new("worker-1", ["http://127.0.0.1:7420"]))?;
//! consumer.run(Work, stop::on_signal()?).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Layers
//!
//! - [`session`] and [`roles`] decide: pure machines that take events and the time in and give actions out. They
//!   know neither clock nor network, and are where to start reading.
//! - [`Consumer`] carries it out: one task, on a thread of its own, that owns both machines, calls the [`PartitionHandler`] on
//!   the caller's runtime and talks to the service through a [`Transport`]; [`session_io`] is what a router's task shares with
//!   it. [In place](Consumer::run_in_place), with a seed, on a current-thread runtime with a paused clock and an in-process
//!   transport, a run repeats exactly.
//! - With the feature `kafka`, [`kafka`] reads the records: implement [`kafka::RecordHandler`] in place of driving
//!   Kafka yourself.
//!
//! # Guarantees
//!
//! A handler acts only while its [`Claim`] is valid, and asks before each side effect. Restarts of instances and
//! broken connections change nothing. When no instance answers, the claim lapses at two thirds of the session's time
//! to live. In the mode `overlap` it comes back with the next confirmation, and a store outage changes nothing for
//! `outage_grace`. In the stricter modes, where nobody else may act before it is over, a claim that lapses is lost, also
//! in a store outage: the partition is prepared again, and begun again once the session is confirmed. A partition that
//! was taken away is told by [`PartitionHandler::lost`].
//!
//! Of the project the crate uses the proto and the shared types, among them the rules that both sides must hold to: names,
//! and the span of a claim.

mod backoff;
mod causes;
mod claim;
mod clock;
mod consumer;
mod context;
mod driver;
mod gate;
mod grpc;
mod handler;
mod invalid_endpoint;
#[cfg(feature = "kafka")]
pub mod kafka;
mod metrics;
mod named_partition;
mod options;
mod own_thread;
pub mod prelude;
mod record_gate;
pub mod roles;
pub mod session;
pub mod session_io;
mod skipped_offset;
mod status;
pub mod stop;
mod stopped;
mod suspensions;
mod tls_files;
mod transport;

pub use backoff::{Dice, RetryDelay};
pub use claim::{Claim, ClaimEnded};
pub use clock::Clock;
pub use consumer::Consumer;
pub use context::{OwnedContext, ReservedContext, WarmContext};
pub use gate::{Permit, Refusal};
pub use grpc::{CallerChannel, GrpcTransport};
pub use handler::{HandlerError, PartitionHandler, Spoiled};
pub use invalid_endpoint::InvalidEndpoint;
/// The proto that [`Transport`] speaks.
pub use kafka_assigner_proto as proto;
pub use kafka_assigner_proto::TokenOrigin;
/// The identities that handlers and records carry.
pub use kafka_assigner_types::id::{
    Epoch, HandoffId, Incarnation, InvalidOffset, InvalidPartition, Offset, TopicPartition,
};
pub use kafka_assigner_types::kv::LeaseId;
pub use kafka_assigner_types::moment::Moment;
pub use kafka_assigner_types::name::{InvalidName, TopicName};
pub use kafka_assigner_types::topic_id::TopicId;
pub use metrics::{METRICS, Metric, MetricKind, describe_metrics};
pub use options::{ConsumerOptions, OnStop, OptionsError};
pub use record_gate::RecordPermit;
pub use status::{
    ConsumerHandle, ConsumerStatus, ConsumerStopped, FailingPartition, SessionStatus, StoppedPartition,
};
pub use stopped::{ConsumerError, Stopped};
pub use suspensions::Suspensions;
pub use tls_files::ClientTlsFiles;
pub use tonic::transport::ClientTlsConfig;
pub use transport::{Acks, CommandStream, Transport};
