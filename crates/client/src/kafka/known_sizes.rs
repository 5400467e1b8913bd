//! The numbers of partitions of topics that are known: pure.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use kafka_assigner_types::name::TopicName;
use tokio::time::Instant;

/// The time for which an answer counts. A topic that grew is noticed after it; producers take five minutes by default.
const FRESH: Duration = Duration::from_secs(10);

/// The time for which the last number counts while no broker answers: a producer of Kafka uses one that is as old
/// (`metadata.max.age.ms`).
const USABLE: Duration = Duration::from_secs(300);

/// The time after an error until a broker is asked again, so that callers do not wait for one after the other.
const PAUSE: Duration = Duration::from_secs(2);

/// The time for which a caller waits for a new number while the last one may still be used: long against an answer, short for
/// whoever serves a request.
const PATIENCE: Duration = Duration::from_millis(500);

/// The most topics that are remembered: names come from callers, and a group has at most 2 000 topics.
const MOST_TOPICS: usize = 2_000;

/// The answer of brokers about the number of partitions of a topic. Reasons are for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SizeAnswer {
    Size(NonZeroU32),
    /// There is no such topic: a number of before does not count any more.
    NoTopic(String),
    /// Nothing is known that was not known before.
    NoAnswer(String),
}

/// The next step of a caller.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SizeLookup {
    /// It uses this number, or has this error.
    Known(Result<NonZeroU32, String>),
    /// It waits for an answer.
    Ask,
    /// It waits for an answer for a while, and then uses this number.
    AskWithin(Duration, NonZeroU32),
}

/// The numbers, by topic.
#[derive(Debug, Default)]
pub(super) struct KnownSizes(BTreeMap<TopicName, KnownSize>);

#[derive(Debug, Default)]
struct KnownSize {
    /// The last number, with the time of the answer.
    size: Option<(NonZeroU32, Instant)>,
    /// The error of the last question, with its time; `None` = it was answered.
    error: Option<(String, Instant)>,
}

impl KnownSize {
    fn lookup(&self, now: Instant) -> SizeLookup {
        let size_of = |bound| self.size.filter(|(_, at)| now < *at + bound).map(|(size, _)| size);
        let error = self.error.as_ref().filter(|(_, at)| now < *at + PAUSE);
        match (size_of(FRESH).or_else(|| error.and(size_of(USABLE))), error, size_of(USABLE)) {
            (Some(size), _, _) => SizeLookup::Known(Ok(size)),
            (None, Some((error, _)), _) => SizeLookup::Known(Err(error.clone())),
            (None, None, None) => SizeLookup::Ask,
            // Nobody waits for brokers that did not answer the last question.
            (None, None, Some(size)) if self.error.is_some() => SizeLookup::AskWithin(Duration::ZERO, size),
            (None, None, Some(size)) => SizeLookup::AskWithin(PATIENCE, size),
        }
    }
}

impl KnownSizes {
    pub(super) fn lookup(&self, topic: &TopicName, now: Instant) -> SizeLookup {
        self.0.get(topic).map_or(SizeLookup::Ask, |known| known.lookup(now))
    }

