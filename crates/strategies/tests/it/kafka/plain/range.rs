//! `range`, a topic at a time.

use std::collections::BTreeSet;

use super::java_map::JavaMap;
use super::{Lists, Member, Plain, Topic, Tp, member_order};

/// One topic being shared out.
struct State<'a> {
    topic: &'a Topic,
    members: Vec<&'a Member>,
    left: Vec<Tp>,
    taken: JavaMap<String, usize>,
    quota: usize,
    extra: usize,
    by_rack: bool,
}

impl<'a> State<'a> {
    fn of(group: &Plain<'a>, topic: &'a Topic) -> Self {
        let mut members: Vec<_> = group.members.iter().map(|(_, member)| *member).collect();
        members.retain(|member| member.topics.contains(&topic.0));
        members.sort_by(|a, b| member_order(a, b));
        let left = group.partitions_of(topic);
        let by_rack = group.racks_matter(&members, &left);
        let (quota, extra) = (left.len() / members.len(), left.len() % members.len());
        Self { topic, members, left, taken: JavaMap::default(), quota, extra, by_rack }
    }

    fn room(&self, member: &Member) -> usize {
        let taken = self.taken.get(&member.id).copied().unwrap_or(0);
        (self.quota + usize::from(self.extra > 0)).saturating_sub(taken)
    }

    fn give(&mut self, member: &Member, partitions: Vec<Tp>, lists: &mut Lists) {
        let taken = self.taken.get(&member.id).copied().unwrap_or(0) + partitions.len();
        if !partitions.is_empty() && taken > self.quota {
            self.extra -= 1;
        }
        self.taken.put(member.id.clone(), taken);
        self.left.retain(|tp| !partitions.contains(tp));
        lists.get_mut(&member.id).unwrap().extend(partitions);
    }

    fn give_ranges(&mut self, lists: &mut Lists, may: impl Fn(&Member, &Tp) -> bool) {
        for member in self.members.clone() {
            let wanted = self.left.iter().filter(|tp| may(member, tp)).take(self.room(member));
            let wanted = wanted.cloned().collect();
            self.give(member, wanted, lists);
        }
    }

    fn ids(&self) -> Vec<&String> {
        self.members.iter().map(|member| &member.id).collect()
    }
}

pub(super) fn range(group: &Plain<'_>) -> Lists {
    let mut lists = group.empty_lists();
    let mut states: Vec<_> = in_map_order(group).into_iter().map(|topic| State::of(group, topic)).collect();
    let by_rack = states.iter().any(|state| state.by_rack);
    if by_rack {
        near_first(group, &mut states, &mut lists);
    }
    states.iter_mut().for_each(|state| state.give_ranges(&mut lists, |_, _| true));
    for id in group.members.keys().filter(|_| by_rack) {
        lists.get_mut(id).unwrap().sort();
    }
    lists
}

/// The topics as a map iterates that was filled from a set of all names.
fn in_map_order<'a>(group: &Plain<'a>) -> Vec<&'a Topic> {
    let mut names = JavaMap::default();
    let all = group.members.iter().flat_map(|(_, member)| &member.topics);
    all.for_each(|name| names.put(name.clone(), ()));
    let mut topics = JavaMap::default();
    for topic in names.keys().filter_map(|name| group.topic(name)) {
        topics.put(topic.0.clone(), topic);
    }
    topics.iter().map(|(_, topic)| *topic).collect()
}

fn near_first(group: &Plain<'_>, states: &mut [State<'_>], lists: &mut Lists) {
    let key = |state: &State<'_>| (format!("{:?}", state.ids()), state.topic.1);
    let keys: BTreeSet<_> = states.iter().map(key).collect();
    for wanted in keys {
        let mut alike: Vec<_> = states.iter_mut().filter(|state| key(state) == wanted).collect();
        match alike.as_mut_slice() {
            [state] if state.by_rack => state.give_ranges(lists, |member, tp| !group.mismatch(member, tp)),
            [_] => {}
            several => give_together(group, several, lists),
        }
    }
}

fn give_together(group: &Plain<'_>, states: &mut [&mut State<'_>], lists: &mut Lists) {
    for partition in 0..states[0].topic.1.cast_signed() {
        let near = |state: &State<'_>, member: &Member| {
            state.room(member) > 0 && !group.mismatch(member, &(state.topic.0.clone(), partition))
        };
        let members = states[0].members.clone();
        let first = members.into_iter().find(|member| states.iter().all(|state| near(state, member)));
        let Some(member) = first else { continue };
        for state in states.iter_mut() {
            let tp = (state.topic.0.clone(), partition);
            state.give(member, vec![tp], lists);
        }
    }
}
