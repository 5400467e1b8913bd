//! Who should own which partition.

mod builder;
mod index;
mod invalid;
mod member;
mod placement;
mod problem;
mod strategy;
mod topic;
mod unassigned;

pub use builder::ProblemBuilder;
pub use index::{MemberHandle, MemberIndex, TopicHandle, TopicIndex, UnitIndex};
pub use invalid::InvalidProblem;
pub use member::{Member, MemberSpec, MemberState, Subscription};
pub use placement::{Move, MoveReason, Placement};
pub use problem::Problem;
pub use strategy::Strategy;
pub use topic::Topic;
pub use unassigned::Unassigned;
