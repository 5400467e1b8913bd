//! The error of a handler, and what it asks for.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// The error of a call of a [`RecordHandler`](crate::RecordHandler).
///
/// It says two things beside its cause: what is to be done with the record ([`Remedy`]; unless it says so the runner's
/// [`ErrorPolicy`](crate::ErrorPolicy) decides), and what has become of the state ([`StateAfter`]).
///
/// Every error becomes one by `?`, and the state then counts as spoiled. Say [`unchanged`](OrUnchanged::unchanged) where
/// nothing was changed before: `parse(record).unchanged()?`.
///
/// ```
/// use kafka_assigner_handler::{OrUnchanged as _, RecordError};
///
/// fn add(sum: &mut u64, text: &str) -> Result<(), RecordError> {
///     let number: u64 = text.parse().unchanged()?;
///     *sum = sum.checked_add(number).ok_or_else(|| RecordError::stop("the sum is too large"))?;
///     Ok(())
/// }
///
/// let mut sum = 1;
/// assert!(add(&mut sum, "2").is_ok());
/// assert!(!add(&mut sum, "two").unwrap_err().is_spoiled());
/// ```
pub struct RecordError {
    cause: Box<dyn StdError + Send + Sync>,
    remedy: Option<Remedy>,
    state: StateAfter,
}

/// The answer of a handler that has not handled a record, and the decision of a policy. For calls that are about no record see
/// [`RecordHandler`](crate::RecordHandler).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// The same record comes again after a wait; `None` = after the policy's.
    Retry {
        /// The wait.
        after: Option<Duration>,
    },
    /// The record is passed over, and counted.
    Skip,
    /// The record is written to the dead-letter topic, and then passed over. Without such a topic, as [`Stop`](Self::Stop).
    DeadLetter,
    /// The partition stands before this record, with its owner.
    Stop,
    /// The process is of no use: its consumer gives all partitions up and ends with an error.
    Fatal,
}

/// The state after a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateAfter {
    /// As it was before the call.
    Unchanged,
    /// Nobody knows: it is dropped, and the partition prepared again. A state without a size, like `()`, can't be spoiled.
    Spoiled,
}

impl RecordError {
    /// An error for which the policy decides, and after which the state is spoiled.
    pub fn new(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { cause: cause.into(), remedy: None, state: StateAfter::Spoiled }
    }

    /// An error for which the policy decides; the state is as it was.
    pub fn unchanged(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { state: StateAfter::Unchanged, ..Self::new(cause) }
    }

    /// The record is to come again after this wait; the state is as it was.
    pub fn retry(after: Duration, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::with(Remedy::Retry { after: Some(after) }, cause)
    }

    /// The record is to be passed over; the state is as it was.
    pub fn skip(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::with(Remedy::Skip, cause)
    }

    /// The record is to be written to the dead-letter topic; the state is as it was.
    pub fn dead_letter(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::with(Remedy::DeadLetter, cause)
    }

    /// The partition is to stand before this record; the state is as it was.
    pub fn stop(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::with(Remedy::Stop, cause)
    }

    /// The process is of no use; the state is as it was.
    pub fn fatal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::with(Remedy::Fatal, cause)
    }

    fn with(remedy: Remedy, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { remedy: Some(remedy), ..Self::unchanged(cause) }
    }

    /// The error of a handler that panicked: it may have left anything behind.
    #[must_use]
    pub fn panicked() -> Self {
        Self::new("the handler panicked")
    }

    /// The same error, after a call that may have changed the state.
    #[must_use]
    pub fn spoiled(self) -> Self {
        Self { state: StateAfter::Spoiled, ..self }
    }

    /// The answer; `None` = the policy decides.
    #[must_use]
    pub const fn remedy(&self) -> Option<Remedy> {
        self.remedy
    }

    /// True if the state may have been changed.
    #[must_use]
    pub const fn is_spoiled(&self) -> bool {
        matches!(self.state, StateAfter::Spoiled)
    }

    /// The cause.
    #[must_use]
    pub fn cause(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.cause
    }

    /// The cause, and the causes of it, in one line.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.cause.to_string();
        let mut next = self.cause.source();
        while let Some(cause) = next {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            next = cause.source();
        }
        text
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for RecordError {
    fn from(cause: E) -> Self {
        Self::new(cause)
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl fmt::Debug for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordError")
            .field("cause", &self.cause)
            .field("remedy", &self.remedy)
            .field("state", &self.state)
            .finish()
    }
}

/// Says of an error that the state is as it was before the call.
pub trait OrUnchanged<T> {
    /// The same result, whose error leaves the state as it was.
    ///
    /// # Errors
    ///
    /// That of the result.
    fn unchanged(self) -> Result<T, RecordError>;
}

impl<T, E: Into<Box<dyn StdError + Send + Sync>>> OrUnchanged<T> for Result<T, E> {
    fn unchanged(self) -> Result<T, RecordError> {
        self.map_err(RecordError::unchanged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::num::ParseIntError);

    fn cause() -> Outer {
        Outer("x".parse::<u8>().unwrap_err())
    }

    #[test]
    fn what_a_question_mark_makes_spoils_and_leaves_the_rest_to_the_policy() {
        let by_question_mark = || -> Result<(), RecordError> { Err(cause())? };
        let error = by_question_mark().unwrap_err();
        assert_eq!((error.is_spoiled(), error.remedy()), (true, None));
        assert_eq!(error.text(), "outer: invalid digit found in string");
        let error = Err::<(), _>(cause()).unchanged().unwrap_err();
        assert_eq!((error.is_spoiled(), error.remedy()), (false, None));
    }

    #[test]
    fn an_answer_leaves_the_state_as_it_was_unless_it_says_otherwise() {
        let error = RecordError::skip("no JSON");
        assert_eq!((error.is_spoiled(), error.remedy()), (false, Some(Remedy::Skip)));
        assert!(error.spoiled().is_spoiled());
    }
}
