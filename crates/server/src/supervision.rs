//! Panics of tasks: a task never ends by one without anybody noticing.
//!
//! A panic in a task of one group ends the tasks of that group, which is then served anew; others are not touched. The
//! few tasks that serve all groups have no such border: a panic in one of them is a [`Fault`], which ends the process
//! with its reason, so that whoever supervises the process starts it again.

use std::panic::AssertUnwindSafe;
use std::sync::OnceLock;

use futures::FutureExt as _;
use kafka_assigner_core::panics::message_of;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The reason why an instance can't go on: a task that serves all groups panicked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the task {task:?} panicked: {message}; this is a fault of the program, please report it")]
pub struct TaskPanicked {
    /// The task.
    pub task: &'static str,
    /// The message of its panic.
    pub message: String,
}

/// The first panic of a task that serves all groups, where there was one.
#[derive(Debug, Default)]
pub(crate) struct Fault {
    first: OnceLock<TaskPanicked>,
    happened: CancellationToken,
}

impl Fault {
    /// Runs `future` as the task called `task`; a panic of it is this fault.
    pub(crate) async fn watch(&self, task: &'static str, future: impl Future<Output = ()>) {
        if let Err(panic) = AssertUnwindSafe(future).catch_unwind().await {
            let panicked = TaskPanicked { task, message: message_of(&*panic) };
            tracing::error!(error = %panicked, "the instance can't go on");
            // The first one is the reason; the others may follow from it.
            let _ = self.first.set(panicked);
            self.happened.cancel();
        }
    }

    /// Waits until there is one. Cancel safe.
    pub(crate) async fn happened(&self) -> TaskPanicked {
        self.happened.cancelled().await;
        self.first.get().cloned().expect("it is set before it is told")
    }
}

/// Waits until all `tasks` have ended, or one has panicked: the message of that panic. Cancel safe; the others go on.
pub(crate) async fn first_panic(tasks: &mut JoinSet<()>) -> Option<String> {
    while let Some(ended) = tasks.join_next().await {
        if let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) {
            return Some(message_of(&*panic));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn a_panic_is_a_fault_that_names_the_task() {
        let fault = Fault::default();
        fault.watch("ends", ready(())).await;
        assert_eq!(fault.happened().now_or_never(), None);
        for message in ["first", "second"] {
            fault.watch("panics", async { panic!("the {message} one") }).await;
        }
        let panicked = fault.happened().now_or_never().unwrap();
        assert_eq!(panicked, TaskPanicked { task: "panics", message: "the first one".to_owned() });
    }

    #[tokio::test]
    async fn the_first_panic_of_several_tasks_is_told_while_others_go_on() {
        let mut tasks = JoinSet::new();
        tasks.spawn(ready(()));
        assert_eq!(first_panic(&mut tasks).await, None);
        tasks.spawn(pending());
        tasks.spawn(async { panic!("it") });
        assert_eq!(first_panic(&mut tasks).await.as_deref(), Some("it"));
        assert_eq!(tasks.len(), 1);
    }
}
