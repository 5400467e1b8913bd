//! A crowd of callers that ask single writers all the time, and the audit of what they were told.
//!
//! ```text
//!  Traffic: callers ──► routers ──► writers ──► Kafka
//!      │                                          │
//!      └─► Asked: what was acknowledged,          └─► Written: what is in the log, and counts
//!          and what failed      └────────► judge ◄────────┘ ──► Requests: lost, twice, out of order, how long
//! ```
//!
//! For runs with real processes: the end-to-end run, and chaos. The writers and routers are those of
//! `examples/single-writer`; the log is read here in another way than writers read it. Start reading at [`Traffic`], then
//! [`Requests`] for what each number means.

mod audit;
mod traffic;
mod written;

pub use audit::{
    Acknowledged, Asked, Failed, Requests, Window, judge, put_right, to_handle, unexcused, wrong_states,
};
pub use traffic::{Meter, Pace, Traffic};
pub use written::{Written, read};
