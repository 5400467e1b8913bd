//! Shows, adds, changes and removes the topics of a group.

use std::collections::BTreeSet;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::plan::check_sets;
use kafka_assigner_core::record::{MAX_PARTITIONS, Source, Topic, encode};
use kafka_assigner_core::state::{Entry, GroupState};
use kafka_assigner_core::topics::TopicLook;
use kafka_assigner_core::write::same_group;
use kafka_assigner_proto::v1::{
    DeleteTopicRequest, DeleteTopicResponse, ListTopicsRequest, ListTopicsResponse, SetTopicRequest,
    SetTopicResponse,
};
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::kv::{Compare, Must, Op, Txn};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::name::TopicName;
use kafka_assigner_types::topic_id::TopicId;
use tonic::Status;

use super::page::PageRequest;
use super::service::{ATTEMPTS, AdminService, lost_race};
use super::{modes, show};
use crate::group::ServedGroup;
use crate::quota;
use crate::refusal;

/// A SetTopic, checked, with the partition count that it asks for.
struct Wanted {
    name: TopicName,
    partitions: u32,
    source: Source,
    /// Its id in Kafka, where that was asked and tells it.
    id: Option<TopicId>,
    /// `None`: as it is; empty: none.
    copartition: Option<String>,
    /// `None`: as it is.
    mode: Option<ModeOverride>,
}

/// The change of a topic's mode that a SetTopic asks for.
#[derive(Clone, Copy)]
enum ModeOverride {
    /// The group's.
    ServedGroup,
    /// Its own.
    Own(Mode),
}

impl ModeOverride {
    fn named(name: &str) -> Result<Self, Status> {
        if name.is_empty() { Ok(Self::ServedGroup) } else { modes::named(name).map(Self::Own) }
    }

    const fn mode(self) -> Option<Mode> {
        match self {
            Self::ServedGroup => None,
            Self::Own(mode) => Some(mode),
        }
    }
}

impl AdminService {
    /// A page of the group's topics. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn list_topics(&self, request: ListTopicsRequest) -> Result<ListTopicsResponse, Status> {
        let page = PageRequest::new(request.page_size, request.page_token)?;
        let group = self.group(&request.group).await?;
        let (topics, next_page_token) = group.read(|state| {
            let after = state.topics().range::<str, _>(page.bounds());
            page.cut(after.map(|(name, entry)| (name.to_string(), show::topic(name, entry))))
        });
        Ok(ListTopicsResponse { topics, next_page_token })
    }

    /// Adds a topic to a group, or changes it. Cancel safe: repeating it is harmless.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn set_topic(&self, request: SetTopicRequest) -> Result<SetTopicResponse, Status> {
        let wanted = self.wanted(request.topic.unwrap_or_default()).await?;
        for _ in 0..ATTEMPTS {
            let group = self.current(&request.group).await?;
            let quotas = self.instance.options().quotas;
            let change = group.read(|state| {
                quota::check_partitions(quotas, state, (&wanted.name, wanted.partitions))?;
                wanted.change(state)
            })?;
            if let Some(txn) = change.txn
                && !self.instance.change(&group, txn).await?
            {
                continue;
            }
            tracing::info!(group = %group.name(), topic = %wanted.name, "topic set by an operator");
            let topic = group.read(|state| shown(state, &wanted.name));
            return Ok(SetTopicResponse { topic, created: change.creates });
        }
        Err(lost_race(&format!("topic {}", wanted.name)))
    }

    async fn wanted(&self, topic: kafka_assigner_proto::v1::Topic) -> Result<Wanted, Status> {
        let name = TopicName::new(&topic.topic).map_err(|e| refusal::name(&e))?;
        let copartition = topic.copartition.map(label).transpose()?;
        let mode = topic.mode.as_deref().map(ModeOverride::named).transpose()?;
        let (look, source) = match topic.partitions {
            0 => (self.ask_kafka(&name).await?, Source::Kafka),
            partitions @ 1..=MAX_PARTITIONS => (TopicLook::new(partitions), Source::Static),
            partitions => {
                let message =
                    format!("partitions = {partitions} is refused: it must be 0 to {MAX_PARTITIONS}");
                return Err(refusal::field(message));
            }
        };
        let TopicLook { partitions, id } = look;
        Ok(Wanted { name, partitions: partitions.min(MAX_PARTITIONS), source, id, copartition, mode })
    }

    async fn ask_kafka(&self, name: &TopicName) -> Result<TopicLook, Status> {
        let Some(source) = self.instance.topics() else {
            let message = format!("this service does not know Kafka: say how many partitions {name} has");
            return Err(status(Reason::KafkaNotConfigured, message));
        };
        let asked = source.find(&BTreeSet::from([name.clone()])).await;
        let found = asked.map_err(|e| status(Reason::KafkaUnavailable, refusal::describe(&e)))?;
        match found.get(name) {
            Some(Some(look)) => Ok(*look),
            Some(None) => Err(status(Reason::TopicNotFound, format!("Kafka has no topic {name}"))),
            None => {
                let message = format!("Kafka can't say how many partitions {name} has just now; try again");
                Err(status(Reason::KafkaUnavailable, message))
            }
        }
    }

    /// Takes a topic out of a group. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn delete_topic(&self, request: DeleteTopicRequest) -> Result<DeleteTopicResponse, Status> {
        let name = TopicName::new(&request.topic).map_err(|e| refusal::name(&e))?;
        for _ in 0..ATTEMPTS {
            let group = self.current(&request.group).await?;
            let txn = group.read(|state| removal(state, &name)).ok_or_else(|| not_found(&group, &name))?;
            if self.instance.change(&group, txn).await? {
                tracing::info!(group = %group.name(), topic = %name, "topic removed by an operator");
                return Ok(DeleteTopicResponse {});
            }
        }
        Err(lost_race(&format!("topic {name}")))
    }
}

