//! The calls of routers: sessions, their streams of routes, and what they acknowledge.
//!
//! Everything here works on any instance, as for consumers. A router's registration is written once for each session,
//! and never again: its revision tells which freezes wait for it.

mod acks;
mod attach;
mod leave;
mod request;
mod sent_routes;
mod service;
mod stream;

pub use service::RouterService;
pub use stream::Routes;
