//! One group as this instance serves it: its view, and the streams of its members.

mod fallen_store;
mod hub;
mod materialized;
mod phases;
mod served;
mod sessions;
mod touch;
mod unattached;

pub(crate) use fallen_store::FallenStore;
pub(crate) use hub::StreamConnection;
pub use materialized::GroupView;
pub(crate) use phases::PhaseTime;
pub use served::ServedGroup;
pub(crate) use touch::TouchListener;
pub(crate) use unattached::UnattachedSessions;
