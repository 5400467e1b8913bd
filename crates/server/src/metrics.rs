//! Every metric of an instance: name, unit, meaning, label values.
//!
//! Events that are counted where they happen are counted here; figures that have to be derived from a group's view are
//! derived by the group's leader ([`observer`]), so that they are reported once.

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
