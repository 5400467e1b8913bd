//! The sticky rule for different subscriptions.

use super::java_map::JavaMap;
use super::{Lists, Plain, Tp, compare, generation};

/// Topic, source and target.
type Way = (String, String, String);

struct General<'a> {
    group: &'a Plain<'a>,
    lists: Lists,
    owner: JavaMap<Tp, String>,
    /// The members that take part, by load and id.
    sorted: Vec<String>,
    previous: JavaMap<Tp, String>,
    moved: JavaMap<Tp, (String, String)>,
    /// The partitions that moved each way, in the order of a set.
    ways: Vec<(Way, JavaMap<Tp, ()>)>,
}

pub(super) fn assign(group: &Plain<'_>, owned: &Lists) -> Lists {
    let mut general = General::of(group, owned);
    let must_give = general.keep();
    general.balance(must_give);
    general.lists
}

impl<'a> General<'a> {
    fn of(group: &'a Plain<'a>, owned: &Lists) -> Self {
        Self {
            group,
            lists: owned.clone(),
            owner: JavaMap::default(),
            sorted: Vec::new(),
            previous: previous(group),
            moved: JavaMap::default(),
            ways: Vec::new(),
        }
    }

    fn wants(&self, id: &str, topic: &str) -> bool {
        self.group.member(id).topics.iter().any(|name| name == topic)
    }

    /// As often as they list the topic.
    fn subscribers(&self, topic: &str) -> Vec<String> {
        let times = |id: &String| {
            self.group.member(id).topics.iter().filter(|name| *name == topic).map(|_| id.clone()).collect()
        };
        self.group.members.keys().flat_map::<Vec<String>, _>(times).collect()
    }

    fn load(&self, id: &String) -> usize {
        self.lists.get(id).unwrap().len()
    }

    fn sort(&mut self) {
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.sort_by(|a, b| self.load(a).cmp(&self.load(b)).then(compare(a, b)));
        self.sorted = sorted;
    }

    fn keep(&mut self) -> bool {
        let mut must_give = false;
        for id in self.group.members.keys() {
            let list = self.lists.get(id).unwrap().clone();
            let stays = |tp: &Tp| {
                let far = self.group.by_rack && self.group.mismatch(self.group.member(id), tp);
                self.wants(id, &tp.0) && !far
            };
            let (stay, go): (Vec<_>, Vec<_>) = list.into_iter().partition(stays);
            must_give |= !go.is_empty();
            stay.iter().for_each(|tp| self.owner.put(tp.clone(), id.clone()));
            *self.lists.get_mut(id).unwrap() = stay;
        }
        must_give
    }

    fn balance(&mut self, must_give: bool) {
        self.sorted = self.group.members.keys().cloned().collect();
        self.sort();
        let is_fresh = self.load(self.sorted.last().unwrap()) == 0;
        let mut topics = self.group.topics.clone();
        topics.sort_by_key(|topic| self.subscribers(&topic.0).len());
        let mut all: Vec<Tp> = topics.iter().flat_map(|topic| self.group.partitions_of(topic)).collect();
        let mut free: Vec<Tp> = all.iter().filter(|tp| self.owner.get(tp).is_none()).cloned().collect();
        for near_only in [true, false] {
            if self.group.by_rack || !near_only {
                free.iter().for_each(|tp| self.give(tp, near_only));
            }
        }
        all.retain(|tp| self.subscribers(&tp.0).len() > 1);
        free.retain(|tp| self.subscribers(&tp.0).len() > 1);
        let takes_part = |id: &String| self.takes_part(id);
        self.sorted = self.sorted.iter().filter(|id| takes_part(id)).cloned().collect();
        let before = (self.lists.clone(), self.score());
        if !must_give {
            self.perform(&free);
        }
        if self.perform(&all) && !is_fresh && self.score() >= before.1 {
            self.lists = before.0;
        }
    }

    fn give(&mut self, tp: &Tp, near_only: bool) {
        if self.owner.get(tp).is_some() {
            return;
        }
        let fits = |id: &&String| {
            self.wants(id, &tp.0) && !(near_only && self.group.mismatch(self.group.member(id), tp))
        };
        if let Some(id) = self.sorted.iter().find(fits).cloned() {
            self.lists.get_mut(&id).unwrap().push(tp.clone());
            self.owner.put(tp.clone(), id);
            self.sort();
        }
    }

    fn most(&self, id: &str) -> usize {
        let topics = self.group.member(id).topics.iter();
        topics.filter_map(|name| self.group.topic(name)).map(|topic| topic.1 as usize).sum()
    }

