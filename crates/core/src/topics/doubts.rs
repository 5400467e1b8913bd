//! The sooner looks at topics of which it is not clear yet what became of them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Denials, Found, is_emptied};
use crate::state::GroupState;
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::TopicName;

/// The most sooner looks for one doubt: as many as it takes to believe a denial, or to believe another id and see the
/// partitions of the new topic. A doubt that lasts longer waits for the regular looks.
pub const SOONER_LOOKS: u32 = 3;

/// The number of intervals without a doubt after which the next one has its sooner looks again: six refreshes, a minute
/// by default. One that comes back before is the same, so that a topic whose id flips does not double the load for ever.
const CALM: u32 = 12;

/// The doubts about a group's topics, as one leader has them.
///
/// They are judged by the group's record and by the answers of this leader's own looks. So an instance that begins to lead
/// asks for sooner looks, whatever it had seen before.
#[derive(Debug, Clone)]
pub struct Doubts {
    interval: Duration,
    of: BTreeMap<TopicName, Doubt>,
}

/// The doubt about one topic.
#[derive(Debug, Clone, Copy)]
struct Doubt {
    /// The sooner looks that were due, and one more where they were not enough.
    looks: u32,
    /// The moment from which on an answer counts.
    due: Moment,
    /// True once the record was emptied: what comes afterwards is a doubt about another topic.
    is_decided: bool,
}

impl Doubts {
    /// None yet. `interval` is that of the [`Denials`]: an answer that comes sooner counts for nothing.
    #[must_use]
    pub const fn new(interval: Duration) -> Self {
        Self { interval, of: BTreeMap::new() }
    }

    /// The moment from which on a look can end a doubt about a topic of `found`, once [`follow`](super::follow) has taken in
    /// what Kafka answered at `now`. `None` where nothing is in doubt, or every doubt had its [`SOONER_LOOKS`].
    pub fn next_look(
        &mut self,
        state: &GroupState,
        denials: &Denials,
        found: &Found,
        now: Moment,
    ) -> Option<Moment> {
        self.of.retain(|name, _| state.topics().contains_key(name));
        found.keys().filter_map(|name| self.take_in(state, denials, name, now)).min()
    }

    fn take_in(
        &mut self,
        state: &GroupState,
        denials: &Denials,
        name: &TopicName,
        now: Moment,
    ) -> Option<Moment> {
        if !denials.is_in_doubt(state, name) {
            self.calm(name, now);
            return None;
        }
        let fresh = Doubt { looks: 0, due: now, is_decided: false };
        let doubt = self.of.entry(name.clone()).or_insert(fresh);
        doubt.is_decided |= state.topics().get(name).is_some_and(is_emptied);
        doubt.take_in(now, self.interval)
    }

    fn calm(&mut self, name: &TopicName, now: Moment) {
        let is_over = |doubt: &Doubt| doubt.is_decided || now.since(doubt.due) >= self.interval * CALM;
        if self.of.get(name).is_some_and(is_over) {
            self.of.remove(name);
        }
    }
}

