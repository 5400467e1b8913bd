//! The group's topics against what Kafka says of them.

mod doubts;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::draft::Draft;
use crate::key::Key;
use crate::record::{MAX_PARTITIONS, Source, Topic, encode};
use crate::state::{Entry, GroupState};
use crate::write::{Write, same_group};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::TopicName;
use kafka_assigner_types::topic_id::TopicId;

pub use doubts::{Doubts, SOONER_LOOKS};

/// The number of times in a row, each half a refresh after the one before, that Kafka must deny a topic before it counts as
/// deleted: brokers that start up or fail over deny topics for a moment, and a topic wrongly given up costs every owner its
/// state.
pub const DENIALS: u32 = 3;

/// Kafka's answer about each topic, or that there is no such topic. A topic about which it said nothing is missing.
pub type Found = BTreeMap<TopicName, Option<TopicLook>>;

/// A topic as Kafka shows it at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicLook {
    /// The number of its partitions.
    pub partitions: u32,
    /// Its id; `None` where Kafka tells none (before 2.8): it is not known then.
    pub id: Option<TopicId>,
}

impl TopicLook {
    /// A topic of `partitions` partitions whose id is not known.
    #[must_use]
    pub const fn new(partitions: u32) -> Self {
        Self { partitions, id: None }
    }
}

/// The number of times in a row, each half a refresh after the one before, that Kafka must tell another id of a topic before
/// the one that the group has counts as deleted: a broker with old metadata tells the former id for a moment.
pub const OTHER_IDS: u32 = 2;

/// The number of times in a row that Kafka has denied a topic of the group, or told another id of it.
#[derive(Debug, Clone)]
pub struct Denials {
    interval: Duration,
    of: BTreeMap<TopicName, Denied>,
}

#[derive(Debug, Clone, Copy)]
struct Denied {
    /// The id that was told in place of the one that the group has; `None` = that there is no such topic.
    other: Option<TopicId>,
    times: u32,
    /// The time of the last of them that counted.
    last: Moment,
}

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
/// A topic grows and never shrinks, and its id is learnt once. One with another id is another topic: the record, with all
/// that was set for the name, loses the partitions of the former one, so that their owners give them up, and a later look
/// writes those of the new one. A topic that an operator set stays as it is; one whose record can't be read is left
/// alone. `now` is when Kafka answered.
pub fn follow(state: &GroupState, found: &Found, denials: &mut Denials, now: Moment) -> Vec<Write> {
    denials.count(state, found, now);
    found.iter().filter_map(|(name, look)| follow_one(state, name, *look, denials)).collect()
}

fn follow_one(
    state: &GroupState,
    name: &TopicName,
    look: Option<TopicLook>,
    denials: &Denials,
) -> Option<Write> {
    let key = Key::Topic(name.clone());
    let mut draft = Draft::on(state);
    match (state.topics().get(name), look) {
        (None, Some(look)) if look.partitions > 0 => {
            draft.put(&key, encode(&as_seen(Topic::new(0, Source::Kafka), look)));
        }
        (Some(Entry::Readable(topic)), None) if topic.source == Source::Kafka && denials.is_gone(name) => {
            draft.delete(&key);
        }
        (Some(Entry::Readable(topic)), Some(_)) if topic.source == Source::Kafka && denials.is_gone(name) => {
            let since = Some(state.revision());
            draft.put(&key, encode(&Topic { partitions: 0, topic_id: None, since, ..Topic::clone(topic) }));
        }
        (Some(Entry::Readable(topic)), Some(_)) if topic.partitions == 0 && !is_forgotten(state, name) => {
            return None;
        }
        (Some(Entry::Readable(topic)), Some(look)) if tells_more(topic, look) => {
            draft.put(&key, encode(&as_seen(Topic::clone(topic), look)));
        }
        _ => return None,
    }
    let mut write = draft.unchanged(&key).into_write();
    write.guards.push(same_group(state));
    Some(write)
}

/// True if the record of a topic of Kafka waits for the partitions of the topic that has taken its place.
fn is_emptied(entry: &Entry<Topic>) -> bool {
    is_from_kafka(entry) && entry.last_good().is_some_and(|topic| topic.partitions == 0)
}

/// True if nothing is left of an earlier topic of that name that its owners might go on with: in the stricter modes they
/// are granted anew by the record's revision, in `overlap` the assignments have to be gone first.
fn is_forgotten(state: &GroupState, name: &TopicName) -> bool {
    let all = TopicPartition::new(name.clone(), 0)..=TopicPartition::new(name.clone(), u32::MAX);
    let mut left = state.assignments().range(all).map(|(_, entry)| entry.last_good());
    left.all(|assignment| assignment.is_some_and(|assignment| assignment.mode.is_strict()))
}

