//! The audit of operators' changes: one line in the log for each, with who asked, what, and the subject before and after.

use kafka_assigner_core::record::encode;
use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_proto::{Reason, status, v1};
use kafka_assigner_types::name::TopicName;
use tonic::Status;

use crate::admin::AdminService;

/// The target of these lines, for filters of logs.
pub const AUDIT_TARGET: &str = "kafka_assigner::audit";

/// The most characters of a request, and of a record, in one line.
const MOST_TEXT: usize = 2_000;

/// The record that a change is about.
pub(super) enum Subject<'a> {
    /// The configuration of a group.
    Config { group: &'a str },
    /// A topic of a group.
    Topic { group: &'a str, topic: &'a str },
    /// More than one record, or one that tells nothing.
    None,
}

impl Subject<'_> {
    /// The record as the view shows it: another change at the same moment may be in it.
    async fn shown(&self, service: &AdminService) -> Option<String> {
        match self {
            Self::Config { group } => service.shown(group, config).await,
            Self::Topic { group, topic } => service.shown(group, |state| self::topic(state, topic)).await,
            Self::None => None,
        }
    }
}

/// A request that changes something.
pub(super) trait Change: std::fmt::Debug {
    /// The record that it is about.
    fn subject(&self) -> Subject<'_> {
        Subject::None
    }
}

impl Change for v1::SetGroupConfigRequest {
    fn subject(&self) -> Subject<'_> {
        Subject::Config { group: &self.group }
    }
}

impl Change for v1::DeleteGroupRequest {
    fn subject(&self) -> Subject<'_> {
        Subject::Config { group: &self.group }
    }
}

impl Change for v1::SetTopicRequest {
    fn subject(&self) -> Subject<'_> {
        let topic = self.topic.as_ref().map_or("", |topic| &topic.topic);
        Subject::Topic { group: &self.group, topic }
    }
}

impl Change for v1::DeleteTopicRequest {
    fn subject(&self) -> Subject<'_> {
        Subject::Topic { group: &self.group, topic: &self.topic }
    }
}

impl Change for v1::AbortHandoffRequest {}

impl Change for v1::ResumePartitionRequest {}

impl Change for v1::EndConsumerRequest {}

fn config(state: &GroupState) -> Option<String> {
    state.config_entry().and_then(Entry::readable).map(|config| text(&encode(&**config)))
}

fn topic(state: &GroupState, name: &str) -> Option<String> {
    let name = TopicName::new(name).ok()?;
    state.topics().get(&name).and_then(Entry::readable).map(|topic| text(&encode(&**topic)))
}

fn text(record: &[u8]) -> String {
    cut(&String::from_utf8_lossy(record))
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_TEXT).collect()
}

/// The line of one change.
pub(super) struct AuditLine<C> {
    actor: String,
    call: &'static str,
    change: C,
}

impl<C: Change> AuditLine<C> {
    /// The line of `change`, which `actor` asked for by `call`.
    pub(super) fn new(actor: &str, call: &'static str, change: C) -> Self {
        Self { actor: actor.to_owned(), call, change }
    }

    /// Carries the change out, and writes its line: of refused ones too, since somebody tried.
    pub(super) async fn audit<T>(
        self,
        service: &AdminService,
        carry_out: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Status> {
        let before = self.change.subject().shown(service).await;
        let answered = carry_out.await;
        let after = self.change.subject().shown(service).await;
        let Self { actor, call, change } = self;
        let asked = cut(&format!("{change:?}"));
        match &answered {
            Ok(_) => tracing::info!(target: AUDIT_TARGET, actor, call, asked, before, after, "changed"),
            Err(refused) => {
                let (code, why) = (refused.code(), refused.message());
                tracing::info!(target: AUDIT_TARGET, actor, call, asked, before, ?code, why, "not changed");
            }
        }
        answered
    }
}

/// The answer to a change whose task panicked.
pub(super) fn panicked() -> Status {
    status(
        Reason::Internal,
        "the change panicked: nobody knows whether it was carried out; look, and ask again",
    )
}
