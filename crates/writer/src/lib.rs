//! A service of single writers: counters by key, each written by one process at a time, behind routers.
//!
//! ```text
//!  Caller ──► Door ──► Forwarder (of the library) ──► Wire ──► Writer ──► Desk of orders/3 ──► Kafka
//!             └──────────── a router ─────────────────┘        └── one for each owned partition  │
//!                                                                        ▲                       │
//!                                                                        └── Counters: the fold ◄┘
//! ```
//!
//! - [`Counters`] is what a partition's log amounts to, and pure. A writer keeps nothing else, so whoever has read the
//!   log can go on where another one stopped. Start reading there, then in `desk`.
//! - [`Writer`] builds them while another one still writes, and takes requests while the partition is its own.
//! - [`Wire`] takes a router's requests to a writer, [`Door`] takes callers' requests to a router, and [`Caller`] is one
//!   who asks. All speak [`wire`].
//!
//! Guarantee: an addition that was acknowledged is in the log, and counts once, whoever died and whatever was repeated.

mod caller;
mod counters;
mod desk;
mod door;
mod entry;
mod forward;
mod journal;
mod log;
mod log_reader;
mod message;
mod program;
mod replica;
mod traffic;
pub mod wire;
mod writer;

pub use caller::{Caller, Failure};
pub use counters::Counters;
pub use door::Door;
pub use entry::{Addition, Entry, EntryKind};
pub use forward::Wire;
pub use journal::{Journal, Witness};
pub use log::{Log, LogError};
pub use log_reader::read as read_log;
pub use message::{Answer, Code, Invalid, Request, RoutedRequest};
pub use program::{run_router, run_writer};
pub use traffic::{Meter, Pace, Traffic};
pub use writer::{Reception, Writer};
