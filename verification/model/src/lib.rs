//! The handoff protocol in all its modes, explored state by state on the very functions that the service runs.
//!
//! ```text
//!   leader 0 ── core::leader ───┐                       ┌── consumer_view, route ──► sessions, routers
//!   leader 1 ── (deposed, late) ├─► fenced, guarded ──► store ──► views that lag      │ work, route, or not
//!   an instance ── judge ───────┘        writes         ▲                             │
//!        ▲                                              └── admit, open, leave, check ◄┤
//!        └─────────── ready, drained, caught up, taken, released (now, later, twice) ◄┘
//! ```
//!
//! Decisions are those of `core`, a leader's those of a whole step of `core::leader`. The [`world`] around them is small
//! and its own: a store in a map, two instances with views of some moment, clients that do what they were told last, and
//! the [`log`] that they work on. [`Bounds`] says how often each kind of trouble may strike; within them every interleaving
//! is visited. From every state a scheduler that adds no trouble has to bring the group to its rest ([`settle`], I6).
//!
//! Time is what is left of leases: more than a third, a third at most, nothing. A claim counts from before its lease
//! was kept alive last, so it is over at the latest when a third is left. A process that stands still does not renew
//! its lease, and when it wakes it acts as its clock lets it. In `overlap` it goes on beyond its claim for its outage grace, where
//! an instance has answered that the store can't be reached.
//!
//! Two liberties keep equal situations equal. States are compared with their revisions by rank. And the store's
//! revision is kept out of epochs, which then count from 1: that epochs rise over revisions, deleted groups and
//! re-created topics is what the histories in `core` check.
//!
//! [`Variant`] takes out one rule at a time. Each of them must break something, within bounds where the shipped protocol
//! breaks nothing ([`control`]): that shows that the model can see, and that it is the rule which counts.
//! [`suite`] lists what is explored; `cargo xtask model` explores all of it, the tests a part.
//!
//! Not in the model: standbys, warm-up progress, the order within a router's stash, records that are expected to be short. Start reading at [`step`], then [`world`], then [`property`].

pub mod bounds;
pub mod control;
pub mod log;
pub mod property;
pub mod report;
pub mod router;
pub mod scene;
pub mod session;
pub mod settle;
pub mod step;
pub mod suite;
pub mod topic;
pub mod variant;
pub mod world;

mod act;
mod check;
mod hash;
mod premise;

pub use bounds::Bounds;
pub use property::Invariant;
pub use step::{Protocol, Step};
pub use variant::Variant;
pub use world::World;