/// The id that `look` tells in place of the known one of `topic`.
fn other_id(topic: &Topic, look: TopicLook) -> Option<TopicId> {
    let known: TopicId = topic.topic_id.as_ref()?.parse().ok()?;
    look.id.filter(|id| *id != known)
}

fn tells_more(topic: &Topic, look: TopicLook) -> bool {
    let is_same = other_id(topic, look).is_none();
    is_same && topic.source == Source::Kafka && as_seen(topic.clone(), look) != *topic
}

/// `topic` with what `look` adds: partitions, and an id where none is known.
fn as_seen(mut topic: Topic, look: TopicLook) -> Topic {
    topic.partitions = topic.partitions.max(look.partitions.min(MAX_PARTITIONS));
    topic.topic_id = topic.topic_id.or_else(|| look.id.map(|id| id.to_string()));
    topic
}

impl Denials {
    /// None yet. A denial counts once `interval`, the shortest between two refreshes, has passed since the last one that
    /// counted: whoever asks more often is told of the same moment again.
    #[must_use]
    pub const fn new(interval: Duration) -> Self {
        Self { interval, of: BTreeMap::new() }
    }

    fn count(&mut self, state: &GroupState, found: &Found, now: Moment) {
        self.of.retain(|name, _| state.topics().contains_key(name));
        for (name, look) in found {
            let Some(known) = state.topics().get(name) else { continue };
            let other = look.map(|look| known.last_good().and_then(|topic| other_id(topic, look)));
            match other {
                Some(None) => drop(self.of.remove(name)),
                other => self.deny(name, other.flatten(), now),
            }
        }
    }

    /// Another answer than the one before begins a count of its own.
    fn deny(&mut self, name: &TopicName, other: Option<TopicId>, now: Moment) {
        let before = self.of.get(name).filter(|denied| denied.other == other);
        let times = match before {
            Some(denied) if now.since(denied.last) < self.interval => return,
            Some(denied) => denied.times + 1,
            None => 1,
        };
        self.of.insert(name.clone(), Denied { other, times, last: now });
    }

    /// True if it is not clear yet what became of a topic that came from Kafka: it was denied, or told with another id, and
    /// not often enough; or its record has no partitions yet.
    fn is_in_doubt(&self, state: &GroupState, name: &TopicName) -> bool {
        let is_open = |entry: &Entry<Topic>| self.of.contains_key(name) || is_emptied(entry);
        state.topics().get(name).is_some_and(|entry| is_from_kafka(entry) && is_open(entry))
    }

    fn is_gone(&self, name: &TopicName) -> bool {
        self.of
            .get(name)
            .is_some_and(|denied| denied.times >= if denied.other.is_some() { OTHER_IDS } else { DENIALS })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{DEFAULT_PREFIX, Layout};
    use kafka_assigner_types::kv::{Change, LeaseId, Op, Record, Revision};

    fn topic(name: &str) -> TopicName {
        name.parse().unwrap()
    }

    fn layout() -> Layout {
        Layout::new(DEFAULT_PREFIX, "g".parse().unwrap())
    }

    pub(super) fn with(partitions: u32, source: Source) -> GroupState {
        with_topic(&Topic::new(partitions, source))
    }

    pub(super) fn with_topic(known: &Topic) -> GroupState {
        let layout = layout();
        let record = Record {
            key: layout.encode(&Key::Topic(topic("t"))),
            value: encode(known),
            create_revision: Revision(1),
            mod_revision: Revision(1),
            lease: LeaseId::NONE,
        };
        let mut state = GroupState::new(layout);
        let _touched = state.apply(&[Change::Put(record)], Revision(1));
        state
    }

    pub(super) fn says(partitions: Option<u32>) -> Found {
        Found::from([(topic("t"), partitions.map(TopicLook::new))])
    }

    const REFRESH: Duration = Duration::from_secs(10);

    /// The writes after Kafka's `answers`, one every `interval`.
    fn after(state: &GroupState, answers: &[Found], interval: Duration) -> Vec<Vec<Write>> {
        let mut denials = Denials::new(REFRESH);
        let moments = (1..).map(|n| Moment(interval * n));
        answers.iter().zip(moments).map(|(found, now)| follow(state, found, &mut denials, now)).collect()
    }

    #[test]
    fn a_topic_grows_with_kafka_and_never_shrinks() {
        let answers = [says(Some(6)), says(Some(4)), says(Some(2))];
        let writes = after(&with(4, Source::Kafka), &answers, REFRESH);
        assert_eq!(writes.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 0]);
    }

