//! Fetch sessions (KIP-227): a broker keeps what was asked, and is told the changes alone; pure.

use std::collections::BTreeMap;

use crate::messages::{FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic};
use crate::wire::Uuid;

/// The first version that has sessions.
const WITH_SESSIONS: i16 = 7;

/// The epoch of a request that asks for a new session.
const NEW_SESSION: i32 = 0;

/// A partition that is fetched. Topics have both names: older versions use the one, newer ones the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FetchTarget {
    /// The topic's name.
    pub topic: String,
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partition.
    pub partition: i32,
}

/// The place from which a partition is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchPlace {
    /// The first offset that is wanted.
    pub offset: i64,
    /// The epoch of the leader that is known; −1: not known.
    pub leader_epoch: i32,
    /// The most bytes of the partition in one answer.
    pub most_bytes: i32,
}

/// The session with one broker. One request is under way at a time; whoever loses one calls [`reset`](Self::reset).
#[derive(Debug, Clone, Default)]
pub struct FetchSession {
    id: i32,
    epoch: i32,
    /// The broker's knowledge after the last answer.
    known: BTreeMap<FetchTarget, FetchPlace>,
    sent: BTreeMap<FetchTarget, FetchPlace>,
}

impl FetchSession {
    /// Asks for `wanted` in `version`: for all of it in a new session, or in one that stands for the changes. The caller sets
    /// how long the broker may wait, and for how many bytes.
    #[must_use]
    pub fn request(&mut self, wanted: BTreeMap<FetchTarget, FetchPlace>, version: i16) -> FetchRequest {
        if version < WITH_SESSIONS {
            self.reset();
        }
        let changed = wanted.iter().filter(|(target, place)| self.known.get(target) != Some(place));
        let forgotten = self.known.keys().filter(|known| !wanted.contains_key(known));
        let request = FetchRequest {
            session_id: self.id,
            session_epoch: self.epoch,
            topics: by_topic(changed),
            forgotten_topics_data: forgotten_by_topic(forgotten),
            ..FetchRequest::default()
        };
        self.sent = wanted;
        request
    }

    /// Takes an answer. False where the broker does not know the session any more: then everything is asked for again, and
    /// the answer has no records.
    pub fn answered(&mut self, answer: &FetchResponse) -> bool {
        let is_other = self.id != 0 && answer.session_id != self.id;
        if answer.error_code != 0 || is_other {
            self.reset();
            return false;
        }
        // A broker that has no room for a session answers with 0, and is asked for all of it each time.
        if answer.session_id == 0 {
            self.reset();
        } else {
            self.id = answer.session_id;
            self.epoch = self.epoch.checked_add(1).unwrap_or(1);
            self.known = std::mem::take(&mut self.sent);
        }
        true
    }

    /// The next request begins a new session.
    pub fn reset(&mut self) {
        *self = Self { id: 0, epoch: NEW_SESSION, ..Self::default() };
    }
}

fn by_topic<'a>(partitions: impl Iterator<Item = (&'a FetchTarget, &'a FetchPlace)>) -> Vec<FetchTopic> {
    let mut topics: Vec<FetchTopic> = Vec::new();
    for (target, place) in partitions {
        let FetchTarget { topic, topic_id, partition } = target;
        let asked = FetchPartition {
            partition: *partition,
            fetch_offset: place.offset,
            current_leader_epoch: place.leader_epoch,
            partition_max_bytes: place.most_bytes,
            ..FetchPartition::default()
        };
        match topics.last_mut().filter(|last| last.topic == *topic && last.topic_id == *topic_id) {
            Some(last) => last.partitions.push(asked),
            None => {
                topics.push(FetchTopic {
                    topic: topic.clone(),
                    topic_id: *topic_id,
                    partitions: vec![asked],
                });
            }
        }
    }
    topics
}

