//! Kafka's rules once more, word for word and without a thought for speed: strings, lists, and every
//! question asked anew each time. What the crate does with numbers must come out the same.

mod equal;
mod java_map;
mod mixed;
mod range;

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::vector::{Member, OfTopic, Outcome, Topic, Vector};
use java_map::JavaMap;

/// A topic's partition.
type Tp = (String, i32);
/// The partitions of each member, by id.
type Lists = JavaMap<String, Vec<Tp>>;

pub(crate) fn outcome(vector: &Vector) -> Outcome {
    let group = Plain::of(vector);
    let lists = match vector.assignor.as_str() {
        "range" => range::range(&group),
        "rr" => roundrobin(&group),
        "sticky" => settle(&group).0,
        "coop" => withhold(&group),
        other => panic!("no assignor is called {other}"),
    };
    lists.iter().map(|(id, list)| (id.clone(), by_topic(list))).collect()
}

fn by_topic(list: &[Tp]) -> Vec<OfTopic> {
    let mut lists: Vec<OfTopic> = Vec::new();
    for (topic, partition) in list {
        match lists.iter_mut().find(|(known, _)| known == topic) {
            Some((_, partitions)) => partitions.push(*partition),
            None => lists.push((topic.clone(), vec![*partition])),
        }
    }
    lists
}

/// As Java compares.
fn compare(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// The group as the assignors see it.
pub(crate) struct Plain<'a> {
    members: JavaMap<String, &'a Member>,
    /// Those that have partitions and subscribers, by name.
    topics: Vec<&'a Topic>,
    /// True if racks count, in all rules but `range`.
    by_rack: bool,
}

impl<'a> Plain<'a> {
    fn of(vector: &'a Vector) -> Self {
        let mut members = JavaMap::default();
        vector.members.iter().for_each(|member| members.put(member.id.clone(), member));
        let is_wanted = |topic: &&Topic| members.iter().any(|(_, member)| member.topics.contains(&topic.0));
        let mut topics: Vec<_> = vector.topics.iter().filter(is_wanted).filter(|topic| topic.1 > 0).collect();
        topics.sort_by(|a, b| compare(&a.0, &b.0));
        let mut group = Self { members, topics, by_rack: false };
        let everybody: Vec<_> = group.members.iter().map(|(_, member)| *member).collect();
        group.by_rack = group.racks_matter(&everybody, &group.partitions());
        group
    }

    fn topic(&self, name: &str) -> Option<&'a Topic> {
        self.topics.iter().find(|topic| topic.0 == name).copied()
    }

    fn member(&self, id: &str) -> &'a Member {
        self.members.get(&id.to_owned()).unwrap()
    }

    fn partitions_of(&self, topic: &Topic) -> Vec<Tp> {
        (0..topic.1.cast_signed()).map(|partition| (topic.0.clone(), partition)).collect()
    }

    fn partitions(&self) -> Vec<Tp> {
        self.topics.iter().flat_map(|topic| self.partitions_of(topic)).collect()
    }

    fn racks(&self, tp: &Tp) -> BTreeSet<String> {
        let racks = self.topic(&tp.0).and_then(|topic| topic.2.get(tp.1.cast_unsigned() as usize));
        racks.into_iter().flat_map(|racks| racks.chars().map(String::from)).collect()
    }

    fn mismatch(&self, member: &Member, tp: &Tp) -> bool {
        member.rack.as_ref().is_some_and(|rack| !self.racks(tp).contains(rack))
    }

    fn racks_matter(&self, members: &[&Member], partitions: &[Tp]) -> bool {
        let wanted: BTreeSet<_> = members.iter().filter_map(|member| member.rack.clone()).collect();
        let sets: Vec<_> = partitions.iter().map(|tp| self.racks(tp)).collect();
        let all: BTreeSet<_> = sets.iter().flatten().cloned().collect();
        wanted.intersection(&all).next().is_some() && !sets.iter().all(|set| *set == all)
    }

    fn empty_lists(&self) -> Lists {
        let mut lists = Lists::default();
        self.members.keys().for_each(|id| lists.put(id.clone(), Vec::new()));
        lists
    }

    /// The claims of a member on what exists.
    fn claims(&self, member: &Member) -> Vec<Tp> {
        let all = member
            .owned
            .iter()
            .flat_map(|(topic, partitions)| partitions.iter().map(|partition| (topic.clone(), *partition)));
        let exists =
            |tp: &Tp| self.topic(&tp.0).is_some_and(|topic| (0..topic.1.cast_signed()).contains(&tp.1));
        all.filter(exists).collect()
    }
}

