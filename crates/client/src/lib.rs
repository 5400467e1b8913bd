//! client
mod backoff;
mod claim;
mod moment;
mod partition;
pub mod roles;
pub mod session;
