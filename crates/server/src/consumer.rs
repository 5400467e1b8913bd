//! The calls of consumers: sessions, their streams, and what they acknowledge.
//!
//! Everything here works on any instance. What is decided is decided by the core on the view; this module reads,
//! asks, writes and answers.

mod acks;
mod detached;
mod failing;
mod grants;
mod heartbeat;
mod leave;
mod progress;
mod register;
mod renewal;
pub(crate) mod request;
mod service;
mod session;
mod stops;
mod stream;

pub use service::ConsumerService;
