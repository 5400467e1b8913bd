//! The wire: messages and services generated from `proto/kafka_assigner/v1`.
//!
//! The definitions themselves are the reference documentation; their comments appear here. Beside the generated
//! code there is only what both ends of the wire must agree on and protobuf can't express: the [`Reason`]s of
//! errors, and the [`BearerToken`] of a caller.
//!
//! - [`kafka_assigner_client`](v1::kafka_assigner_client) and
//!   [`kafka_assigner_server`](v1::kafka_assigner_server): what consumers call.
//! - [`routing_client`](v1::routing_client) and [`routing_server`](v1::routing_server): what routers call.
//! - [`admin_client`](v1::admin_client) and [`admin_server`](v1::admin_server): what operators call.
//! - [`FILE_DESCRIPTOR_SET`]: for gRPC reflection.
//!
//! Start reading at `consumer.proto`; it can be implemented in any language with nothing else.

mod bearer_token;
mod reason;

pub use bearer_token::{BearerToken, TokenOrigin};
pub use reason::{DOMAIN, Reason, ReasonExt, status, status_after};

/// Version 1 of the interface.
pub mod v1 {
    #![expect(
        clippy::all,
        clippy::allow_attributes_without_reason,
        unused_qualifications,
        reason = "generated"
    )]
    include!("generated/kafka_assigner.v1.rs");
}

/// The compiled definitions, for `tonic_reflection::server::Builder::register_encoded_file_descriptor_set`.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!("generated/descriptors.bin");

/// The version of the protocol that these definitions describe, for `RegisterRequest.protocol_version`.
pub const PROTOCOL_VERSION: u32 = 1;

/// The group that an empty `group` names.
pub const DEFAULT_GROUP: &str = "default";

/// The most partitions of one acknowledging call, which keeps its store transaction within etcd's limits after
/// chunking and its message far under gRPC's 4 MiB.
pub const MAX_ACKS: usize = 1_000;
