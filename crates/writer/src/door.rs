//! The listener for callers' requests in a router.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt as _, ready};
use kafka_assigner_router::{Forwarder, KeyHash, RequestError, Unsent};

use crate::forward::Wire;
use crate::message::{Answer, Code, Request};
use crate::wire::Service;

/// Gives requests to a router, and the answers back.
#[derive(Debug)]
pub struct Door {
    requests: Arc<Forwarder<Wire>>,
    topic: String,
}

impl Door {
    /// For requests that belong to partitions of `topic`.
    #[must_use]
    pub const fn new(requests: Arc<Forwarder<Wire>>, topic: String) -> Self {
        Self { requests, topic }
    }
}

impl Service for Door {
    fn take(&self, bytes: Bytes) -> BoxFuture<'static, Bytes> {
        match Request::read(bytes.clone()) {
            Ok(request) => {
                let answer = self.requests.request_by_key(
                    &self.topic,
                    request.key.as_bytes(),
                    KeyHash::Murmur2,
                    bytes,
                );
                answer.map(|answer| answer.unwrap_or_else(|error| explain(&error)).write()).boxed()
            }
            Err(error) => ready(Answer::not_done(Code::Invalid, error.to_string()).write()).boxed(),
        }
    }
}

fn explain(error: &RequestError) -> Answer {
    let code = match error {
        // One that leaves closes its table first. One that has lost its session can do nothing either.
        RequestError::Unsent(Unsent::Stopped | Unsent::Closed) => Code::Leaving,
        error if error.is_safe_to_repeat() => Code::NotExecuted,
        _ => Code::Unknown,
    };
    Answer::not_done(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_can_not_route_sends_callers_to_another_router() {
        for why in [Unsent::Stopped, Unsent::Closed] {
            assert_eq!(explain(&RequestError::Unsent(why)).code(), Code::Leaving);
        }
    }
}
