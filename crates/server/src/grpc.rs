//! The gRPC services: each call is taken apart, done by the module that knows how, and answered.

mod acks;
mod admin;
mod audit;
mod consumers;
mod routers;

pub use admin::Operators;
pub use audit::AUDIT_TARGET;
pub use consumers::Consumers;
pub use routers::Routers;
