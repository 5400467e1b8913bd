//! Everything that decides, as pure functions: no clock, no I/O, no randomness, no async.
//!
//! ```text
//!   records of one group                    what follows
//!  ┌──────────────────────┐   plan      ┌─────────────────────┐
//!  │ state::GroupState    ├────────────►│ action::Action      │──► kv::Txn ──► (the store)
//!  │   apply(changes)     │   advance   │   step, guarded     │
//!  │                      ├────────────►│   write             │
//!  └──────────┬───────────┘   ack::judge└─────────────────────┘
//!             │ consumer_view
//!             ▼
//!    view::Role of each partition ──► (the consumer's stream)
//! ```
//!
//! The same functions run in the service, under the model checker, in the simulation and behind dry-run.
//! Time, random numbers and what others said come in as arguments.
//!
//! Start reading at [`record`] (what is stored), then [`state`], then [`rules`] (the handoff protocol as a
//! table) with [`advance`](mod@advance), then [`plan`](mod@plan), then [`leader`], the machine that calls both,
//! and [`lint`](mod@lint), which checks what it has decided. [`ack`], [`session`], [`stops`] and [`suspicion`] are
//! what any instance decides, the rest is the leader's. This crate may use `types` and `strategies`,
//! and nothing else of ours.

pub mod ack;
pub mod action;
pub mod advance;
pub mod begun;
pub mod claim;
mod committed;
pub mod counts;
mod draft;
pub mod explain;
mod facts;
pub mod failing;
mod fence;
pub mod history;
pub mod key;
pub mod leader;
pub mod lint;
mod one_line;
pub mod panics;
pub mod plan;
pub mod reason;
pub mod record;
pub mod route;
pub mod rules;
pub mod session;
pub mod state;
pub mod stops;
pub mod suspicion;
mod switch_writes;
#[cfg(any(test, feature = "testing"))]
pub mod test_group;
pub mod topics;
pub mod view;
pub mod write;
