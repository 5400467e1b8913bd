//! Keeps the group's topics in line with Kafka while this instance leads.

use kafka_assigner_core::state::Touched;
use kafka_assigner_core::topics::{Denials, Doubts, Found, follow, wanted};
use kafka_assigner_store::view::Notice;
use kafka_assigner_types::moment::Moment;

use super::execute::{Executor, WriteOutcome};
use super::parts::Coordinator;
use crate::topics::TopicInterest;

/// The follower of the topics of one group.
#[derive(Debug)]
pub(super) struct TopicFollower<'a> {
    coordinator: &'a Coordinator,
    executor: &'a Executor,
    denials: Denials,
    doubts: Doubts,
}

impl<'a> TopicFollower<'a> {
    pub(super) fn new(coordinator: &'a Coordinator, executor: &'a Executor) -> Self {
        // Looks come after half the interval where a topic is in doubt.
        let interval = coordinator.options.topic_refresh / 2;
        let (denials, doubts) = (Denials::new(interval), Doubts::new(interval));
        Self { coordinator, executor, denials, doubts }
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
                        self.follow(&interest, &found, at).await;
                    }
                }
            }
        }
    }

    /// Writes what follows from what Kafka said at `at`, and asks for a sooner look where that leaves something in doubt.
    async fn follow(&mut self, interest: &TopicInterest, found: &Found, at: Moment) {
        let Coordinator { group, .. } = self.coordinator;
        let Self { denials, doubts, .. } = self;
        let (writes, next) = group.read(|state| {
            let writes = follow(state, found, denials, at);
            (writes, doubts.next_look(state, denials, found, at))
        });
        if let Some(next) = next {
            interest.look_from(next);
        }
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
