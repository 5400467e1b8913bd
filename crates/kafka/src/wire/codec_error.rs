//! The faults of messages.

/// The fault of bytes that can't be read, or of a message that can't be written. The same input fails again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// A length, a count or a value goes beyond the last byte, or is negative where that means nothing.
    #[error("it ends too early, or a length in it is impossible")]
    TooShort,
    /// The message is over before the bytes are.
    #[error("{0} bytes are left over")]
    Rest(usize),
    /// A null in a place that must have a value in this version.
    #[error("a value that must be there is null")]
    Null,
    /// A text that is not UTF-8.
    #[error("a text in it is not UTF-8")]
    Text,
    /// A number of variable length with more than 32 bits.
    #[error("a number in it is longer than 32 bits")]
    Varint,
    /// Tagged fields out of their order, or twice.
    #[error("its tagged fields are not in order")]
    Tags,
    /// An answer to something else.
    #[error("it answers request {answered}, and {asked} was asked")]
    Correlation {
        /// The number of the request.
        asked: i32,
        /// The number in the answer.
        answered: i32,
    },
    /// A field that is set, and that the version does not have.
    #[error("{field} can't be said in version {version}")]
    NotInVersion {
        /// The field.
        field: &'static str,
        /// The version.
        version: i16,
    },
    /// A text, a list or a message whose length does not fit its field.
    #[error("a value is too long to be written")]
    TooLong,
}