/// The result of a SetTopic.
struct TopicWrite {
    /// `None`: the topic is as it should be.
    txn: Option<Txn>,
    creates: bool,
}

impl Wanted {
    fn change(&self, state: &GroupState) -> Result<TopicWrite, Status> {
        let (before, must) = match state.topics().get(&self.name) {
            None => (None, Must::BeAbsent),
            Some(Entry::Readable(topic)) => (Some(&**topic), Must::HaveModRevision(topic.mod_revision)),
            Some(Entry::Unreadable(_)) => {
                let message = format!("the record of topic {} can't be read: delete it first", self.name);
                return Err(status(Reason::RecordUnreadable, message));
            }
        };
        let topic = self.applied_to(before)?;
        if let Some(label) = &topic.copartition {
            check_sets(state, &self.name, label).map_err(|e| refusal::field(e.to_string()))?;
        }
        if before.is_none_or(|before| before.mode != topic.mode) {
            self.refuse_mode(state, before, &topic)?;
        }
        let txn = (before != Some(&topic)).then(|| {
            let key = state.layout().encode(&Key::Topic(self.name.clone()));
            let guards = vec![Compare::new(key.clone(), must), same_group(state)];
            Txn::guarded(guards, vec![Op::put(key, encode(&topic))])
        });
        Ok(TopicWrite { txn, creates: before.is_none() })
    }

    /// A topic that was not there is as strict as any: it may be one that was deleted.
    fn refuse_mode(&self, state: &GroupState, before: Option<&Topic>, after: &Topic) -> Result<(), Status> {
        let mode = |topic: &Topic| topic.mode.unwrap_or_else(|| state.configured(|config| config.mode));
        let (before, after) = (before.map_or(Mode::Routed, mode), mode(after));
        modes::refuse_lacking(state, |consumer| consumer.subscribes(&self.name).then_some(after))?;
        modes::refuse_weaker(state, |consumer| consumer.subscribes(&self.name).then_some((before, after)))
    }

    fn applied_to(&self, before: Option<&Topic>) -> Result<Topic, Status> {
        let has = before.map_or(0, |topic| topic.partitions);
        if self.partitions < has {
            let message = format!(
                "topic {} has {has} partitions and can't have only {}: Kafka can't shrink a topic either",
                self.name, self.partitions
            );
            return Err(status(Reason::TopicShrinks, message));
        }
        let mut topic = before.cloned().unwrap_or_else(|| Topic::new(self.partitions, self.source));
        (topic.partitions, topic.source) = (self.partitions, self.source);
        topic.topic_id = topic.topic_id.or_else(|| self.id.map(|id| id.to_string()));
        if let Some(label) = &self.copartition {
            topic.copartition = (!label.is_empty()).then(|| label.clone());
        }
        if let Some(wanted) = self.mode {
            topic.mode = wanted.mode();
        }
        Ok(topic)
    }
}

/// A label obeys the rule for names, or is empty.
fn label(text: String) -> Result<String, Status> {
    if !text.is_empty() {
        TopicName::new(&text)
            .map_err(|e| refusal::field(format!("copartition = {text:?} is refused: {e}")))?;
    }
    Ok(text)
}

fn removal(state: &GroupState, name: &TopicName) -> Option<Txn> {
    let entry = state.topics().get(name)?;
    let key = state.layout().encode(&Key::Topic(name.clone()));
    let guard = Compare::new(key.clone(), Must::HaveModRevision(entry.mod_revision()));
    Some(Txn::guarded(vec![guard], vec![Op::delete(key)]))
}

fn not_found(group: &ServedGroup, name: &TopicName) -> Status {
    status(Reason::TopicNotFound, format!("group {} has no topic {name}", group.name()))
}

fn shown(state: &GroupState, name: &TopicName) -> Option<kafka_assigner_proto::v1::Topic> {
    state.topics().get(name).map(|entry| show::topic(name, entry))
}
