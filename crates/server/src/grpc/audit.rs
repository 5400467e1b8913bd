//! The audit of operators' changes: one line in the log for each, with who asked, what, and the subject before and after.

use kafka_assigner_core::record::encode;
use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_proto::v1;
use kafka_assigner_types::name::TopicName;
use tonic::Status;

use crate::admin::AdminService;

/// The target of these lines, for filters of logs.
const TARGET: &str = "kafka_assigner::audit";

/// The most characters of a request, and of a record, in one line.
const MOST_TEXT: usize = 2_000;

/// A request that changes something.
pub(super) trait Change: std::fmt::Debug {
    /// The group that it names.
    fn group(&self) -> &str;

    /// The record that it changes, as the view shows it; `None` where there is none, or many are changed.
    fn subject(&self, state: &GroupState) -> Option<String> {
        let _many = state;
        None
    }
}

impl Change for v1::SetGroupConfigRequest {
    fn group(&self) -> &str {
        &self.group
    }

    fn subject(&self, state: &GroupState) -> Option<String> {
        state.config_entry().and_then(Entry::readable).map(|config| text(&encode(&**config)))
    }
}

impl Change for v1::DeleteGroupRequest {
    fn group(&self) -> &str {
        &self.group
    }

    fn subject(&self, state: &GroupState) -> Option<String> {
        state.config_entry().and_then(Entry::readable).map(|config| text(&encode(&**config)))
    }
}

impl Change for v1::SetTopicRequest {
    fn group(&self) -> &str {
        &self.group
    }

    fn subject(&self, state: &GroupState) -> Option<String> {
        topic(state, self.topic.as_ref().map_or("", |topic| &topic.topic))
    }
}

impl Change for v1::DeleteTopicRequest {
    fn group(&self) -> &str {
        &self.group
    }

    fn subject(&self, state: &GroupState) -> Option<String> {
        topic(state, &self.topic)
    }
}

impl Change for v1::AbortHandoffRequest {
    fn group(&self) -> &str {
        &self.group
    }
}

impl Change for v1::ResumePartitionRequest {
    fn group(&self) -> &str {
        &self.group
    }
}

impl Change for v1::EndConsumerRequest {
    fn group(&self) -> &str {
        &self.group
    }
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

/// Carries out a change, and writes its line: refused ones too, since somebody tried.
pub(super) async fn audited<C: Change, T>(
    service: &AdminService,
    (actor, call): (&str, &'static str),
    change: &C,
    carry_out: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    let before = service.shown(change.group(), |state| change.subject(state)).await;
    let answered = carry_out.await;
    let after = service.shown(change.group(), |state| change.subject(state)).await;
    let (group, asked) = (change.group(), cut(&format!("{change:?}")));
    match &answered {
        Ok(_) => tracing::info!(target: TARGET, actor, call, group, asked, before, after, "changed"),
        Err(refused) => {
            let (code, why) = (refused.code(), refused.message());
            tracing::info!(target: TARGET, actor, call, group, asked, before, ?code, why, "not changed");
        }
    }
    answered
}
