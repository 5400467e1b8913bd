//! The gRPC services: each call is taken apart, done by the module that knows how, and answered.

mod consumers;

pub use consumers::Consumers;
