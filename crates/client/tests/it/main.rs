//! Whole consumers against a scripted service: within the process on a paused clock, and over gRPC.

mod consumer;
mod fake;
mod farewell;
mod grpc;
mod recorder;
mod records;
mod strict;
mod suspension;
