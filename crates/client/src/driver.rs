//! The driver of the pure machines: it carries their actions out and reports back.
//!
//! One task owns everything. Handler calls and calls to the service run beside it and come back as events, so a
//! slow handler never delays a heartbeat.
//!
//! - Without I/O: `acks`, `progress`, `stopping`, `warm_up_estimate` and `farewell` decide, `contexts` keeps what handlers are given.
//! - `handler_calls` calls the handler and `service_calls` the service; each owns the tasks that run.
//! - `event_loop` waits for the next event, asks the machines, and has their actions carried out.

mod acks;
mod contexts;
mod event_loop;
mod farewell;
mod handler_calls;
mod parts;
mod progress;
mod reports;
mod service_calls;
mod service_watch;
mod stopping;
mod warm_up_estimate;

pub(crate) use event_loop::Driver;
pub(crate) use parts::ConsumerParts;
pub(crate) use stopping::{CUT_BOUND, DEREGISTER_BOUND};