    #[test]
    fn a_static_topic_stays_whatever_kafka_says() {
        let answers = [Some(9), None, None, None, None].map(says);
        assert!(after(&with(4, Source::Static), &answers, REFRESH).concat().is_empty());
    }

    #[test]
    fn only_denials_in_a_row_delete_a_topic() {
        let answers = [None, None, Some(4), None, None, None].map(says);
        let writes = after(&with(4, Source::Kafka), &answers, REFRESH);
        assert!(writes[..5].concat().is_empty());
        assert!(matches!(&writes[5][0].ops[..], [Op::Delete { .. }]));
    }

    #[test]
    fn denials_within_one_refresh_count_once() {
        let answers = [None, None, None, None, None].map(says);
        let state = with(4, Source::Kafka);
        assert!(after(&state, &answers, REFRESH / 5).concat().is_empty());
        // The third that counts is the one two refreshes after the first.
        assert_eq!(
            after(&state, &answers, REFRESH / 2).iter().map(Vec::len).collect::<Vec<_>>(),
            [0, 0, 0, 0, 1]
        );
    }

    pub(super) fn says_id(partitions: u32, id: Option<u8>) -> Found {
        let id = id.and_then(|byte| TopicId::new([byte; 16]));
        Found::from([(topic("t"), Some(TopicLook { partitions, id }))])
    }

    /// The topic that is written, once.
    fn written(state: &GroupState, look: &Found) -> Topic {
        let writes = after(state, std::slice::from_ref(look), REFRESH).concat();
        let [Op::Put { value, .. }] = &writes[0].ops[..] else { panic!("{writes:?}") };
        serde_json::from_slice(value).unwrap()
    }

    #[test]
    fn an_id_is_learnt_once_and_in_silence() {
        let known = written(&with(4, Source::Kafka), &says_id(4, Some(7)));
        assert_eq!(known.topic_id.as_deref(), Some("BwcHBwcHBwcHBwcHBwcHBw"));
        assert_eq!(known.partitions, 4);
        let state = with_topic(&known);
        let later = [says_id(4, Some(7)), says_id(4, None), says_id(4, Some(7))];
        assert!(after(&state, &later, REFRESH).concat().is_empty());
        let grown = written(&state, &says_id(5, None));
        assert_eq!((grown.partitions, grown.topic_id), (5, known.topic_id));
        assert_eq!(written(&GroupState::new(layout()), &says_id(3, Some(7))).topic_id.unwrap().len(), 22);
    }

    /// A topic of four partitions whose id is known to be 7 of each byte.
    pub(super) fn known() -> GroupState {
        with_topic(&written(&with(4, Source::Kafka), &says_id(4, Some(7))))
    }

    /// The number of writes after each answer, one every refresh.
    fn counts(answers: &[Found]) -> Vec<usize> {
        after(&known(), answers, REFRESH).iter().map(Vec::len).collect()
    }

    #[test]
    fn another_id_twice_is_another_topic() {
        let answers = [says_id(9, Some(8)), says_id(9, Some(8))];
        let writes = after(&known(), &answers, REFRESH);
        assert!(writes[0].is_empty(), "nor does it grow by what is said of the other");
        let [Op::Put { value, .. }] = &writes[1][0].ops[..] else { panic!("{writes:?}") };
        let left: Topic = serde_json::from_slice(value).unwrap();
        assert_eq!((left.partitions, left.topic_id, left.since), (0, None, Some(Revision(1))));
        assert!(
            after(&known(), &answers, REFRESH / 2).concat().is_empty(),
            "within a refresh it counts once"
        );
    }

    #[test]
    fn an_id_that_flips_back_is_no_other_topic() {
        let [same, other] = [says_id(4, Some(7)), says_id(4, Some(8))];
        assert_eq!(counts(&[other.clone(), same, other.clone()]), [0, 0, 0]);
        assert_eq!(counts(&[other.clone(), says_id(4, None), other.clone()]), [0, 0, 0]);
        assert_eq!(counts(&[other.clone(), says(None), other]), [0, 0, 0]);
        assert_eq!(counts(&[says_id(4, Some(8)), says_id(4, Some(9))]), [0, 0]);
    }

    #[test]
    fn silence_denies_nothing() {
        let silence = vec![Found::new(); 5];
        assert!(after(&with(4, Source::Kafka), &silence, REFRESH).concat().is_empty());
    }
}
