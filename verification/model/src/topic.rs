//! Topics that are deleted and created again under their names, and what the service sees of that.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_core::state::GroupState;
use kafka_assigner_core::topics::{DENIALS, Denials, Found, OTHER_IDS, TopicLook, follow};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::topic_id::TopicId;

use crate::log::Log;
use crate::world::World;

/// The shortest time between two looks at Kafka that both count.
const REFRESH: Duration = Duration::from_secs(10);

/// Kafka's answer about the topics, given so often that it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Look {
    /// There are none.
    Gone,
    /// They have their present ids.
    Here,
}

/// The id of the topic that is the `number`th of its name, from 0.
#[must_use]
pub(crate) fn topic_id(number: u8) -> Option<TopicId> {
    TopicId::new([number + 1; 16])
}

/// The topics of partitions, as a member is told of them with their roles: each by its number under its name.
#[must_use]
pub(crate) fn told<'a>(
    state: &GroupState,
    of: impl Iterator<Item = &'a TopicPartition>,
) -> BTreeMap<TopicPartition, u8> {
    let number = |at: &TopicPartition| Some(state.topic_id(&at.topic)?.bytes()[0] - 1);
    of.filter_map(|at| Some((at.clone(), number(at)?))).collect()
}

impl World {
    /// Kafka has other topics under the names. Their logs are empty; nobody who works on them knows.
    pub(crate) fn recreate_topics(&mut self) {
        self.left.returns -= 1;
        for log in self.logs.values_mut() {
            *log = Log { topic: log.topic + 1, sink: log.sink, ..Log::default() };
        }
    }

    /// True if the group has, of each topic, what Kafka has.
    pub(crate) fn knows_its_topics(&self) -> bool {
        self.logs.iter().all(|(at, log)| {
            self.now.state.exists(at) && self.now.state.topic_id(&at.topic) == topic_id(log.topic)
        })
    }

    /// The service has looked as often as it takes to believe what it sees, and writes what follows.
    pub(crate) fn look_at_kafka(&mut self, look: Look) -> Option<()> {
        let found = self.found(look);
        let (mut denials, mut writes) = (Denials::new(REFRESH), Vec::new());
        for number in 0..DENIALS.max(OTHER_IDS) {
            writes = follow(&self.now.state, &found, &mut denials, Moment(REFRESH * number));
        }
        let written = writes.into_iter().filter(|write| self.apply(&write.clone().unfenced())).count();
        (written > 0).then_some(())
    }

    fn found(&self, look: Look) -> Found {
        let mut found = Found::new();
        for (at, log) in &self.logs {
            let seen = TopicLook { partitions: at.partition + 1, id: topic_id(log.topic) };
            // The last one of a topic tells how many there are.
            found.insert(at.topic.clone(), (look == Look::Here).then_some(seen));
        }
        found
    }
}