/// Static members first.
fn member_order(a: &Member, b: &Member) -> Ordering {
    match (&a.instance, &b.instance) {
        (Some(a), Some(b)) => compare(a, b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => compare(&a.id, &b.id),
    }
}

fn roundrobin(group: &Plain<'_>) -> Lists {
    let mut circle: Vec<_> = group.members.iter().map(|(_, member)| *member).collect();
    circle.sort_by(|a, b| member_order(a, b));
    let mut lists = group.empty_lists();
    let mut cursor = 0;
    for tp in group.partitions() {
        while !circle[cursor % circle.len()].topics.contains(&tp.0) {
            cursor += 1;
        }
        lists.get_mut(&circle[cursor % circle.len()].id).unwrap().push(tp);
        cursor += 1;
    }
    lists
}

/// The owners after all claims are heard, and the partitions that were claimed twice in one generation.
pub(crate) struct Heard {
    owned: Lists,
    doubled: Vec<Tp>,
}

fn generation(member: &Member) -> i32 {
    member.generation.filter(|generation| *generation >= 0).unwrap_or(-1)
}

fn hear(group: &Plain<'_>) -> Heard {
    let mut heard = Heard { owned: Lists::default(), doubled: Vec::new() };
    let mut owner: JavaMap<Tp, String> = JavaMap::default();
    for (id, member) in group.members.iter() {
        heard.owned.put(id.clone(), Vec::new());
        for tp in group.claims(member) {
            if let Some(other) = owner.get(&tp).cloned() {
                let theirs = generation(group.member(&other));
                if generation(member) < theirs {
                    continue;
                }
                heard.owned.get_mut(&other).unwrap().retain(|known| *known != tp);
                if generation(member) == theirs {
                    heard.doubled.push(tp.clone());
                    owner.put(tp, id.clone());
                    continue;
                }
            }
            heard.owned.get_mut(id).unwrap().push(tp.clone());
            owner.put(tp, id.clone());
        }
    }
    heard
}

fn alike(group: &Plain<'_>) -> bool {
    let mut members = group.members.iter().map(|(_, member)| member);
    let Some(first) = members.next() else { return true };
    let set: BTreeSet<_> = first.topics.iter().collect();
    members.all(|member| {
        member.topics.len() == set.len() && set == member.topics.iter().collect::<BTreeSet<_>>()
    })
}

/// The sticky result, and who may keep what they own without letting go of it first.
fn settle(group: &Plain<'_>) -> (Lists, Lists) {
    let mut heard = hear(group);
    if alike(group) {
        heard.owned.keys().cloned().collect::<Vec<_>>().iter().for_each(|id| {
            let doubled = &heard.doubled;
            heard.owned.get_mut(id).unwrap().retain(|tp| !doubled.contains(tp));
        });
        (equal::assign(group, &heard.owned), heard.owned)
    } else {
        (mixed::assign(group, &heard.owned), heard.owned)
    }
}

fn withhold(group: &Plain<'_>) -> Lists {
    let (mut lists, owned) = settle(group);
    let claimed: Vec<_> = group.members.iter().flat_map(|(_, member)| group.claims(member)).collect();
    for id in group.members.keys() {
        let own = owned.get(id).unwrap();
        lists.get_mut(id).unwrap().retain(|tp| own.contains(tp) || !claimed.contains(tp));
    }
    lists
}
