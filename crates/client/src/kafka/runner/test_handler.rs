//! A handler without a state, whose processing a test gives.

use std::future::{Ready, ready};

use kafka_assigner_handler::{
    OpenedState, PartitionContext, Preparation, Record, RecordError, StateSnapshot,
};

use super::*;

/// Calls the function for each record that is processed.
pub(super) struct Stateless<F>(pub(super) F);

/// Handles each record at once.
pub(super) fn idle() -> Stateless<impl Fn() -> Ready<Result<(), RecordError>> + Send + Sync + 'static> {
    Stateless(|| ready(Ok(())))
}

impl<F, P> RecordHandler for Stateless<F>
where
    F: Fn() -> P + Send + Sync + 'static,
    P: Future<Output = Result<(), RecordError>> + Send,
{
    type State = ();

    async fn open(&self, _: &Preparation, _: Option<StateSnapshot>) -> Result<OpenedState<()>, RecordError> {
        Ok(OpenedState::empty(()))
    }

    async fn catch_up(&self, _: &TopicPartition, (): &mut (), _: &Record) -> Result<(), RecordError> {
        Ok(())
    }

    async fn process(&self, _: &PartitionContext, (): &mut (), _: &Record) -> Result<(), RecordError> {
        (self.0)().await
    }
}