    fn takes_part(&self, id: &String) -> bool {
        let list = self.lists.get(id).unwrap();
        list.len() < self.most(id) || list.iter().any(|tp| self.subscribers(&tp.0).len() > 1)
    }

    fn is_balanced(&self) -> bool {
        let load = |id: &String| self.load(id);
        if load(self.sorted.first().unwrap()) + 1 >= load(self.sorted.last().unwrap()) {
            return true;
        }
        let lacking = |id: &String| {
            let topics: Vec<_> = self.group.topics.iter().filter(|topic| self.wants(id, &topic.0)).collect();
            let list = self.lists.get(id).unwrap();
            let all = topics.into_iter().flat_map(|topic| self.group.partitions_of(topic));
            all.filter(|tp| !list.contains(tp)).collect::<Vec<_>>()
        };
        self.sorted.iter().all(|id| {
            load(id) == self.most(id)
                || lacking(id).iter().all(|tp| load(id) + 1 >= load(self.owner.get(tp).unwrap()))
        })
    }

    fn perform(&mut self, partitions: &[Tp]) -> bool {
        let mut performed = false;
        loop {
            let mut modified = false;
            for tp in partitions {
                if self.is_balanced() {
                    break;
                }
                modified |= self.reassign(tp);
            }
            if !modified {
                return performed;
            }
            performed = true;
        }
    }

    fn reassign(&mut self, tp: &Tp) -> bool {
        let owner = self.owner.get(tp).unwrap().clone();
        if let Some(previous) = self.previous.get(tp).cloned()
            && self.load(&owner) > self.load(&previous) + 1
        {
            self.move_to(tp, &owner, &previous);
            return true;
        }
        let emptier = |id: &String| self.load(&owner) > self.load(id) + 1;
        let helps = self.subscribers(&tp.0).iter().any(emptier);
        if helps {
            let to = self.sorted.iter().find(|id| self.wants(id, &tp.0)).unwrap().clone();
            self.move_to(tp, &owner, &to);
        }
        helps
    }

    fn way(&self, topic: &str, from: &str, to: &str) -> Option<usize> {
        self.ways.iter().position(|(way, _)| way.0 == topic && way.1 == from && way.2 == to)
    }

    fn move_to(&mut self, tp: &Tp, owner: &str, to: &str) {
        let first = self.moved.get(tp).map_or(owner.to_owned(), |(from, _)| from.clone());
        let reverse = self.way(&tp.0, to, &first);
        let tp = reverse.map_or(tp.clone(), |way| self.ways[way].1.keys().next().unwrap().clone());
        let from = self.owner.get(&tp).unwrap().clone();
        self.record(&tp, &from, to);
        self.lists.get_mut(&from).unwrap().retain(|known| *known != tp);
        self.lists.get_mut(&to.to_owned()).unwrap().push(tp.clone());
        self.owner.put(tp, to.to_owned());
        self.sort();
    }

    fn record(&mut self, tp: &Tp, from: &str, to: &str) {
        let mut from = from.to_owned();
        if let Some((first, last)) = self.moved.get(tp).cloned() {
            let way = self.way(&tp.0, &first, &last).unwrap();
            self.ways[way].1.remove(tp);
            if self.ways[way].1.keys().next().is_none() {
                self.ways.remove(way);
            }
            self.moved.remove(tp);
            from = first;
        }
        if from != to {
            self.moved.put(tp.clone(), (from.clone(), to.to_owned()));
            let way = self.way(&tp.0, &from, to).unwrap_or_else(|| {
                self.ways.push(((tp.0.clone(), from, to.to_owned()), JavaMap::default()));
                self.ways.len() - 1
            });
            self.ways[way].1.put(tp.clone(), ());
        }
    }

    fn score(&self) -> usize {
        let loads: Vec<_> = self.sorted.iter().map(|id| self.load(id)).collect();
        let pairs = loads.iter().enumerate().flat_map(|(at, a)| loads[..at].iter().map(|b| a.abs_diff(*b)));
        pairs.sum()
    }
}

/// By partition the newest old owner that still wants its topic.
fn previous(group: &Plain<'_>) -> JavaMap<Tp, String> {
    let newest = group.members.iter().map(|(_, member)| generation(member)).max();
    let mut previous: JavaMap<Tp, String> = JavaMap::default();
    for (id, member) in group.members.iter().filter(|(_, member)| Some(generation(member)) < newest) {
        for tp in group.claims(member).into_iter().filter(|tp| member.topics.contains(&tp.0)) {
            let known = previous.get(&tp).map(|known| generation(group.member(known)));
            if known.is_none_or(|known| generation(member) > known) {
                previous.put(tp, id.clone());
            }
        }
    }
    previous
}
