//! A stream looks only at what was touched, when it comes to it: wherever that leads, a look at everything leads too.

use std::collections::BTreeMap;

use bytes::Bytes;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::state::{Scope, Touched};
use kafka_assigner_core::view::{ConsumerView, Difference, Role, consumer_view};
use kafka_assigner_types::id::{Member, TopicPartition};
use kafka_assigner_types::name::MemberName;
use proptest::prelude::*;

use crate::histories::{Event, NAMES, Story, event, same};

#[derive(Debug, Clone)]
enum Moment {
    Happens(Event),
    /// Everybody does what is asked of them.
    Act,
    /// A handoff's record breaks.
    SpoilHandoff(usize),
    /// A stream comes to look.
    Look(usize),
    /// Everybody looks.
    CatchUp,
    /// A stream has reason to look at everything.
    Doubt(usize),
}

fn moment() -> impl Strategy<Value = Moment> {
    let who = 0..NAMES.len();
    prop_oneof![
        8 => event().prop_map(Moment::Happens),
        2 => Just(Moment::Act),
        1 => (0..4usize).prop_map(Moment::SpoilHandoff),
        6 => who.clone().prop_map(Moment::Look),
        2 => Just(Moment::CatchUp),
        1 => who.prop_map(Moment::Doubt),
    ]
}

/// One member's stream: what it thinks that its client knows, what it must look at, and what the client made of
/// what it was told.
#[derive(Debug, Default)]
struct Stream {
    known: ConsumerView,
    pending: Scope,
    client: BTreeMap<TopicPartition, Role>,
}

impl Stream {
    fn take(&mut self, Difference { roles, ended }: Difference) {
        for (at, role) in ended {
            assert!(self.client.remove(&at).is_some_and(|known| known.is_same(&role)), "{at} ends twice");
        }
        for (at, role) in roles {
            let known = self.client.insert(at.clone(), role.clone());
            assert!(known.is_none_or(|known| !known.is_same(&role)), "{at} is told twice");
        }
    }
}

struct World {
    story: Story,
    streams: BTreeMap<MemberName, (Member, Stream)>,
    spoiled: BTreeMap<TopicPartition, Bytes>,
}

impl World {
    fn new(has_sets: bool) -> Self {
        let mut story = Story::new();
        if has_sets {
            story.group.topic_in_set("t", 3, "s");
            story.group.topic_in_set("u", 2, "s");
        }
        Self { story, streams: BTreeMap::new(), spoiled: BTreeMap::new() }
    }

    fn pass(&mut self, moment: &Moment) {
        match moment {
            Moment::Happens(event) => self.story.happen(event),
            Moment::Act => self.story.act(),
            Moment::SpoilHandoff(which) => self.spoil_handoff(*which),
            Moment::Look(who) => self.look(NAMES[*who]),
            Moment::CatchUp => self.catch_up(),
            Moment::Doubt(who) => {
                if let Some((_, stream)) = self.streams.get_mut(NAMES[*who]) {
                    stream.pending = Scope::Everything;
                }
            }
        }
        self.connect();
    }

    /// Every new session gets a stream, which begins with a look at everything.
    fn connect(&mut self) {
        let members = self.story.group.members();
        self.streams.retain(|_, (member, _)| members.contains(member));
        for member in members {
            self.streams
                .entry(member.name.clone())
                .or_insert_with(|| (member, Stream { pending: Scope::Everything, ..Stream::default() }));
        }
    }

    fn spoil_handoff(&mut self, which: usize) {
        let group = &mut self.story.group;
        let Some(at) = group.state.handoffs().keys().nth(which).cloned() else { return };
        let key = Key::Handoff(at.clone());
        let value = group.store.get(&group.state.layout().encode(&key)).unwrap().value.clone();
        self.spoiled.entry(at).or_insert(value);
        group.put(&key, "{");
    }

    /// Every stream learns what was touched, before anybody looks.
    fn ring(&mut self) {
        let Touched { members, .. } = std::mem::take(&mut self.story.group.touched);
        for (name, scope) in members {
            if let Some((_, stream)) = self.streams.get_mut(&name) {
                stream.pending.merge(scope);
            }
        }
    }

    fn look(&mut self, name: &str) {
        self.ring();
        let state = &self.story.group.state;
        let Some((member, stream)) = self.streams.get_mut(name) else { return };
        let scope = std::mem::take(&mut stream.pending);
        let difference = stream.known.follow(state, member, &scope);
        stream.take(difference);
        assert!(same(&stream.client, &stream.known.roles), "the stream knows what its client knows");
        let full = consumer_view(state, member);
        assert!(stream.known.is_up_to_date(&full), "{stream:?}\n{full:?}");
        assert!(stream.known.difference(&full).is_empty());
    }

    /// Everybody looks.
    fn catch_up(&mut self) {
        self.connect();
        let names: Vec<_> = self.streams.keys().cloned().collect();
        names.iter().for_each(|name| self.look(name.as_str()));
    }

    fn mend(&mut self) {
        self.story.mend();
        for (at, value) in std::mem::take(&mut self.spoiled) {
            self.story.group.put(&Key::Handoff(at), value);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn looking_at_what_was_touched_leads_where_looking_at_everything_leads(
        has_sets: bool, moments in prop::collection::vec(moment(), 0..120)
    ) {
        let mut world = World::new(has_sets);
        moments.iter().for_each(|moment| world.pass(moment));
        world.catch_up();
        world.mend();
        world.catch_up();
    }
}
