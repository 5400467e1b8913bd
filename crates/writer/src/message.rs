//! Requests and answers. Both sides check what they read: anybody can connect to a port.

use bytes::Bytes;
use prost::{Enumeration, Message};

/// The longest name of a caller.
const LONGEST_CALLER: usize = 64;
/// The longest key of a counter.
const LONGEST_KEY: usize = 256;

/// A caller's request to the writer of a key.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Request {
    /// The caller's name, unique among all callers that there ever were.
    #[prost(string, tag = "1")]
    pub caller: String,
    /// Rises from request to request of one caller, from 1. A repeated request has the same number.
    #[prost(uint64, tag = "2")]
    pub number: u64,
    /// The name of the counter.
    #[prost(string, tag = "3")]
    pub key: String,
    /// The amount to add; none = the counter is only read.
    #[prost(uint64, optional, tag = "4")]
    pub add: Option<u64>,
}

/// A request on its way from a router to a writer.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct RoutedRequest {
    /// The topic.
    #[prost(string, tag = "1")]
    pub topic: String,
    /// The partition, from 0.
    #[prost(int32, tag = "2")]
    pub partition: i32,
    /// The epoch of the owner whom it is for.
    #[prost(uint64, tag = "3")]
    pub epoch: u64,
    /// The request, encoded.
    #[prost(bytes = "bytes", tag = "4")]
    pub request: Bytes,
}

/// The answer of a writer or router.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Answer {
    /// The outcome of the request.
    #[prost(enumeration = "Code", tag = "1")]
    pub code: i32,
    /// The counter, after an addition with it.
    #[prost(uint64, tag = "2")]
    pub total: u64,
    /// The reason why it was not done.
    #[prost(string, tag = "3")]
    pub why: String,
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub enum Code {
    /// It may have been executed, and may be repeated; also what an older reader takes a newer code for.
    Unknown = 0,
    /// It was executed, and is in the log.
    Done = 1,
    /// Nothing was executed, and it may be repeated.
    NotExecuted = 2,
    /// Nothing was executed: this router leaves, ask another one.
    Leaving = 3,
    /// Nothing is executed: a later request of the same caller was.
    Outdated = 4,
    /// Nothing is executed: it breaks a rule.
    Invalid = 5,
}

/// A request that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It can't be read.
    #[error("request can't be decoded")]
    Malformed(#[from] prost::DecodeError),
    /// No caller's name, or a long one.
    #[error("caller's name has {0} bytes, not 1 to {LONGEST_CALLER}")]
    Caller(usize),
    /// No key, or a long one.
    #[error("key has {0} bytes, not 1 to {LONGEST_KEY}")]
    Key(usize),
    /// Numbers begin at 1.
    #[error("request has no number")]
    Number,
}

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    ///
    /// [`Invalid`], by variant.
    pub fn read(bytes: Bytes) -> Result<Self, Invalid> {
        let request = Self::decode(bytes)?;
        match (request.caller.len(), request.key.len()) {
            (length, _) if length == 0 || length > LONGEST_CALLER => Err(Invalid::Caller(length)),
            (_, length) if length == 0 || length > LONGEST_KEY => Err(Invalid::Key(length)),
            _ if request.number == 0 => Err(Invalid::Number),
            _ => Ok(request),
        }
    }
}

impl Answer {
    /// The counter is `total`.
    #[must_use]
    pub const fn done(total: u64) -> Self {
        Self { code: Code::Done as i32, total, why: String::new() }
    }

    /// It was not done, for certain or perhaps.
    pub fn not_done(code: Code, why: impl Into<String>) -> Self {
        Self { code: code.into(), total: 0, why: why.into() }
    }

    /// Reads an answer. One that makes no sense says nothing of what was executed.
    #[must_use]
    pub fn read(bytes: Bytes) -> Self {
        Self::decode(bytes).unwrap_or_else(|error| Self::not_done(Code::Unknown, error.to_string()))
    }

    /// As bytes.
    #[must_use]
    pub fn write(&self) -> Bytes {
        self.encode_to_vec().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request { caller: "c".to_owned(), number: 1, key: "k".to_owned(), add: Some(1) }
    }

    #[test]
    fn what_breaks_a_rule_is_refused_with_the_rule() {
        let read = |request: Request| Request::read(request.encode_to_vec().into());
        assert_eq!(read(request()), Ok(request()));
        let long = "k".repeat(257);
        assert_eq!(read(Request { caller: String::new(), ..request() }), Err(Invalid::Caller(0)));
        assert_eq!(read(Request { key: long, ..request() }), Err(Invalid::Key(257)));
        assert_eq!(read(Request { number: 0, ..request() }), Err(Invalid::Number));
        assert!(matches!(Request::read(Bytes::from_static(&[0xff])), Err(Invalid::Malformed(_))));
    }

    #[test]
    fn an_answer_that_is_not_understood_says_that_nobody_knows() {
        assert_eq!(Answer::read(Answer::done(7).write()), Answer::done(7));
        assert_eq!(Answer { code: 99, ..Answer::default() }.code(), Code::Unknown);
        assert_eq!(Answer::read(Bytes::from_static(&[0xff])).code(), Code::Unknown);
    }
}
