//! The last state that a watcher was told, and the events that it has to be told next.
//!
//! Events are the difference between two looks at the view, so a change that was undone between them is not told.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_core::counts::{counts, partitions};
use kafka_assigner_core::record::Handoff;
use kafka_assigner_core::state::{GroupState, Touched};
use kafka_assigner_proto::v1::watch_event::Event;
use kafka_assigner_proto::v1::{self, HandoffEnded, WatchEvent};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::name::{MemberName, TopicName};

use crate::admin::show;
use crate::convert::wire_partition;

/// Everything that was told, entry by entry.
#[derive(Debug, Default)]
pub(super) struct WatchedEntries {
    began: bool,
    consumers: BTreeMap<MemberName, v1::Consumer>,
    assignments: BTreeMap<TopicPartition, v1::PartitionAssignment>,
    handoffs: BTreeMap<TopicPartition, (Handoff, v1::Handoff)>,
    topics: BTreeMap<TopicName, v1::Topic>,
    config: Option<v1::GroupConfig>,
    leader: Option<v1::Leader>,
}

impl WatchedEntries {
    /// The events to tell by a look at everything; the first time that begins with the group itself.
    pub(super) fn everything(&mut self, state: &GroupState) -> Vec<WatchEvent> {
        let mut news = EventBatch::new(state);
        if !self.began {
            self.began = true;
            self.config = Some(state.configured(show::config));
            self.leader = show::leader(state);
            news.push(Event::Group(show::summary(state, &counts(state))));
        }
        self.note_settings(state, &mut news);
        self.note_topics(state, &mut news);
        let consumers: BTreeSet<MemberName> =
            self.consumers.keys().chain(state.consumers().keys()).cloned().collect();
        consumers.iter().for_each(|name| self.note_consumer(state, name, &mut news));
        let known = self.assignments.keys().chain(self.handoffs.keys()).cloned();
        let units: BTreeSet<TopicPartition> =
            known.chain(partitions(state, None)).chain(state.handoffs().keys().cloned()).collect();
        units.iter().for_each(|at| self.note_partition(state, at, &mut news));
        news.events
    }

    /// The events to tell after a change.
    pub(super) fn touched(&mut self, state: &GroupState, touched: &Touched) -> Vec<WatchEvent> {
        let mut news = EventBatch::new(state);
        if touched.config || touched.leader {
            self.note_settings(state, &mut news);
        }
        if touched.topics {
            self.note_topics(state, &mut news);
        }
        let consumers: BTreeSet<&MemberName> =
            touched.registrations.iter().chain(&touched.progress).chain(touched.members.keys()).collect();
        consumers.into_iter().for_each(|name| self.note_consumer(state, name, &mut news));
        let units = self.whole_units(state, touched);
        units.iter().for_each(|at| self.note_partition(state, at, &mut news));
        news.events
    }

    /// The partitions of the touched units, before and now, and those whose warm-up progressed.
    fn whole_units(&self, state: &GroupState, touched: &Touched) -> BTreeSet<TopicPartition> {
        let mut all = BTreeSet::new();
        let progressed = touched.progress.iter().flat_map(|name| state.concerned(name));
        for at in touched.units.iter().chain(progressed) {
            let before = self.handoffs.get(at).map(|(handoff, _)| &handoff.unit);
            let now = state.handoff_of(at).map(|handoff| &handoff.unit);
            all.extend(before.into_iter().chain(now).flatten().cloned());
            all.insert(at.clone());
        }
        all
    }

    fn note_settings(&mut self, state: &GroupState, news: &mut EventBatch) {
        let config = state.configured(show::config);
        if self.config.as_ref() != Some(&config) {
            news.push(Event::Config(config.clone()));
            self.config = Some(config);
        }
        let leader = show::leader(state);
        if self.leader != leader {
            news.push(Event::Leader(leader.clone().unwrap_or_default()));
            self.leader = leader;
        }
    }

    fn note_topics(&mut self, state: &GroupState, news: &mut EventBatch) {
        for (name, entry) in state.topics() {
            let topic = show::topic(name, entry);
            if self.topics.get(name) != Some(&topic) {
                news.push(Event::Topic(topic.clone()));
                self.topics.insert(name.clone(), topic);
            }
        }
        self.topics.retain(|name, _| {
            let stays = state.topics().contains_key(name);
            if !stays {
                news.push(Event::TopicGone(name.to_string()));
            }
            stays
        });
    }

    fn note_consumer(&mut self, state: &GroupState, name: &MemberName, news: &mut EventBatch) {
        let now = state.consumers().get(name).map(|entry| show::consumer(state, name, entry));
        match now {
            Some(consumer) if self.consumers.get(name) != Some(&consumer) => {
                news.push(Event::Consumer(consumer.clone()));
                self.consumers.insert(name.clone(), consumer);
            }
            None if self.consumers.remove(name).is_some() => {
                news.push(Event::ConsumerGone(name.to_string()));
            }
            _ => {}
        }
    }

    fn note_partition(&mut self, state: &GroupState, at: &TopicPartition, news: &mut EventBatch) {
        // The gap that a move left is told with its end.
        let assignment = v1::PartitionAssignment { gap_ms: None, ..show::assignment(state, at) };
        if self.assignments.get(at) != Some(&assignment) {
            news.push(Event::Assignment(assignment.clone()));
            self.assignments.insert(at.clone(), assignment);
        }
        self.note_handoff(state, at, news);
    }

