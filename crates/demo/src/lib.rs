//! The demonstration: the whole way through in one process, with real sockets, real state and real deaths.
//!
//! ```text
//!   story ──► starts, stops, kills ──► instances (2) ──► one embedded store ◄── observer ──► board, report
//!                                  └─► consumers (3…) ──► Kafka (embedded mock, or yours) ◄── producer
//!                                         │ what each wrote about its own handling
//!                                         └────────────────► ledger ──► report
//! ```
//!
//! In the mode routed the consumers are writers, and in the producer's place are routers with those who ask them
//! (`routing`); what they were told is held against the log.
//!
//! Every instance and every consumer runs on a runtime of its own, so that it can be killed as a process is: its
//! tasks are aborted and its sockets closed, and nothing is revoked or released. Start reading at `story`.

mod board;
mod consumers;
mod error;
mod instances;
mod kafka;
mod load;
mod options;
mod process;
mod producer;
mod report;
mod routing;
mod run;
mod screen;
mod story;
mod window;
mod world;

pub use error::Error;
pub use options::{InvalidOption, Options};
pub use report::Report;
pub use run::run;