impl Doubt {
    /// An answer left it open. One before the due moment changes nothing: the look that was asked for is still to come.
    fn take_in(&mut self, now: Moment, interval: Duration) -> Option<Moment> {
        if now >= self.due {
            self.looks = (self.looks + 1).min(SOONER_LOOKS + 1);
            self.due = now + interval;
        }
        (self.looks <= SOONER_LOOKS).then_some(self.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Source, Topic};
    use crate::topics::follow;
    use crate::topics::tests::{known, says, says_id, with, with_topic};

    /// Half of a refresh.
    const HALF: Duration = Duration::from_secs(5);

    struct Looking {
        denials: Denials,
        doubts: Doubts,
    }

    impl Looking {
        fn new() -> Self {
            Self { denials: Denials::new(HALF), doubts: Doubts::new(HALF) }
        }

        /// The second from which on another look is wanted, after `found` in second `at`.
        fn look(&mut self, state: &GroupState, found: &Found, at: u64) -> Option<u64> {
            let now = Moment(Duration::from_secs(at));
            let _writes = follow(state, found, &mut self.denials, now);
            let next = self.doubts.next_look(state, &self.denials, found, now);
            next.map(|next| next.0.as_secs())
        }
    }

    fn emptied() -> GroupState {
        with_topic(&Topic { partitions: 0, ..Topic::new(0, Source::Kafka) })
    }

    #[test]
    fn a_doubt_is_followed_by_three_sooner_looks() {
        for open in [says(None), says_id(4, Some(8))] {
            let (mut looking, state) = (Looking::new(), known());
            let next = [0, 5, 10, 15, 25].map(|at| looking.look(&state, &open, at));
            assert_eq!(next, [Some(5), Some(10), Some(15), None, None], "{open:?}");
        }
    }

    #[test]
    fn an_answer_that_comes_too_early_to_count_leaves_the_look_where_it_was() {
        let (mut looking, state, other) = (Looking::new(), known(), says_id(4, Some(8)));
        let next = [0, 2, 4, 5, 9].map(|at| looking.look(&state, &other, at));
        assert_eq!(next, [Some(5), Some(5), Some(5), Some(10), Some(10)]);
    }

    #[test]
    fn a_topic_without_partitions_is_in_doubt_until_those_of_the_new_one_are_seen() {
        let (mut looking, other) = (Looking::new(), says_id(9, Some(8)));
        assert_eq!(looking.look(&known(), &other, 0), Some(5));
        assert_eq!(looking.look(&known(), &other, 5), Some(10), "it is emptied");
        assert_eq!(looking.look(&emptied(), &other, 10), Some(15), "its owners have not lost it yet");
        // The next time that it is created again is another doubt.
        assert_eq!(looking.look(&known(), &says_id(4, Some(7)), 15), None);
        let next = [20, 25, 30, 35].map(|at| looking.look(&known(), &other, at));
        assert_eq!(next, [Some(25), Some(30), Some(35), None]);
    }

    #[test]
    fn a_leader_that_finds_a_topic_without_partitions_looks_sooner() {
        assert_eq!(Looking::new().look(&emptied(), &says_id(9, Some(8)), 0), Some(5));
    }

    #[test]
    fn an_id_that_flips_has_its_sooner_looks_once_until_it_was_calm() {
        let (mut looking, state) = (Looking::new(), known());
        let [same, other] = [says_id(4, Some(7)), says_id(4, Some(8))];
        let mut flips = |from: u64| {
            let looks = (from..from + 120).step_by(10).zip([&other, &same].into_iter().cycle());
            looks.filter_map(|(at, found)| looking.look(&state, found, at)).count()
        };
        assert_eq!(flips(0), 3);
        assert_eq!(flips(120), 0, "it is the same doubt");
        assert_eq!(flips(240), 0);
        for at in [370, 400, 430] {
            assert_eq!(looking.look(&state, &same, at), None);
        }
        assert_eq!(looking.look(&state, &other, 440), Some(445), "a minute went by in peace");
    }

    #[test]
    fn nothing_is_in_doubt_that_is_not_followed() {
        let quiet = [
            (known(), says_id(4, Some(7))),
            (known(), says_id(5, None)),
            (known(), Found::new()),
            (with(4, Source::Static), says(None)),
            (with(0, Source::Static), says(Some(3))),
            (GroupState::new(known().layout().clone()), says(None)),
        ];
        for (state, found) in quiet {
            let mut looking = Looking::new();
            let next = [0, 5, 10].map(|at| looking.look(&state, &found, at));
            assert_eq!(next, [None; 3], "{found:?}");
        }
    }

    #[test]
    fn a_look_at_other_topics_spends_nothing() {
        let (mut looking, state) = (Looking::new(), known());
        let other = says_id(4, Some(8));
        assert_eq!(looking.look(&state, &other, 0), Some(5));
        for at in [6, 7, 8, 9] {
            assert_eq!(looking.look(&state, &Found::from([("u".parse().unwrap(), None)]), at), None);
        }
        assert_eq!([10, 15].map(|at| looking.look(&state, &other, at)), [Some(15), Some(20)]);
    }
}
