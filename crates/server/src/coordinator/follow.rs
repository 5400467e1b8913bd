//! Keeps the group's topics in line with Kafka while this instance leads.

use kafka_assigner_core::state::Touched;
use kafka_assigner_core::topics::{Denials, Found, follow, wanted};
use kafka_assigner_store::view::Notice;
use kafka_assigner_types::moment::Moment;

use super::execute::{Executor, WriteOutcome};
use super::parts::Coordinator;

/// The follower of the topics of one group.
#[derive(Debug)]
pub(super) struct TopicFollower<'a> {
    coordinator: &'a Coordinator,
    executor: &'a Executor,
    denials: Denials,
}

impl<'a> TopicFollower<'a> {
    pub(super) fn new(coordinator: &'a Coordinator, executor: &'a Executor) -> Self {
        // Looks come after half the interval where a topic is denied.
        let denials = Denials::new(coordinator.options.topic_refresh / 2);
        Self { coordinator, executor, denials }
    }

    /// Follows until it is dropped; without a source of topics it waits for ever.
    pub(super) async fn run(mut self) {
        let Coordinator { group, topics, .. } = self.coordinator;
        let Some(board) = topics else { return std::future::pending().await };
        let (mut updates, mut interest) = (group.view().subscribe(), board.interest());
        interest.want(group.read(wanted));
        loop {
            tokio::select! {
                biased;
                // A consumer that names another topic should not wait for the next look.
                notice = updates.next() => match notice {
                    Some(notice) if may_want_others(&notice) => interest.want(group.read(wanted)),
                    Some(_) => {}
                    None => return,
                },
                news = interest.news() => {
                    for (at, found) in news {
                        self.follow(&found, at).await;
                    }
                }
            }
        }
    }

    /// Writes what follows from what Kafka said at `at`.
    async fn follow(&mut self, found: &Found, at: Moment) {
        let Coordinator { group, .. } = self.coordinator;
        let writes = group.read(|state| follow(state, found, &mut self.denials, at));
        for fate in self.executor.carry_out(&writes).await {
            if let WriteOutcome::Failed(error) = fate {
                tracing::debug!(group = %group.name(), %error, "topics not written");
            }
        }
    }
}

fn may_want_others(notice: &Notice<Touched>) -> bool {
    match notice {
        Notice::Touched(touched) => touched.membership || touched.topics,
        Notice::Everything => true,
    }
}
