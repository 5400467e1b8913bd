//! Whole consumers against a scripted service: within the process on a paused clock, and over gRPC.

mod consumer;
mod fake;
mod farewell;
mod grpc;
mod hanging;
mod last_error;
mod limits;
mod metrics;
mod proxy;
mod recorder;
mod records;
mod rotation;
#[cfg(unix)]
mod signals;
#[cfg(feature = "kafka")]
mod standing;
mod starved;
mod strict;
mod suspension;