fn forgotten_by_topic<'a>(targets: impl Iterator<Item = &'a FetchTarget>) -> Vec<ForgottenTopic> {
    let mut topics: Vec<ForgottenTopic> = Vec::new();
    for FetchTarget { topic, topic_id, partition } in targets {
        match topics.last_mut().filter(|last| last.topic == *topic && last.topic_id == *topic_id) {
            Some(last) => last.partitions.push(*partition),
            None => {
                let partitions = vec![*partition];
                topics.push(ForgottenTopic { topic: topic.clone(), topic_id: *topic_id, partitions });
            }
        }
    }
    topics
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(partitions: &[(i32, i64)]) -> BTreeMap<FetchTarget, FetchPlace> {
        let place = |(partition, offset): &(i32, i64)| {
            let target =
                FetchTarget { topic: "t".to_owned(), topic_id: Uuid([1; 16]), partition: *partition };
            (target, FetchPlace { offset: *offset, leader_epoch: 3, most_bytes: 1000 })
        };
        partitions.iter().map(place).collect()
    }

    /// Session, epoch, `partition@offset` of what is asked, and the partitions that are forgotten.
    fn shown(request: &FetchRequest) -> (i32, i32, Vec<String>, Vec<i32>) {
        let asked = request.topics.iter().flat_map(|topic| &topic.partitions);
        let asked = asked.map(|asked| format!("{}@{}", asked.partition, asked.fetch_offset)).collect();
        let forgotten =
            request.forgotten_topics_data.iter().flat_map(|topic| topic.partitions.clone()).collect();
        (request.session_id, request.session_epoch, asked, forgotten)
    }

    fn answer(session_id: i32) -> FetchResponse {
        FetchResponse { session_id, ..FetchResponse::default() }
    }

    #[test]
    fn a_session_is_told_the_changes_alone() {
        let mut session = FetchSession::default();
        let request = session.request(wanted(&[(0, 5), (1, 6)]), 12);
        assert_eq!(shown(&request), (0, 0, vec!["0@5".to_owned(), "1@6".to_owned()], vec![]));
        assert!(session.answered(&answer(77)));
        let request = session.request(wanted(&[(0, 9), (2, 0)]), 12);
        assert_eq!(shown(&request), (77, 1, vec!["0@9".to_owned(), "2@0".to_owned()], vec![1]));
        assert!(session.answered(&answer(77)));
        let request = session.request(wanted(&[(0, 9), (2, 0)]), 12);
        assert_eq!(shown(&request), (77, 2, vec![], vec![]));
    }

    #[test]
    fn a_session_that_is_gone_is_begun_anew_with_everything() {
        for gone in [FetchResponse { error_code: 70, ..answer(0) }, answer(78), answer(0)] {
            let mut session = FetchSession::default();
            let _first = session.request(wanted(&[(0, 5)]), 12);
            session.answered(&answer(77));
            let _second = session.request(wanted(&[(0, 6)]), 12);
            assert!(!session.answered(&gone));
            let request = session.request(wanted(&[(0, 6)]), 12);
            assert_eq!(shown(&request), (0, 0, vec!["0@6".to_owned()], vec![]));
        }
    }

    #[test]
    fn without_sessions_everything_is_asked_each_time() {
        // A broker that has no room, and one that has none at all.
        for (version, given) in [(12, 0), (6, 77)] {
            let mut session = FetchSession::default();
            for _ in 0..2 {
                let request = session.request(wanted(&[(0, 5)]), version);
                assert_eq!(shown(&request), (0, 0, vec!["0@5".to_owned()], vec![]), "{version}");
                assert!(session.answered(&answer(given)));
            }
        }
    }

    #[test]
    fn an_answer_that_was_lost_leaves_no_session() {
        let mut session = FetchSession::default();
        let _first = session.request(wanted(&[(0, 5)]), 12);
        session.answered(&answer(77));
        let _lost = session.request(wanted(&[(0, 6)]), 12);
        session.reset();
        assert_eq!(shown(&session.request(wanted(&[(0, 6)]), 12)).1, 0);
    }
}
