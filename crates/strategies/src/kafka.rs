//! Kafka's client-side assignors, as pure functions over what a Kafka group says of itself.
//!
//! A [`Group`] is what the leader of a consumer group sees: topics with the racks of their replicas,
//! and members in the order of the group's list, each with its subscription and what it claims to
//! own, however much that contradicts what others claim. [`range()`], [`roundrobin()`],
//! [`sticky()`] and [`cooperative_sticky()`] answer with an [`GroupAssignment`], equal to that of Kafka's
//! classes down to the order of each list, so that groups may mix members of ours with Java's.
//!
//! # Where Kafka's classes are wrong
//!
//! In these cases the answer differs from Kafka's, on purpose:
//!
//! - A claim on a partition that does not exist is ignored. In Kafka it is an exception, or given.
//! - A member without topics, or with a topic listed twice, is not taken to be subscribed like the
//!   others. In Kafka it may be, and get what it did not subscribe to.
//! - What another member still owns is withheld even from a member that claims it without right.
//!   In Kafka, if subscriptions differ, both have it for a time.
//! - An owner of an older generation gets a partition back only if it still subscribes to the
//!   topic. In Kafka it may get it even so, or the assignor fails.
//! - Each member has one generation for all comparisons, and the newest is that of this group. In
//!   Kafka it may be compared with that of another field, and be one that is long over.
//!
//! That the sticky rules with racks may go on moving though nothing changed is as in Kafka; as
//! strategies they do not.
//!
//! # As strategies
//!
//! [`Range`], [`RoundRobin`], [`Sticky`] and [`CooperativeSticky`] answer a
//! [`Problem`](crate::Problem) by the same rules: today's owners are what members claim, in one
//! generation, and members are listed by id. What Kafka does not know is settled around the rule:
//!
//! - Fixed units, and what members on hold keep, are taken out first. The sticky rules count them,
//!   as a topic that only their owner subscribes to; `range` and `roundrobin` count nothing.
//! - Members that drain are not in the group. What no other member takes stays with them.
//! - A unit with bans or pins is a topic of its own; only those subscribe that may own it.
//! - A member that would exceed its limit keeps what it owns today, filled up with what it would
//!   get, and leaves; the rule shares the rest among the others.
//! - Weights, capacities, standbys, deployments and cooling mean nothing to these rules.

mod claims;
mod cooperative_sticky;
mod equal;
mod group;
mod group_assignment;
mod group_builder;
mod java;
mod mixed;
mod order;
mod racks;
mod range;
mod reduction;
mod roundrobin;
mod sticky;
pub mod wire;

pub use cooperative_sticky::{CooperativeSticky, cooperative_sticky};
pub use group::{Group, GroupMember, GroupTopic};
pub use group_assignment::GroupAssignment;
pub use group_builder::{GroupBuilder, GroupMemberSpec, SubscriptionHandle};
pub use range::{Range, range};
pub use roundrobin::{RoundRobin, roundrobin};
pub use sticky::{Sticky, sticky};
