//! Racks: their names as they are told, and where the replicas of units are.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::replica_racks::RackTable;
use crate::{Problem, RackHandle, RackIndex, ReplicaRacks, UnitIndex};

/// The racks that a builder was told of.
#[derive(Clone, Debug, Default)]
pub(super) struct RackNames {
    /// By handle.
    pub(super) names: Vec<Arc<str>>,
    by_name: FxHashMap<Arc<str>, RackHandle>,
    /// Names that another member holds too, and so may come again by reference; as many as it takes no longer to go
    /// through than to hash one.
    shared: Vec<(Arc<str>, RackHandle)>,
}

impl RackNames {
    const MOST_SHARED: usize = 8;

    #[inline]
    pub(super) fn handle(&mut self, name: &Arc<str>) -> RackHandle {
        match self.shared.iter().find(|(known, _)| Arc::ptr_eq(known, name)) {
            Some((_, handle)) => *handle,
            None => self.find_or_add(name),
        }
    }

    fn find_or_add(&mut self, name: &Arc<str>) -> RackHandle {
        let is_shared = Arc::strong_count(name) > 1;
        let next = RackHandle::new(self.names.len());
        let handle = *self.by_name.entry(name.clone()).or_insert(next);
        if handle == next {
            self.names.push(name.clone());
        }
        if is_shared && self.shared.len() < Self::MOST_SHARED {
            self.shared.push((name.clone(), handle));
        }
        handle
    }
}

/// The number of the rack set of each partition of a topic: the number of the first that was given with it, and numbers
/// from there on. Nothing is known of partitions beyond them.
#[derive(Clone, Debug, Default)]
pub(super) struct Located {
    first_set: u32,
    of_partition: Arc<[u32]>,
}

/// The racks of the replicas of all topics, as they come in.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplicaSetsBuilder {
    sets: Vec<Vec<RackHandle>>,
    /// By topic handle; empty, or too short, until one of the last is told.
    of_topic: Arc<Vec<Located>>,
    /// By where they are: the tables whose sets are there, each with the number of its first.
    tables: FxHashMap<usize, (Arc<RackTable>, u32)>,
}

impl ReplicaSetsBuilder {
    /// Says where the replicas of the topic at `topic` are.
    pub(super) fn tell(&mut self, topic: usize, racks: &ReplicaRacks, names: &mut RackNames) {
        let first_set = self.first_set(&racks.table, names);
        let of_topic = Arc::make_mut(&mut self.of_topic);
        if of_topic.len() <= topic {
            of_topic.resize_with(topic + 1, Located::default);
        }
        of_topic[topic] = Located { first_set, of_partition: racks.of_partition.clone() };
    }

    /// The number of the first set of `table`. That is kept, so no other can ever be at its place.
    fn first_set(&mut self, table: &Arc<RackTable>, names: &mut RackNames) -> u32 {
        let place = Arc::as_ptr(table).addr();
        if let Some((_, known)) = self.tables.get(&place) {
            return *known;
        }
        let first = u32::try_from(self.sets.len()).expect("there are fewer sets than u32 counts");
        let handles: Vec<_> = table.names.iter().map(|name| names.handle(name)).collect();
        let told = |set: &Vec<u32>| set.iter().map(|name| handles[*name as usize]).collect();
        self.sets.extend(table.sets.iter().map(told));
        self.tables.insert(place, (table.clone(), first));
        first
    }

    /// The same with racks by `rank`, and topics as `arranged` puts the handles of all that were told in order, unless
    /// they are.
    pub(super) fn sorted(
        self,
        rank: impl Fn(RackHandle) -> RackIndex,
        arranged: Option<impl Iterator<Item = usize>>,
    ) -> ReplicaSets {
        let ranked = |set: Vec<RackHandle>| {
            let mut racks: Vec<_> = set.into_iter().map(&rank).collect();
            racks.sort_unstable();
            racks
        };
        let sets = self.sets.into_iter().map(ranked).collect();
        let of_topic = match arranged {
            Some(order) if !self.of_topic.is_empty() => {
                Arc::new(order.map(|at| self.of_topic.get(at).cloned().unwrap_or_default()).collect())
            }
            _ => self.of_topic,
        };
        ReplicaSets { sets, of_topic }
    }
}

