//! The parts that the tasks of a runner share.

use std::sync::Arc;

use kafka_assigner_handler::{CommitRule, ErrorPolicy, GapRule, RecordHandler, StartPositions};
use tokio::sync::Semaphore;

use super::client::Client;
use super::commits::Commits;
use super::dead_letters::DeadLetters;
use super::producers::FencedProducers;
use super::runner_watch::SharedWatch;
use super::snapshots::Snapshots;
use super::spans::RecordSpans;

/// The rules of a runner, as its user set them.
#[derive(Clone, Default)]
pub(super) struct RunnerRules {
    pub(super) policy: ErrorPolicy,
    pub(super) starts: StartPositions,
    pub(super) gaps: GapRule,
    pub(super) commits: CommitRule,
    /// The producers whose fences are taken before the rest of a log is read; `None` = there is none to take.
    pub(super) producers: Option<FencedProducers>,
    /// The topic for records that nobody can handle; `None` = nowhere.
    pub(super) dead_letters: Option<DeadLetters>,
    /// Makes a span for each record; `None` = there is none.
    pub(super) spans: Option<RecordSpans>,
    /// `None` = every rebuild begins where the handler says.
    pub(super) snapshots: Option<Snapshots>,
}

/// Shared by all tasks of a runner; cheap to clone.
pub(super) struct RunnerParts<H: RecordHandler> {
    pub(super) handler: Arc<H>,
    pub(super) client: Client,
    pub(super) commits: Commits,
    pub(super) permits: Arc<Semaphore>,
    pub(super) rules: Arc<RunnerRules>,
    pub(super) watch: SharedWatch<H::State>,
}

impl<H: RecordHandler> Clone for RunnerParts<H> {
    fn clone(&self) -> Self {
        Self {
            handler: self.handler.clone(),
            client: self.client.clone(),
            commits: self.commits.clone(),
            permits: self.permits.clone(),
            rules: self.rules.clone(),
            watch: self.watch.clone(),
        }
    }
}

/// True if a state of this type can be spoiled: one without a size can't be changed.
pub(super) const fn can_spoil<S>() -> bool {
    size_of::<S>() > 0
}
