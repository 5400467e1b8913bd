//! Keeps the group's topics in line with Kafka while this instance leads.

use std::collections::BTreeSet;

use kafka_assigner_core::state::Touched;
use kafka_assigner_core::topics::{Denials, follow, wanted};
use kafka_assigner_store::view::Notice;
use kafka_assigner_types::name::TopicName;
use tokio::time::Instant;

use super::execute::{Executor, WriteOutcome};
use super::parts::Coordinator;
use crate::refusal::describe;
use crate::topics::TopicSource;

/// The follower of the topics of one group.
#[derive(Debug)]
pub(super) struct TopicFollower<'a> {
    coordinator: &'a Coordinator,
    executor: &'a Executor,
    denials: Denials,
}

impl<'a> TopicFollower<'a> {
    pub(super) fn new(coordinator: &'a Coordinator, executor: &'a Executor) -> Self {
        Self { coordinator, executor, denials: Denials::new(coordinator.options.topic_refresh) }
    }

    /// Follows until it is dropped; without a source of topics it waits for ever.
    pub(super) async fn run(mut self) {
        let Coordinator { group, options, topics, .. } = self.coordinator;
        let Some(source) = topics else { return std::future::pending().await };
        let mut updates = group.view().subscribe();
        loop {
            let asked = group.read(wanted);
            self.refresh(&**source, &asked).await;
            let next = Instant::now() + options.topic_refresh;
            loop {
                tokio::select! {
                    biased;
                    // A consumer that names a topic nobody asked for yet should not wait for the refresh.
                    notice = updates.next() => match notice {
                        Some(notice) if self.names_more(&notice, &asked) => break,
                        Some(_) => {}
                        None => return,
                    },
                    () = tokio::time::sleep_until(next) => break,
                }
            }
        }
    }

    fn names_more(&self, notice: &Notice<Touched>, asked: &BTreeSet<TopicName>) -> bool {
        let may = match notice {
            Notice::Touched(touched) => touched.membership,
            Notice::Everything => true,
        };
        may && !self.coordinator.group.read(wanted).is_subset(asked)
    }

    async fn refresh(&mut self, source: &dyn TopicSource, names: &BTreeSet<TopicName>) {
        if names.is_empty() {
            return;
        }
        let Coordinator { group, clock, .. } = self.coordinator;
        let found = match source.find(names).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(group = %group.name(), error = describe(&error), "Kafka can't be asked");
                return;
            }
        };
        let now = clock.now();
        let writes = group.read(|state| follow(state, &found, &mut self.denials, now));
        for fate in self.executor.carry_out(&writes).await {
            if let WriteOutcome::Failed(error) = fate {
                tracing::debug!(group = %group.name(), %error, "topics not written");
            }
        }
    }
}
