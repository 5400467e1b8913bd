//! The names on a command line: where the instance knows none of them, the error says which one was probably meant.

use kafka_assigner_proto::{Reason, ReasonExt as _};

use super::connected::Admin;
use crate::command_error::CommandError;
use crate::suggestion::did_you_mean;

/// The names of existing things that an operator typed.
#[derive(Debug, Clone, Default)]
pub(crate) struct TypedNames {
    /// The group; `None` = the command concerns all of them.
    pub(crate) group: Option<String>,
    /// The topic of the group.
    pub(crate) topic: Option<String>,
    /// Consumers of the group.
    pub(crate) consumers: Vec<String>,
}

impl TypedNames {
    /// The failure with the group that it concerns, for its hint, and where a name is unknown, with the one that it is
    /// most like. The second costs another call, and is left out where that fails.
    pub(crate) async fn complete(self, admin: &Admin, failure: CommandError) -> CommandError {
        let CommandError::Refused { status, .. } = failure else { return failure };
        let alike = match status.reason() {
            Some(reason) => self.meant(admin, reason).await.unwrap_or_default(),
            None => String::new(),
        };
        CommandError::Refused { status, group: self.group, alike }
    }

    async fn meant(&self, admin: &Admin, unknown: Reason) -> Option<String> {
        let group = self.group.as_deref()?;
        match unknown {
            Reason::GroupNotFound => {
                let known = admin.groups().await.ok()?.into_iter().map(|group| group.group);
                alike(std::slice::from_ref(self.group.as_ref()?), &known.collect::<Vec<_>>())
            }
            Reason::TopicNotFound
            | Reason::PartitionNotFound
            | Reason::PartitionNotStopped
            | Reason::HandoffNotFound => {
                let known = admin.topics(group).await.ok()?.into_iter().map(|topic| topic.topic);
                alike(std::slice::from_ref(self.topic.as_ref()?), &known.collect::<Vec<_>>())
            }
            Reason::ConsumerNotFound => {
                let known = admin.consumers(group).await.ok()?.into_iter().map(|consumer| consumer.name);
                alike(&self.consumers, &known.collect::<Vec<_>>())
            }
            _ => None,
        }
    }
}

/// The known name that the first unknown one is most like, as the end of a message.
fn alike(typed: &[String], known: &[String]) -> Option<String> {
    let unknown = typed.iter().find(|name| !known.contains(name))?;
    Some(did_you_mean(unknown, known.iter().map(String::as_str)))
}
