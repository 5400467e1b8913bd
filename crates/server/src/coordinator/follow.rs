//! Keeps the group's topics in line with Kafka while this instance leads.

use std::collections::BTreeSet;

use kafka_assigner_core::topics::{Denials, follow, wanted};
use kafka_assigner_store::view::Notice;
use kafka_assigner_types::name::TopicName;
use tokio::time::Instant;

use super::Coordinator;
use super::execute::{Executor, WriteOutcome};
use crate::refusal::describe;
use crate::topics::TopicSource;

impl Coordinator {
    /// Follows until it is dropped; without a source of topics it waits for ever.
    pub(super) async fn follow_topics(&self, executor: &Executor) {
        let Some(source) = self.topics.clone() else { return std::future::pending().await };
        let mut updates = self.group.view().subscribe();
        let mut denials = Denials::new(self.options.topic_refresh);
        loop {
            let asked = self.group.read(wanted);
            self.refresh(executor, &*source, &asked, &mut denials).await;
            let next = Instant::now() + self.options.topic_refresh;
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

    fn names_more(
        &self,
        notice: &Notice<kafka_assigner_core::state::Touched>,
        asked: &BTreeSet<TopicName>,
    ) -> bool {
        let may = match notice {
            Notice::Touched(touched) => touched.membership,
            Notice::Everything => true,
        };
        may && !self.group.read(wanted).is_subset(asked)
    }

    async fn refresh(
        &self,
        executor: &Executor,
        source: &dyn TopicSource,
        names: &BTreeSet<TopicName>,
        denials: &mut Denials,
    ) {
        if names.is_empty() {
            return;
        }
        let found = match source.find(names).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(group = %self.group.name(), error = describe(&error), "Kafka can't be asked");
                return;
            }
        };
        let now = self.clock.now();
        let writes = self.group.read(|state| follow(state, &found, denials, now));
        for fate in executor.carry_out(&writes).await {
            if let WriteOutcome::Failed(error) = fate {
                tracing::debug!(group = %self.group.name(), %error, "topics not written");
            }
        }
    }
}
