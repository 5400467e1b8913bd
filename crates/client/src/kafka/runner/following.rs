//! A partition that is warm, and follows its owner until the switch.

use std::time::Duration;

use kafka_assigner_handler::RecordHandler;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::warn;

use super::catching_up::CatchingUp;
use crate::context::WarmContext;
use crate::handler::HandlerError;
use crate::kafka::partition::Partition;
use crate::kafka::runner_parts::RunnerParts;

/// The time for the record in the works where the partition is not wanted any more: others may wait for its release.
const CUT_AFTER: Duration = Duration::from_secs(1);

/// The task that follows; it goes on no longer than this lives.
pub(super) struct Following<S> {
    stop: CancellationToken,
    task: AbortOnDropHandle<Partition<S>>,
}

impl<S: Send + 'static> Following<S> {
    pub(super) fn start<H: RecordHandler<State = S>>(
        parts: RunnerParts<H>,
        context: WarmContext,
        partition: Partition<S>,
    ) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(follow(parts, context, partition, stop.clone()));
        Self { stop, task: AbortOnDropHandle::new(task) }
    }

    /// Stops after the record that is in the works. `None` = the handler panicked outside of its calls.
    ///
    /// Cancel safe: dropped, the handler is cut at its next await.
    pub(super) async fn stopped(self) -> Option<Box<Partition<S>>> {
        self.stop.cancel();
        self.task.await.ok().map(Box::new)
    }

    /// The same for a partition that is not wanted any more: a record that takes long is cut. `None` = one was.
    pub(super) async fn cut(self) -> Option<Box<Partition<S>>> {
        timeout(CUT_AFTER, self.stopped()).await.ok().flatten()
    }
}

async fn follow<H: RecordHandler>(
    parts: RunnerParts<H>,
    context: WarmContext,
    mut partition: Partition<H::State>,
    stop: CancellationToken,
) -> Partition<H::State> {
    let catching_up = CatchingUp { parts: &parts };
    if let Err(interrupted) = catching_up.keep_following(&context, &mut partition, &stop).await {
        // Whoever starts finds the same, and says so.
        let error = HandlerError::from(interrupted);
        warn!(partition = %context.partition(), error = &*error as &dyn std::error::Error, "does not follow any more");
    }
    partition
}
