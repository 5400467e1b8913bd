//! The place of a member in its group.

/// The number of a request, with which its answer comes back. Unique within one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestNumber(pub u64);

/// A member in one generation. Id and generation belong together: a broker takes neither without the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The id that the broker gave the member.
    pub member_id: String,
    /// The generation; in a consumer group the member's epoch. Never negative.
    pub generation: i32,
    /// The instance id of a static member.
    pub instance: Option<String>,
}

/// There is no answer: the connection ended, or the time is over. The broker may have done what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no answer")]
pub struct AnswerFailure;

/// Deals the numbers of requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestNumbers(u64);

impl RequestNumbers {
    pub(crate) const fn deal(&mut self) -> RequestNumber {
        self.0 += 1;
        RequestNumber(self.0)
    }
}
