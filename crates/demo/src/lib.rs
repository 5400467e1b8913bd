//! The demonstration: the whole system in one process, with real sockets, real state and killed consumers.
//!
//! ```text
//!   scenario ──► starts, stops, kills ──► instances (2) ──► one embedded store ◄── observer ──► live view, report
//!                                  └─► consumers (3…) ──► Kafka (embedded mock, or yours) ◄── producer
//!                                         │ what each wrote about its own handling
//!                                         └────────────────► ledger ──► report
//! ```
//!
//! In the mode routed the consumers are writers, and in place of the producer there are routers with callers
//! (`routing`), whose answers are compared with the log.
//!
//! Every instance and every consumer runs on a runtime of its own, so that it can be killed as a process is: its
//! tasks are aborted and its sockets closed, and nothing is revoked or released. Start reading at `scenario`.

mod consumers;
mod echo;
mod error;
mod instances;
mod kafka;
mod live_view;
mod options;
mod process;
mod producer;
mod report;
mod routing;
mod run;
mod scenario;
mod screen;
mod screen_state;
mod warm_up;
mod workload;
mod world;

pub use error::Error;
pub use options::{InvalidOption, Options};
pub use report::RunReport;
pub use run::run;
