//! Calls of the handler, run beside the loop.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kafka_assigner_session::causes::with_causes;
use kafka_assigner_types::id::{Epoch, Offset, TopicPartition};
use kafka_assigner_types::topic_id::TopicId;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, info_span};

use super::contexts::HeldPartitions;
use crate::claim::SessionClaim;
use crate::context::OwnedContext;
use crate::handler::{HandlerError, PartitionHandler, Spoiled};
use crate::roles::{Call, CallFailure, CallResult};
use crate::status::{FailingPartition, StoppedPartition};

/// A call of the handler; a drain returns the next offset.
type HandlerCall = BoxFuture<'static, Result<Option<Offset>, HandlerError>>;

/// The handler, and the calls of it that run.
pub(super) struct HandlerCalls<H> {
    handler: Arc<H>,
    claim: SessionClaim,
    /// The caller's, which is not that of the loop: user code may block it.
    runtime: Handle,
    running: JoinSet<CallEnd>,
}

/// A call that ended.
pub(super) struct CallEnd {
    pub(super) partition: TopicPartition,
    pub(super) call: Call,
    pub(super) result: CallResult,
}

impl<H: PartitionHandler> HandlerCalls<H> {
    pub(super) fn new(handler: Arc<H>, claim: SessionClaim, runtime: Handle) -> Self {
        Self { handler, claim, runtime, running: JoinSet::new() }
    }

    /// Starts a call for a partition of a topic with this id, with a context that `held` keeps.
    pub(super) fn start(
        &mut self,
        held: &mut HeldPartitions,
        (partition, topic_id): (TopicPartition, Option<TopicId>),
        call: Call,
    ) {
        held.name_topic(&partition, topic_id);
        let run = self.prepare(held, &partition, &call);
        let span = info_span!("partition_call", %partition, ?call);
        let call = async move {
            let result = caught(run).instrument(span).await;
            CallEnd { partition, call, result }
        };
        self.running.spawn_on(call, &self.runtime);
    }

    /// The next call that ended; `None` = none runs.
    ///
    /// Cancel safe.
    pub(super) async fn next_end(&mut self) -> Option<CallEnd> {
        // Panics are caught, so a call fails to join only while the runtime shuts down.
        self.running.join_next().await?.ok()
    }

    /// Nothing is left of a partition, nor wanted of it.
    pub(super) fn forget(&self, partition: &TopicPartition) {
        self.handler.forgotten(partition);
    }

    /// True if anything has been in the works for longer than `bound`.
    pub(super) fn is_stuck(&self, bound: Duration) -> bool {
        self.handler.is_stuck(bound)
    }

    /// The partitions that stand.
    pub(super) fn stopped(&self) -> Vec<StoppedPartition> {
        self.handler.stopped()
    }

    /// The partitions of which the handler has committed an offset; `None` = it never commits, or does not tell.
    pub(super) fn committed(&self) -> Option<BTreeMap<TopicPartition, Epoch>> {
        self.handler.committed()
    }

    /// The error of what the handler works with, while it lasts.
    pub(super) fn last_error(&self) -> Option<String> {
        self.handler.last_error()
    }

    /// The partitions whose next record has failed for long.
    pub(super) fn failing(&self) -> Vec<FailingPartition> {
        self.handler.failing()
    }

    /// The reason for which the process is of no use any more.
    pub(super) fn fatal(&self) -> Option<String> {
        self.handler.fatal()
    }

    /// Makes the context of a call, and the call itself, not yet begun.
    fn prepare(&self, held: &mut HeldPartitions, at: &TopicPartition, call: &Call) -> HandlerCall {
        let handler = self.handler.clone();
        match call {
            Call::Warm { provenance, current_owner, start } => {
                let context = held.warm(at, provenance, current_owner.clone(), *start);
                async move { handler.warm(&context).await.map(|()| None) }.boxed()
            }
            Call::CatchUp { epoch, until, .. } => {
                let context = held.reserve(at, self.claim.partition(*epoch, true), *until);
                async move { handler.reserved(&context).await.map(|()| None) }.boxed()
            }
            Call::Assigned { epoch, start, resumed, strict } => {
                let claim = self.claim.partition(*epoch, *strict);
                let context = held.grant(at, claim, *start, *resumed);
                async move { handler.assigned(&context).await.map(|()| None) }.boxed()
            }
            Call::Drain => {
                let (context, recalled) = held.drain(at);
                drained(handler, context, recalled).boxed()
            }
            Call::Release => {
                held.release(at);
                let partition = at.clone();
                async move { handler.release(&partition).await.map(|()| None) }.boxed()
            }
            Call::Lost => {
                let context = held.lose(at);
                async move {
                    handler.lost(&context).await;
                    Ok(None)
                }
                .boxed()
            }
        }
    }
}

/// Drains once nothing is in flight that was admitted before. That is waited for as long as the drain is wanted.
async fn drained<H: PartitionHandler>(
    handler: Arc<H>,
    context: OwnedContext,
    recalled: CancellationToken,
) -> Result<Option<Offset>, HandlerError> {
    tokio::select! {
        biased;
        // Its claim has ended; what is in flight may go on a while, and is answered for at the gate.
        () = context.cancelled() => return Err("cancelled while requests were in flight".into()),
        // The usual case.
        () = context.gate.emptied() => {}
        // The owner goes on with all that is in flight.
        () = recalled.cancelled() => return Err("recalled while requests were in flight".into()),
    }
    // Not before: recalled, its loop goes on, and nobody would start it again.
    context.records.close();
    handler.drain(&context).await
}

/// Turns errors and panics of a handler into failures. A panic may have left anything behind.
async fn caught(call: impl Future<Output = Result<Option<Offset>, HandlerError>>) -> CallResult {
    match AssertUnwindSafe(call).catch_unwind().await {
        Ok(Ok(next)) => Ok(next),
        Ok(Err(error)) => Err(CallFailure { message: with_causes(&*error), spoiled: error.is::<Spoiled>() }),
        Err(_) => Err(CallFailure { message: "the handler panicked".to_owned(), spoiled: true }),
    }
}
