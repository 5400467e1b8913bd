//! Whole consumers against a scripted service: within the process on a paused clock, over gRPC, and with Kafka.

mod consumer;
mod fake;
mod farewell;
mod grpc;
#[cfg(feature = "kafka")]
mod kafka;
mod recorder;
mod strict;
mod suspension;
