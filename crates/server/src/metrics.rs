//! Every metric of an instance: name, unit, meaning, label values.
//!
//! What is counted where it happens is counted here; what has to be derived from a group's view is derived by the
//! group's leader ([`observer`]), so that it is reported once.

mod access;
mod containment;
mod families;
mod heartbeats;
mod labels;
mod looks;
mod metered;
mod observer;
mod suspicions;

pub use families::Metrics;
pub(crate) use observer::observe;
