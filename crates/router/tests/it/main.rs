//! Whole routers against a scripted service and scripted owners: within the process on a paused clock, and over gRPC.

mod fake;
mod grpc;
mod leaving;
mod moves;
mod owners;
mod sessions;
mod switching;
