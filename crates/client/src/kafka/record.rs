//! The record type.

pub use rdkafka::message::OwnedMessage as Record;
