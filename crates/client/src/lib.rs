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
//! - Pure machines decide, which take events and the time in and give actions out, and know neither clock nor network: the
//!   session, in the crate `kafka-assigner-session`, which routers use too, and the module `roles` here. Start reading there.
//! - [`Consumer`] carries it out: one task, on a thread of its own, that owns both machines, calls the [`PartitionHandler`] on
//!   the caller's runtime and talks to the service through a [`Transport`]. [In place](Consumer::run_in_place), with a seed, on
//!   a current-thread runtime with a paused clock and an in-process transport, a run repeats exactly.
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
//! Of the project the crate uses the session, the proto and the shared types, among them the rules that both sides must hold
//! to: names, and the span of a claim.

mod claim;
mod committed_offset;
mod consumer;
mod context;
mod dialect;
mod driver;
mod gate;
mod handler;
#[cfg(feature = "kafka")]
pub mod kafka;
mod metrics;
mod options;
mod own_thread;
pub mod prelude;
mod record_gate;
mod roles;
mod skipped_offset;
mod status;
mod stopped;
mod unanswered_time;

pub use claim::{Claim, ClaimEnded};
pub use committed_offset::CommittedOffset;
pub use consumer::Consumer;
pub use context::{OwnedContext, ReservedContext, WarmContext};
pub use gate::{Permit, Refusal};
pub use handler::{HandlerError, PartitionHandler, Spoiled};
pub use kafka_assigner_proto::TokenOrigin;
pub use kafka_assigner_session::{
    Acks, ClientTlsFiles, Clock, CommandStream, GrpcTransport, InvalidEndpoint, SessionStatus, Transport,
    stop,
};
/// The identities that handlers and records carry.
pub use kafka_assigner_types::id::{
    Epoch, HandoffId, Incarnation, InvalidOffset, InvalidPartition, Offset, TopicPartition,
};
pub use kafka_assigner_types::key::KeyHash;
pub use kafka_assigner_types::kv::LeaseId;
pub use kafka_assigner_types::mode::Mode;
pub use kafka_assigner_types::name::{InvalidName, TopicName};
pub use kafka_assigner_types::topic_id::TopicId;
pub use metrics::{METRICS, Metric, MetricKind, describe_metrics};
pub use options::{ConsumerOptions, OnStop, OptionsError};
pub use record_gate::RecordPermit;
pub use roles::RoleCounts;
pub use status::{ConsumerHandle, ConsumerStatus, ConsumerStopped, FailingPartition, StoppedPartition};
pub use stopped::{ConsumerError, Stopped};
pub use tonic::transport::ClientTlsConfig;
