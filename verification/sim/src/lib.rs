//! Whole groups in simulated time: several instances on one store in memory, each over a link that misbehaves, consumers
//! and routers that run the real libraries over a network that does too, and clients whose requests pass through.
//!
//! ```text
//!                                  clients
//!                                     │ requests
//!  driver ── faults ──► world:     routers ─ network ─ instances ─ links ─ store
//!                          │          │         │                           │
//!                          │       desks of consumers                       │
//!                          │          │                                     │
//!                          └──────────┴────► history ◄── observer ──────────┘
//!                                               │
//!                                            checker ──► violations
//! ```
//!
//! Everything follows from a seed: what a world looks like, what goes wrong in it and when, how long each call takes.
//! Start reading at [`simulate`], then `driver` (what happens) and `checker` (what must hold; one file for each
//! invariant). [`Hole`] lists the faults that can be put in on purpose, to see that the checker finds them.

mod call;
mod checker;
mod commits;
mod coverage;
mod desk;
mod driver;
mod fault;
mod floor;
mod harness;
mod history;
mod hole;
mod hunt;
mod ice;
mod network;
mod shape;
mod shift;
mod simulate;
mod situation;
mod store;
mod wire;
mod worker;
mod world;

pub use checker::{Violation, invariants};
pub use coverage::{Counters, Coverage};
pub use fault::{Fault, Moment, Party, Strike};
pub use hole::Hole;
pub use hunt::{MOST_HUNTED, hunt};
pub use simulate::{Options, Outcome, fingerprint, simulate};
