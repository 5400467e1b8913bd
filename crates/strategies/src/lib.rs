//! Rules for the owners of partitions, as pure functions.
//!
//! A [`Strategy`] is asked a [`Problem`] (topics, members, who owns what today, what must not
//! change) and answers with a [`Placement`] (who should own what, what moves and why, what no member
//! can own and why). It has no clock, no randomness and no I/O, and the order in which members and
//! topics are told does not matter, so every machine that asks the same gets the same answer.
//! Carrying a placement out, without a gap and with fencing, is not done here.
//!
//! ```
//! use kafka_assigner_strategies::{MemberSpec, Problem, by_name};
//!
//! let mut builder = Problem::builder();
//! let clicks = builder.topic("clicks", 4);
//! let a = builder.member(MemberSpec::new("a"));
//! builder.member(MemberSpec::new("b"));
//! (0..4).for_each(|partition| builder.current(clicks, partition, a));
//!
//! let strategy = by_name("sticky-balanced").expect("a strategy of this crate");
//! let problem = builder.build()?;
//! let moves = strategy.assign(&problem).moves(&problem);
//! assert_eq!(moves.len(), 2);
//! assert_eq!(moves[0].reason.to_string(), "its owner had 4 and is to have 2");
//! # Ok::<(), kafka_assigner_strategies::InvalidProblem>(())
//! ```
//!
//! # Names and numbers
//!
//! A million partitions is a normal size, so names stay at the edge. A [`ProblemBuilder`] hashes
//! each name once and hands out handles; a [`Problem`] sorts topics and members by name and numbers
//! them. Everything inside is flat vectors of such numbers.
//!
//! # Rules for every strategy
//!
//! - A fixed unit (one whose handoff is under way) stays with its member and counts there.
//! - Otherwise a unit is owned only by a member that is subscribed to its topic and not banned
//!   from it, and only active members take units.
//! - A member on hold keeps what it may own. A draining member gives whatever another can take.
//! - A limit keeps a member from taking, not from keeping what no other member can take.
//! - A second run on the result of the first moves nothing, but for two: `balanced` goes on with what a movement budget
//!   left undone, and `sticky` and `cooperative-sticky` may go on where there are racks or limits.
//!
//! # What only `kafka-assigner assign` can tell
//!
//! The service tells topics, members with their weights and limits, owners, what is fixed or banned, and members' racks.
//! Racks of replicas, standbys, pins and a movement budget are told by the command `assign` (and by programs that use this
//! crate); without the racks of replicas those of members change nothing.
//!
//! # Where to start
//!
//! `problem.rs` and `placement.rs` are the question and the answer; `strategy.rs` lists the rules
//! there are; [`StickyBalanced`] is the one to read first.

mod balanced;
mod copartitioned_sticky;
mod jump_hash;
pub mod kafka;
mod ledger;
mod placement;
mod problem;
mod registry;
pub mod sets;
mod sticky_balanced;
mod strategy;

pub use balanced::Balanced;
pub use copartitioned_sticky::CopartitionedSticky;
pub use jump_hash::JumpHash;
pub use placement::{Choice, Move, MoveReason, Placement, Standbys, Unassigned};
pub use problem::{
    Capacity, InvalidProblem, MemberHandle, MemberIndex, MemberSpec, MemberState, Options, Problem,
    ProblemBuilder, ProblemMember, ProblemTopic, RackHandle, RackIndex, ReplicaRacks, Standby, Subscription,
    TopicHandle, TopicIndex, TopicSpread, UnitIndex, Weight,
};
pub(crate) use problem::{Place, RackReader};
pub use registry::Registry;
pub use sticky_balanced::StickyBalanced;
pub use strategy::{Manner, Strategy, all, by_name};
