//! The library of a router's process: it accepts requests for partitions, forwards each to the partition's owner, and
//! takes part in the switches of the mode `routed` without losing or failing a request.
//!
//! ```no_run
//! use async_trait::async_trait;
//! use bytes::Bytes;
//! use kafka_assigner_router::{
//!     Forward, KeyHash, RouteTarget, Router, RouterOptions, SendError, TopicPartition, stop,
//! };
//!
//! struct Wire;
//!
//! #[async_trait]
//! impl Forward for Wire {
//!     type Response = Bytes;
//!
//!     async fn send(&self, to: &RouteTarget, at: &TopicPartition, request: Bytes) -> Result<Bytes, SendError> {
//!         // Call `to.owner.endpoint`, with `at` and `to.epoch` beside the request.
//!         # let _ = (to, at);
//!         Ok(request)
//!     }
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let router = Router::forwarding(RouterOptions::new("router-1", ["http://127.0.0.1:7420"]), Wire)?;
//! let requests = router.cutover();
//! tokio::spawn(router.run(stop::on_signal()?));
//! let answer = requests.request_by_key("orders", b"customer-7", KeyHash::Murmur2, "add 1".into()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # The steps of a switch
//!
//! ```text
//!  service      Freezing                 Draining … Complete
//!                  │                        ▲           │
//!                  │ Stash{handoff}     Ack │           │ Open{new owner, epoch}
//!                  ▼                        │           ▼
//!  router   stop ── stash ────── drain ─────┘         switch ── flush ──►
//!             │       ▲            ▲                    │
//!             │       │ new        │ answers of what    │ the oldest first, one at a time
//!             ▼       │ requests   │ was on its way     ▼ until the new owner has admitted one
//!          old owner  callers   old owner            new owner
//! ```
//!
//! # Layers
//!
//! - Pure, without clock, network or tasks: `route_map` (the table, and the steps that follow), `drains` (the
//!   acknowledgements), `lane` and `lanes` (the requests: order, bounds, sending). Start reading at `lane`.
//! - [`Router`] keeps the session, with the machine that consumers use too, and calls a [`Cutover`].
//! - [`Forwarder`] is the [`Cutover`] for most programs: it holds requests and sends them over a [`Forward`]. A program
//!   with queues of its own implements [`Cutover`], and looks up routes in the [`RoutingTable`].
//!
//! # Guarantees
//!
//! - Requests of one partition start in the order in which they came, through switches and refusals. At no time does a
//!   partition have requests in flight to two owners, and none goes out after a stop.
//! - Nothing waits without a bound: the stash is bounded in number, bytes and age, and beyond it a request fails at
//!   once, with an error that says that nothing was executed.
//! - The table fails closed: without a table, and without a session that was confirmed lately, nothing goes out.
//! - The owner decides. A router that missed a switch sends under the old epoch, is refused, and keeps the request: see
//!   [`SendError::Refused`].
//! - A handoff is acknowledged once none of its requests is in flight, until a definite answer came and again on each
//!   new stream. A router that makes no progress leaves the group.
//!
//! Of the project the crate uses the proto, the session that it shares with consumers, and the shared types.

mod cutover;
mod dialect;
mod drains;
mod driver;
mod forward;
mod forwarder;
mod lane;
mod lanes;
mod options;
mod route;
mod route_map;
mod router;
mod status;
mod stopped;
mod table;
mod transport;

pub use cutover::{Cutover, CutoverError};
pub use forward::{Forward, RequestError, SendError};
pub use forwarder::{Answer, Forwarder};
/// The proto that [`RoutingTransport`] speaks.
pub use kafka_assigner_proto as proto;
pub use kafka_assigner_proto::TokenOrigin;
pub use kafka_assigner_session::{ClientTlsFiles, GrpcTransport, InvalidEndpoint, SessionStatus, stop};
/// The identities that routes and requests carry.
pub use kafka_assigner_types::id::{Epoch, HandoffId, Incarnation, InvalidPartition, TopicPartition};
pub use kafka_assigner_types::key::KeyHash;
pub use kafka_assigner_types::kv::LeaseId;
pub use kafka_assigner_types::name::{InvalidName, TopicName};
pub use lanes::{StashLimits, Unsent};
pub use options::{RouterOptions, RouterOptionsError};
pub use route::{PartitionOwner, PartitionRoute, RouteTarget};
pub use router::Router;
pub use status::RouterStatus;
pub use stopped::{RouterError, RouterStopped};
pub use table::RoutingTable;
pub use tonic::transport::ClientTlsConfig;
pub use transport::{RouteStream, RoutingTransport};
