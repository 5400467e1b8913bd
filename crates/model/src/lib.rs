//! The mode `overlap`, explored state by state on the very functions that the service runs.
//!
//! ```text
//!   leader 0 ── plan, advance ──┐                       ┌── consumer_view ──► session
//!   leader 1 ── (deposed, late) ├─► fenced, guarded ──► store ──► views that lag      │ works, or not
//!   an instance ── ack::judge ──┘        writes         ▲                             │
//!        ▲                                              └── admit, open, leave ◄──────┤
//!        └─────────────── ready, taken, released (now, later, twice) ◄────────────────┘
//! ```
//!
//! Decisions are those of `core`; the [`world`] around them is small and its own: a store in a map, two instances
//! with views of some moment, and clients that do what they were told last. [`Bounds`] says how often each kind of
//! trouble may strike; within them every interleaving is visited. All that is no trouble moves forward, so the runs
//! are finite, and where nothing can move any more the group must be at its fixed point (I6).
//!
//! Two liberties keep equal situations equal. States are compared with their revisions by rank. And the store's
//! revision is kept out of epochs, which then count from 1: that epochs rise over revisions, deleted groups and
//! re-created topics is what the histories in `core` check.
//!
//! [`Variant`] takes out one rule at a time. Each of them must break something: that shows that the model can see.
//!
//! As the tests bound it (two partitions, two or three consumers, one or two instances, one or two of each kind of
//! trouble), that is some 550 000 distinct states in 1.2 million steps; `cargo test -p kafka-assigner-model -- --nocapture`
//! prints the numbers of each run.
//!
//! Not in the model: more than one partition per unit, standbys, warm-up progress, Kafka's metadata. Start reading
//! at [`step`], then [`world`], then [`property`].

pub mod bounds;
pub mod property;
pub mod scene;
pub mod session;
pub mod step;
pub mod variant;
pub mod world;

mod act;
mod hash;

pub use bounds::Bounds;
pub use property::Invariant;
pub use step::{Protocol, Step};
pub use variant::Variant;
pub use world::World;
