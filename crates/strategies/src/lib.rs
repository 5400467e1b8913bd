//! Who should own which partition.

mod builder;
mod index;
mod invalid;
mod jump_hash;
mod member;
mod placement;
mod problem;
mod sticky_balanced;
mod strategy;
mod topic;
mod unassigned;

pub use builder::ProblemBuilder;
pub use index::{MemberHandle, MemberIndex, TopicHandle, TopicIndex, UnitIndex};
pub use invalid::InvalidProblem;
pub use jump_hash::JumpHash;
pub use member::{Member, MemberSpec, MemberState, Subscription};
pub use placement::{Move, MoveReason, Placement};
pub use problem::Problem;
pub use sticky_balanced::StickyBalanced;
pub use strategy::{Strategy, all, by_name};
pub use topic::Topic;
pub use unassigned::Unassigned;
