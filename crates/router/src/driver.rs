//! The driver of the pure machines: it performs their actions and reports the results.
//!
//! One task owns the session, the routes and the drains. The forwarder runs beside it, so that a slow owner never
//! delays a heartbeat. This task checks the forwarder's progress, so that no heartbeat is sent for a stalled router.
//!
//! - Without I/O: `acks`, `drain_failures`, `stall` and `stopping` decide.
//! - `drain_tasks` calls the [`Cutover`](crate::Cutover) and `service_calls` the service; each owns the tasks that run.
//! - `event_loop` waits for the next event, asks the machines, and has their actions performed.

mod acks;
mod drain_failures;
mod drain_tasks;
mod event_loop;
mod parts;
mod service_calls;
mod stall;
mod stopping;

pub(crate) use event_loop::Driver;
pub(crate) use parts::RouterParts;
