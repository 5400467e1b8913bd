//! One topic with state and the members that share it, from one placement to the next.

use std::collections::BTreeMap;

use kafka_assigner_strategies::{
    CopartitionedSticky, MemberIndex, MemberSpec, Options, Placement, Problem, Strategy,
};

/// The owners and the copies of one topic: partitions owned, and copies held with how far they are behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cluster {
    pub(crate) partitions: u32,
    pub(crate) standbys: u32,
    pub(crate) members: BTreeMap<String, Held>,
}

/// The partitions and copies that a member has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) owns: Vec<u32>,
    pub(crate) copies: Vec<(u32, u64)>,
}

impl Held {
    pub(crate) fn of(owns: &[u32], copies: &[u32]) -> Self {
        Self { owns: owns.to_vec(), copies: copies.iter().map(|partition| (*partition, 0)).collect() }
    }
}

impl Cluster {
    /// `members` that have nothing yet: `c0000` and so on.
    pub(crate) fn fresh(partitions: u32, standbys: u32, members: usize) -> Self {
        let mut cluster = Self { partitions, standbys, members: BTreeMap::new() };
        (0..members).for_each(|member| cluster.join(&format!("c{member:04}")));
        cluster
    }

    /// Members `c0`, `c1` and so on, each with what it owns and what it has copies of.
    pub(crate) fn of(partitions: u32, standbys: u32, members: &[(&[u32], &[u32])]) -> Self {
        let held = |(owns, copies): &(&[u32], &[u32])| Held::of(owns, copies);
        let members = (0..).zip(members).map(|(at, member): (u32, _)| (format!("c{at}"), held(member)));
        Self { partitions, standbys, members: members.collect() }
    }

    pub(crate) fn join(&mut self, id: &str) {
        self.members.insert(id.to_owned(), Held::default());
    }

    pub(crate) fn leave(&mut self, id: &str) {
        self.members.remove(id).unwrap();
    }

    /// The question as it stands. Of two owners of one partition the first counts.
    pub(crate) fn problem(&self) -> Problem {
        let mut builder = Problem::builder();
        builder.options(Options { acceptable_lag: 100, ..Options::default() });
        let topic = builder.topic("t", self.partitions);
        builder.want_standbys(topic, self.standbys);
        let mut owned = vec![false; self.partitions as usize];
        for (id, held) in &self.members {
            let member = builder.member(MemberSpec::new(id.as_str()));
            for partition in &held.owns {
                if !std::mem::replace(&mut owned[*partition as usize], true) {
                    builder.current(topic, *partition, member);
                }
            }
            for (partition, lag) in &held.copies {
                builder.standby(topic, *partition, member, *lag);
            }
        }
        builder.build().unwrap()
    }

    /// The cluster once the answer to [`problem`](Self::problem) has come true.
    pub(crate) fn settled(&self) -> Self {
        let problem = self.problem();
        self.after(&problem, &CopartitionedSticky.assign(&problem))
    }

    fn after(&self, problem: &Problem, placement: &Placement) -> Self {
        let id = |member: MemberIndex| problem.member(member).id.to_string();
        let mut members: BTreeMap<_, Held> =
            self.members.keys().map(|id| (id.clone(), Held::default())).collect();
        for (unit, partition) in problem.unit_indices().zip(0..) {
            let owner = placement.owner[unit.index()].unwrap();
            members.get_mut(&id(owner)).unwrap().owns.push(partition);
            for standby in placement.standbys.of(unit) {
                members.get_mut(&id(*standby)).unwrap().copies.push((partition, 0));
            }
        }
        Self { members, ..self.clone() }
    }

    /// The number of partitions that each member owns.
    pub(crate) fn owned(&self) -> Vec<usize> {
        self.members.values().map(|held| held.owns.len()).collect()
    }

    /// The number of copies that each member holds.
    pub(crate) fn copied(&self) -> Vec<usize> {
        self.members.values().map(|held| held.copies.len()).collect()
    }

    /// The partitions that have another owner in `later`, and had one before.
    pub(crate) fn moved(&self, later: &Self) -> Vec<u32> {
        let kept = |id: &String, partition: &u32| {
            later.members.get(id).is_some_and(|held| held.owns.contains(partition))
        };
        let owned = self.members.iter().flat_map(|(id, held)| held.owns.iter().map(move |owned| (id, owned)));
        let mut moved: Vec<_> =
            owned.filter(|(id, partition)| !kept(id, partition)).map(|(_, partition)| *partition).collect();
        moved.sort_unstable();
        moved
    }

    /// Each partition has one owner and as many copies elsewhere as there can be; nobody has more
    /// than one more than another.
    pub(crate) fn assert_sound(&self) {
        let copies = (self.standbys as usize).min(self.members.len().saturating_sub(1));
        for partition in 0..self.partitions {
            let owners = self.members.values().filter(|held| held.owns.contains(&partition));
            assert_eq!(owners.count(), 1, "owners of {partition}");
            let holders = self.members.values().filter(|held| held.has_copy(partition));
            assert_eq!(holders.count(), copies, "copies of {partition}");
        }
        assert_eq!(self.copied().iter().sum::<usize>(), copies * self.partitions as usize);
        for held in self.members.values() {
            assert!(held.owns.iter().all(|partition| !held.has_copy(*partition)), "{held:?}");
        }
        assert!(spread(&self.owned()) <= 1, "owned: {:?}", self.owned());
        assert!(spread(&self.copied()) <= 1, "copied: {:?}", self.copied());
    }
}

impl Held {
    pub(crate) fn has_copy(&self, partition: u32) -> bool {
        self.copies.iter().any(|(copy, _)| *copy == partition)
    }
}

/// The difference between the most and the least.
pub(crate) fn spread(counts: &[usize]) -> usize {
    counts.iter().max().unwrap() - counts.iter().min().unwrap()
}
