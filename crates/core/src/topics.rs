//! The group's topics against what Kafka says of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::draft::Draft;
use crate::key::Key;
use crate::name::TopicName;
use crate::record::{MAX_PARTITIONS, Source, Topic, encode};
use crate::state::{Entry, GroupState};
use crate::write::Write;

/// How many times in a row Kafka must deny a topic before it counts as deleted: brokers that start up or fail
/// over deny topics for a moment, and a topic wrongly given up costs every owner its state.
pub const DENIALS: u32 = 3;

/// What Kafka says of the topics that it was asked about: the partition count, or that there is no such topic.
/// A topic about which it said nothing is missing.
pub type Found = BTreeMap<TopicName, Option<u32>>;

/// How often in a row Kafka has denied a topic that the group has.
#[derive(Debug, Clone, Default)]
pub struct Denials(BTreeMap<TopicName, u32>);

/// The topics that a leader asks Kafka about: those that consumers name, and those that came from there.
#[must_use]
pub fn wanted(state: &GroupState) -> BTreeSet<TopicName> {
    let named =
        state.consumers().values().filter_map(Entry::last_good).flat_map(|c| c.topics.iter().cloned());
    let known = state.topics().iter().filter(|(_, entry)| is_from_kafka(entry)).map(|(name, _)| name.clone());
    named.chain(known).collect()
}

fn is_from_kafka(entry: &Entry<Topic>) -> bool {
    entry.last_good().is_some_and(|topic| topic.source == Source::Kafka)
}

/// The writes that bring the group's topics in line with what Kafka says.
///
/// A topic grows and never shrinks; one that an operator set stays as it is; one whose record can't be read is
/// left alone.
pub fn follow(state: &GroupState, found: &Found, denials: &mut Denials) -> Vec<Write> {
    denials.count(state, found);
    found.iter().filter_map(|(name, partitions)| follow_one(state, name, *partitions, denials)).collect()
}

fn follow_one(
    state: &GroupState,
    name: &TopicName,
    partitions: Option<u32>,
    denials: &Denials,
) -> Option<Write> {
    let key = Key::Topic(name.clone());
    let mut draft = Draft::on(state);
    match (state.topics().get(name), partitions.map(|count| count.min(MAX_PARTITIONS))) {
        (None, Some(count)) if count > 0 => draft.put(&key, encode(&Topic::new(count, Source::Kafka))),
        (Some(Entry::Readable(topic)), Some(count)) if grows(topic, count) => {
            draft.put(&key, encode(&Topic { partitions: count, ..Topic::clone(topic) }));
        }
        (Some(Entry::Readable(topic)), None) if topic.source == Source::Kafka && denials.is_gone(name) => {
            draft.delete(&key);
        }
        _ => return None,
    }
    Some(draft.unchanged(&key).into_write())
}

fn grows(topic: &Topic, count: u32) -> bool {
    topic.source == Source::Kafka && count > topic.partitions
}

impl Denials {
    fn count(&mut self, state: &GroupState, found: &Found) {
        self.0.retain(|name, _| state.topics().contains_key(name));
        for (name, partitions) in found {
            match partitions {
                Some(_) => drop(self.0.remove(name)),
                None if state.topics().contains_key(name) => *self.0.entry(name.clone()).or_default() += 1,
                None => {}
            }
        }
    }

    fn is_gone(&self, name: &TopicName) -> bool {
        self.0.get(name).is_some_and(|denials| *denials >= DENIALS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{DEFAULT_PREFIX, Layout};
    use crate::kv::{Change, LeaseId, Op, Record, Revision};

    fn topic(name: &str) -> TopicName {
        name.parse().unwrap()
    }

    fn with(partitions: u32, source: Source) -> GroupState {
        let layout = Layout::new(DEFAULT_PREFIX, "g".parse().unwrap());
        let record = Record {
            key: layout.encode(&Key::Topic(topic("t"))),
            value: encode(&Topic::new(partitions, source)),
            create_revision: Revision(1),
            mod_revision: Revision(1),
            lease: LeaseId::NONE,
        };
        let mut state = GroupState::new(layout);
        let _touched = state.apply(&[Change::Put(record)], Revision(1));
        state
    }

    fn says(partitions: Option<u32>) -> Found {
        Found::from([(topic("t"), partitions)])
    }

    #[test]
    fn a_topic_grows_with_kafka_and_never_shrinks() {
        let state = with(4, Source::Kafka);
        let mut denials = Denials::default();
        assert_eq!(follow(&state, &says(Some(6)), &mut denials).len(), 1);
        assert!(follow(&state, &says(Some(4)), &mut denials).is_empty());
        assert!(follow(&state, &says(Some(2)), &mut denials).is_empty());
    }

    #[test]
    fn a_static_topic_stays_whatever_kafka_says() {
        let state = with(4, Source::Static);
        let mut denials = Denials::default();
        for said in [Some(9), None, None, None, None] {
            assert!(follow(&state, &says(said), &mut denials).is_empty());
        }
    }

    #[test]
    fn only_denials_in_a_row_delete_a_topic() {
        let state = with(4, Source::Kafka);
        let mut denials = Denials::default();
        for said in [None, None, Some(4), None, None] {
            assert!(follow(&state, &says(said), &mut denials).is_empty());
        }
        let writes = follow(&state, &says(None), &mut denials);
        assert!(matches!(&writes[0].ops[..], [Op::Delete { .. }]));
    }

    #[test]
    fn silence_denies_nothing() {
        let state = with(4, Source::Kafka);
        let mut denials = Denials::default();
        for _ in 0..5 {
            assert!(follow(&state, &Found::new(), &mut denials).is_empty());
        }
    }
}
