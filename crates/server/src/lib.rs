//! One instance of the service: the drivers around the core.
//!
//! ```text
//!  gRPC ─► consumer (sessions, streams, acks) ─┐                 ┌─► coordinator (campaign, lead, follow Kafka)
//!  gRPC ─► router (the same for routers) ──────┼─► group: view ──┤
//!  gRPC ─► admin (operators) ──────────────────┘    hubs         └─► streams of the group's members
//!                                                    │
//!                                                  store        topics ─► Kafka, for all groups at once
//! ```
//!
//! Nothing is decided here: the core says what follows from a view, and this crate reads, writes and tells. Start
//! reading at [`Instance`], then `coordinator::lead` (the leader's loop) and `consumer::stream` (what a member is
//! told).

mod access;
mod admin;
mod background;
mod bare_revision;
mod clock;
mod commands;
mod connection_end;
mod consumer;
mod convert;
mod coordinator;
mod directory;
mod entropy;
mod group;
mod group_name;
pub mod grpc;
pub mod identity;
mod instance;
mod kafka;
mod leases;
mod metrics;
mod options;
mod peers;
mod pulse;
mod quota;
mod recording;
mod refusal;
mod repeated_warning;
mod router;
pub mod serve;
mod session;
mod stream_state;
mod supervision;
mod suspicion;
pub mod topics;
mod touch;

pub use access::{Access, AccessFileError, Allowed, CallPermit, StreamPermit};
pub use admin::{AdminService, Events};
pub use clock::WallClock;
pub use commands::Commands;
pub use connection_end::ConnectionEnd;
pub use consumer::ConsumerService;
pub use directory::GroupDirectory;
pub use group::{GroupView, ServedGroup};
pub use instance::Instance;
pub use kafka::KafkaTopics;
pub use metrics::Metrics;
pub use options::{Options, Quotas, ViolationListener};
pub use router::{RouterService, Routes};
pub use supervision::TaskPanicked;