    fn note_handoff(&mut self, state: &GroupState, at: &TopicPartition, news: &mut EventBatch) {
        let now = state.handoff_of(at);
        let known = self.handoffs.get(at);
        if let Some((before, _)) = known.filter(|(before, _)| now.is_none_or(|now| now.id != before.id)) {
            news.push(Event::HandoffEnded(ended(state, before, at)));
            self.handoffs.remove(at);
        }
        if let Some(handoff) = now {
            // Time passes without an event: how it stands is not told here.
            let shown = show::handoff(state, handoff, at, None);
            if self.handoffs.get(at).is_none_or(|(_, known)| *known != shown) {
                news.push(Event::Handoff(shown.clone()));
                self.handoffs.insert(at.clone(), (handoff.clone(), shown));
            }
        }
    }
}

fn ended(state: &GroupState, handoff: &Handoff, at: &TopicPartition) -> HandoffEnded {
    let assignment = state.assignment(at);
    let owner = assignment.and_then(|assignment| assignment.owner.as_ref());
    let moved = owner.is_some_and(|owner| owner.is(&handoff.new));
    let granted = || assignment.map(|assignment| assignment.why.to_string());
    let cancelled = handoff.cancelled.as_ref().map(ToString::to_string);
    HandoffEnded {
        topic: at.topic.to_string(),
        partition: wire_partition(at.partition),
        handoff_id: handoff.id.to_string(),
        old_owner: handoff.old.name.to_string(),
        new_owner: handoff.new.name.to_string(),
        moved,
        gap_ms: assignment.filter(|_| moved).and_then(|assignment| assignment.gap_ms),
        why: cancelled.or_else(granted).unwrap_or_else(|| "its topic is gone".to_owned()),
    }
}

/// Events of one look, all of its revision.
struct EventBatch {
    revision: u64,
    events: Vec<WatchEvent>,
}

impl EventBatch {
    fn new(state: &GroupState) -> Self {
        Self { revision: state.revision().0, events: Vec::new() }
    }

    fn push(&mut self, event: Event) {
        self.events.push(WatchEvent { revision: self.revision, event: Some(event), ..WatchEvent::default() });
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_core::ack::Ack;
    use kafka_assigner_core::record::Taken;
    use kafka_assigner_core::test_group::{TestGroup, tp};
    use kafka_assigner_types::kv::Revision;
    use kafka_assigner_types::moment::WallMillis;

    use super::*;

    fn kinds(events: &[WatchEvent]) -> Vec<&'static str> {
        let kind = |event: &WatchEvent| match event.event.as_ref().unwrap() {
            Event::Group(_) => "group",
            Event::Consumer(_) => "consumer",
            Event::ConsumerGone(_) => "consumer gone",
            Event::Assignment(_) => "assignment",
            Event::Handoff(_) => "handoff",
            Event::HandoffEnded(ended) if ended.moved => "moved",
            Event::HandoffEnded(_) => "called off",
            Event::Leader(_) => "leader",
            Event::Topic(_) => "topic",
            Event::TopicGone(_) => "topic gone",
            Event::Config(_) => "config",
        };
        events.iter().map(kind).collect()
    }

    #[test]
    fn the_group_comes_first_and_then_everything_in_it_once() {
        let mut lab = TestGroup::with_topics(&[("t", 2)]);
        lab.join("a");
        let mut told = WatchedEntries::default();
        let first = told.everything(&lab.state);
        assert_eq!(kinds(&first), ["group", "topic", "consumer", "assignment", "assignment"]);
        assert!(first.iter().all(|event| Revision(event.revision) == lab.state.revision()));
        assert!(told.everything(&lab.state).is_empty());
    }

    #[test]
    fn a_move_is_told_from_its_beginning_to_its_end() {
        let mut lab = TestGroup::with_topics(&[("t", 2)]);
        lab.join("a");
        lab.settle();
        let mut told = WatchedEntries::default();
        let _before = told.everything(&lab.state);
        lab.join("b");
        lab.pass();
        assert_eq!(kinds(&told.everything(&lab.state)), ["consumer", "handoff"]);
        lab.settle();
        let told = kinds(&told.everything(&lab.state));
        assert!(told.contains(&"moved") && told.contains(&"assignment"), "{told:?}");
    }

    #[test]
    fn the_gap_of_a_move_is_told_with_its_end_and_with_nothing_else() {
        let mut lab = TestGroup::with_topics(&[("t", 2)]);
        let a = lab.join("a");
        lab.settle();
        let b = lab.join("b");
        lab.pass();
        let mut told = WatchedEntries::default();
        let _before = told.everything(&lab.state);
        let at = tp("t", 1);
        lab.say(&b, &at, None, &Ack::Ready);
        lab.pass();
        let taken = Taken { first_at: Some(WallMillis(1_012)), ..Taken::default() };
        lab.say(&b, &at, None, &Ack::Taken(taken));
        let _switched = told.everything(&lab.state);
        lab.say(&a, &at, None, &Ack::Released { last_at: Some(WallMillis(1_000)) });
        let events = told.everything(&lab.state);
        let told: Vec<_> = events.into_iter().filter_map(|event| event.event).collect();
        let [Event::Consumer(_), Event::HandoffEnded(ended)] = &told[..] else { panic!("{told:?}") };
        assert_eq!(ended.gap_ms, Some(12));
    }

    #[test]
    fn a_move_that_was_given_up_is_not_called_a_move() {
        let mut lab = TestGroup::with_topics(&[("t", 2)]);
        lab.join("a");
        lab.settle();
        lab.join("b");
        lab.pass();
        let mut told = WatchedEntries::default();
        let _before = told.everything(&lab.state);
        lab.crash("b");
        lab.settle();
        let told = kinds(&told.everything(&lab.state));
        assert!(told.contains(&"called off") && told.contains(&"consumer gone"), "{told:?}");
    }
}