    /// Notes what brokers said, and forgets the topic with the oldest number where there are too many; those without one go first.
    pub(super) fn note(&mut self, topic: &TopicName, answer: SizeAnswer, now: Instant) {
        if self.0.len() >= MOST_TOPICS && !self.0.contains_key(topic) {
            let oldest = self.0.iter().min_by_key(|(_, known)| known.size.map(|(_, at)| at));
            let oldest = oldest.map(|(topic, _)| topic.clone());
            oldest.map(|topic| self.0.remove(&topic));
        }
        let known = self.0.entry(topic.clone()).or_default();
        match answer {
            SizeAnswer::Size(size) => *known = KnownSize { size: Some((size, now)), error: None },
            SizeAnswer::NoTopic(error) => *known = KnownSize { size: None, error: Some((error, now)) },
            SizeAnswer::NoAnswer(error) => known.error = Some((error, now)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn topic(name: &str) -> TopicName {
        name.parse().expect("a valid name")
    }

    const fn size(partitions: u32) -> NonZeroU32 {
        NonZeroU32::new(partitions).expect("not 0")
    }

    fn no_answer() -> SizeAnswer {
        SizeAnswer::NoAnswer("down".to_owned())
    }

    #[test]
    fn a_number_is_asked_for_again_and_outlives_an_outage_for_as_long_as_that_of_a_producer() {
        let (mut known, start, t) = (KnownSizes::default(), Instant::now(), topic("t"));
        assert_eq!(known.lookup(&t, start), SizeLookup::Ask);
        known.note(&t, SizeAnswer::Size(size(3)), start);
        assert_eq!(known.lookup(&t, start + 9 * SECOND), SizeLookup::Known(Ok(size(3))));
        let grown = known.lookup(&t, start + FRESH);
        assert_eq!(grown, SizeLookup::AskWithin(PATIENCE, size(3)), "the topic may have grown");
        known.note(&t, no_answer(), start + FRESH);
        assert_eq!(known.lookup(&t, start + FRESH + SECOND), SizeLookup::Known(Ok(size(3))));
        let in_outage = known.lookup(&t, start + FRESH + PAUSE);
        assert_eq!(in_outage, SizeLookup::AskWithin(Duration::ZERO, size(3)), "nobody waits in an outage");
        known.note(&t, no_answer(), start + USABLE);
        assert_eq!(known.lookup(&t, start + USABLE), SizeLookup::Known(Err("down".to_owned())));
        assert_eq!(known.lookup(&t, start + USABLE + PAUSE), SizeLookup::Ask);
        known.note(&t, SizeAnswer::Size(size(5)), start + USABLE + SECOND);
        assert_eq!(known.lookup(&t, start + USABLE + SECOND), SizeLookup::Known(Ok(size(5))));
    }

    #[test]
    fn a_topic_that_is_gone_has_no_number() {
        let (mut known, start, t) = (KnownSizes::default(), Instant::now(), topic("t"));
        known.note(&t, SizeAnswer::Size(size(3)), start);
        known.note(&t, SizeAnswer::NoTopic("gone".to_owned()), start + FRESH);
        assert_eq!(known.lookup(&t, start + FRESH), SizeLookup::Known(Err("gone".to_owned())));
        assert_eq!(known.lookup(&t, start + FRESH + PAUSE), SizeLookup::Ask);
    }

    #[test]
    fn names_that_callers_invent_displace_no_topic_that_has_a_number() {
        let (mut known, start) = (KnownSizes::default(), Instant::now());
        known.note(&topic("t"), SizeAnswer::Size(size(3)), start);
        for number in 0..2 * MOST_TOPICS {
            known.note(&topic(&format!("a{number}")), no_answer(), start + FRESH);
        }
        known.note(&topic("t"), no_answer(), start + FRESH);
        assert_eq!(known.0.len(), MOST_TOPICS);
        assert_eq!(known.lookup(&topic("t"), start + FRESH), SizeLookup::Known(Ok(size(3))));
    }

    #[test]
    fn a_full_table_forgets_one_topic_for_a_new_one_and_none_for_a_known_one() {
        let (mut known, start) = (KnownSizes::default(), Instant::now());
        let numbered = |number: u32| topic(&format!("t{number}"));
        let most = u32::try_from(MOST_TOPICS).expect("a small number");
        for number in 0..most {
            known.note(
                &numbered(number),
                SizeAnswer::Size(size(1)),
                start + number * Duration::from_millis(1),
            );
        }
        known.note(&numbered(7), SizeAnswer::Size(size(2)), start + 5 * SECOND);
        assert_eq!(known.0.len(), MOST_TOPICS);
        known.note(&topic("new"), SizeAnswer::Size(size(1)), start + 5 * SECOND);
        assert_eq!(known.0.len(), MOST_TOPICS);
        assert!(!known.0.contains_key(&numbered(0)), "its number is the oldest");
    }
}
