//! The rules of a runner, which its user sets before it runs.

use std::num::NonZeroU64;
use std::sync::Arc;

use kafka_assigner_handler::{
    CommitRule, ErrorPolicy, GapRule, PartitionContext, Record, RecordHandler, SnapshotStore, StartPositions,
};
use kafka_assigner_types::name::TopicName;
use tracing::Span;

use super::KafkaRunner;
use crate::kafka::dead_letters::DeadLetters;
use crate::kafka::error::KafkaRunnerError;
use crate::kafka::options::KafkaOptions;
use crate::kafka::producers::FencedProducers;
use crate::kafka::runner_parts::RunnerRules;
use crate::kafka::snapshots::Snapshots;
use crate::kafka::spans::RecordSpans;

impl<H: RecordHandler> KafkaRunner<H> {
    /// Takes the fences of `producers` with each partition, before the rest of its log is read. Off without this call. A
    /// clone of them writes; see [`FencedProducers::write_for`]. A partition whose fence can't be taken does not begin.
    #[must_use]
    pub fn with_producers(self, producers: FencedProducers) -> Self {
        self.with(|rules| rules.producers = Some(producers))
    }

    /// Decides by `policy` about records that can't be handled. Without this call they are tried again for ever.
    #[must_use]
    pub fn with_policy(self, policy: ErrorPolicy) -> Self {
        self.with(|rules| rules.policy = policy)
    }

    /// Starts where `starts` say in partitions of which the group has committed nothing. Without this call at their first
    /// record.
    #[must_use]
    pub fn with_starts(self, starts: StartPositions) -> Self {
        self.with(|rules| rules.starts = starts)
    }

    /// Decides by `rule` about records that retention removed before they were read. Without this call they are passed, and
    /// the handler is told.
    #[must_use]
    pub fn with_gaps(self, rule: GapRule) -> Self {
        self.with(|rules| rules.gaps = rule)
    }

    /// Decides by `rule` what is committed. Without this call every record that was processed. With [`CommitRule::Confirmed`] an
    /// owner that is drained hands over where its records are confirmed, and the next one processes the others again: confirm
    /// them in [`RecordHandler::drained`]. A snapshot counts only once all that is in it is committed.
    #[must_use]
    pub fn with_commits(self, rule: CommitRule) -> Self {
        self.with(|rules| rules.commits = rule)
    }

    /// Has a snapshot of a state taken each time that so many of its partition's records were processed, and begins a
    /// rebuild with the last one. One that is further than what is committed does not count. Off without this call.
    #[must_use]
    pub fn with_snapshots(self, store: impl SnapshotStore, every: NonZeroU64) -> Self {
        self.with(|rules| rules.snapshots = Some(Snapshots::new(store, every)))
    }

    /// Processes each record in the span that `make` makes for it, for example [`process_span`](crate::kafka::process_span), with
    /// the parent of which the record's headers tell; a batch in that of its first record. Off without this call, since it costs
    /// something for each record.
    #[must_use]
    pub fn with_spans(
        self,
        make: impl Fn(&PartitionContext, &Record) -> Span + Send + Sync + 'static,
    ) -> Self {
        self.with(|rules| rules.spans = Some(RecordSpans::new(make)))
    }

    /// Writes records that are dead-lettered to `topic`, which must exist or be created by the brokers. Each has its key, value,
    /// headers and time, and the headers `dead_letter.topic`, `.partition`, `.offset`, `.group`, `.epoch`, `.attempts` and
    /// `.reason`. Its offset is committed only after the broker has acknowledged the letter. `options` name the brokers and the
    /// settings of security.
    ///
    /// # Errors
    ///
    /// [`KafkaRunnerError::NotBuiltIn`], [`KafkaRunnerError::Client`].
    pub fn with_dead_letters(
        self,
        options: &KafkaOptions,
        topic: TopicName,
    ) -> Result<Self, KafkaRunnerError> {
        let dead_letters = DeadLetters::new(options, topic)?;
        Ok(self.with(|rules| rules.dead_letters = Some(dead_letters)))
    }

    fn with(mut self, set: impl FnOnce(&mut RunnerRules)) -> Self {
        set(Arc::make_mut(&mut self.parts.rules));
        self
    }
}
