//! A stream that ends once its caller may not read it any more.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use tonic::Status;

use super::StreamPermit;

/// A stream of answers, which ends with the refusal once the access file does not allow it any more.
pub struct Allowed<S> {
    stream: S,
    /// `None` once it has ended.
    denied: Option<Pin<Box<dyn Future<Output = Status> + Send + Sync>>>,
    _permit: StreamPermit,
}

impl<S> std::fmt::Debug for Allowed<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Allowed").field("is_over", &self.denied.is_none()).finish_non_exhaustive()
    }
}

impl<S> Allowed<S> {
    pub(crate) fn new(stream: S, permit: StreamPermit) -> Self {
        let denied = permit.call().clone().denied();
        Self { stream, denied: Some(Box::pin(denied)), _permit: permit }
    }
}

impl<T, S: Stream<Item = Result<T, Status>> + Unpin> Stream for Allowed<S> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(denied) = &mut self.denied else { return Poll::Ready(None) };
        if let Poll::Ready(refusal) = denied.as_mut().poll(context) {
            self.denied = None;
            return Poll::Ready(Some(Err(refusal)));
        }
        Pin::new(&mut self.stream).poll_next(context)
    }
}