/// The racks of the replicas of all units.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplicaSets {
    /// Each sorted and distinct. Which there are, in what order and how often depends on how they were told.
    sets: Vec<Vec<RackIndex>>,
    /// By topic; empty, or too short, if nothing is known of the last.
    of_topic: Arc<Vec<Located>>,
}

impl ReplicaSets {
    fn of(&self, topic: usize, partition: usize) -> &[RackIndex] {
        self.of_topic.get(topic).map_or(&[], |located| self.located(located, partition))
    }

    fn located(&self, located: &Located, partition: usize) -> &[RackIndex] {
        let set = located.of_partition.get(partition);
        set.map_or(&[], |set| &self.sets[located.first_set as usize + *set as usize])
    }

    fn partitions_of(&self, topic: usize) -> usize {
        self.of_topic.get(topic).map_or(0, |located| located.of_partition.len())
    }
}

/// Equal if every partition has its replicas in the same racks, however that was told.
impl PartialEq for ReplicaSets {
    fn eq(&self, other: &Self) -> bool {
        (0..self.of_topic.len().max(other.of_topic.len())).all(|topic| {
            let partitions = self.partitions_of(topic).max(other.partitions_of(topic));
            (0..partitions).all(|partition| self.of(topic, partition) == other.of(topic, partition))
        })
    }
}

impl Eq for ReplicaSets {}

impl Problem {
    /// The racks in which `unit` has replicas, ascending; empty if that is unknown. Takes the logarithm of the number
    /// of topics.
    ///
    /// # Panics
    ///
    /// If there is no such unit.
    pub fn replica_racks(&self, unit: UnitIndex) -> &[RackIndex] {
        let (topic, partition) = self.topic_of(unit);
        self.replica_sets.of(topic.index(), partition as usize)
    }

    /// True if the racks of the replicas of any topic are known.
    pub(crate) fn has_replica_racks(&self) -> bool {
        !self.replica_sets.of_topic.is_empty()
    }
}

/// Looks up where the replicas of units are. After one of a topic others of that cost next to nothing.
pub(crate) struct RackReader<'a> {
    problem: &'a Problem,
    /// The last topic, and where its units are.
    topic: usize,
    positions: Range<usize>,
    /// Its sets, and which of them each of its partitions has.
    sets: &'a [Vec<RackIndex>],
    of_partition: &'a [u32],
}

impl<'a> RackReader<'a> {
    pub(crate) fn of(problem: &'a Problem) -> Self {
        Self { problem, topic: 0, positions: 0..0, sets: &[], of_partition: &[] }
    }

    /// The same as [`Problem::replica_racks`].
    #[inline]
    pub(crate) fn racks(&mut self, unit: UnitIndex) -> &'a [RackIndex] {
        if !self.positions.contains(&unit.index()) {
            self.turn_to(unit);
        }
        let set = self.of_partition.get(unit.index() - self.positions.start);
        set.map_or(&[], |set| &self.sets[*set as usize])
    }

    fn turn_to(&mut self, unit: UnitIndex) {
        let Problem { topics, replica_sets, .. } = self.problem;
        // Most walk through all topics, up or down.
        let beside = [self.topic + 1, self.topic.saturating_sub(1)].into_iter();
        let found = beside
            .filter(|topic| *topic < topics.len())
            .find(|topic| topics.units_of(*topic).contains(&unit.index()));
        self.topic = found.unwrap_or_else(|| self.problem.topic_of(unit).0.index());
        self.positions = topics.units_of(self.topic);
        let located = replica_sets.of_topic.get(self.topic);
        self.sets = located.map_or(&[], |located| &replica_sets.sets[located.first_set as usize..]);
        self.of_partition = located.map_or(&[], |located| &located.of_partition);
    }
}
