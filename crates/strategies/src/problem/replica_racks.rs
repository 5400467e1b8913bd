//! The racks of the replicas of a topic, as a caller keeps them: [`ReplicaRacks`].

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// In which racks each partition of one topic has replicas. Made of names once and told to one
/// [`ProblemBuilder`](crate::ProblemBuilder) after the other for as long as replicas stay where they are, as a broker
/// keeps its metadata: to tell it costs the same however many partitions there are. Clones share everything.
///
/// Topics that are [made together](Self::of_topics) share their sets of racks, of which there are few. Those made each
/// for itself are told just as well, a little slower.
///
/// ```
/// use kafka_assigner_strategies::{Problem, ReplicaRacks, RackIndex};
///
/// let clicks = ReplicaRacks::new([vec!["east", "west"], vec!["west"], vec![]]);
/// let mut builder = Problem::builder();
/// let topic = builder.topic("clicks", 3);
/// builder.replica_racks(topic, &clicks);
/// let problem = builder.build()?;
/// let racks = problem.unit_indices().map(|unit| problem.replica_racks(unit).len());
/// assert_eq!(racks.collect::<Vec<_>>(), [2, 1, 0]);
/// # Ok::<(), kafka_assigner_strategies::InvalidProblem>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReplicaRacks {
    pub(super) table: Arc<RackTable>,
    /// By partition the number of its set.
    pub(super) of_partition: Arc<[u32]>,
}

/// Sets of racks that topics share.
#[derive(Debug, Default)]
pub(super) struct RackTable {
    /// The names of racks, each once.
    pub(super) names: Vec<Arc<str>>,
    /// Places in `names`; each set once, sorted and distinct.
    pub(super) sets: Vec<Vec<u32>>,
}

impl ReplicaRacks {
    /// Those of one topic: by partition, from zero on, the names of the racks in which it has replicas, in any order;
    /// none if that is unknown.
    pub fn new<Names>(partitions: impl IntoIterator<Item = Names>) -> Self
    where
        Names: IntoIterator<Item: AsRef<str>>,
    {
        let mut collector = Collector::default();
        let of_partition = collector.topic(partitions);
        Self { table: Arc::new(collector.table), of_partition }
    }

    /// Those of many topics, in their order; each told as in [`new`](Self::new). Whoever is told one of them knows of
    /// the racks of all.
    pub fn of_topics<ProblemTopic, Names>(topics: impl IntoIterator<Item = ProblemTopic>) -> Vec<Self>
    where
        ProblemTopic: IntoIterator<Item = Names>,
        Names: IntoIterator<Item: AsRef<str>>,
    {
        let mut collector = Collector::default();
        let topics: Vec<_> = topics.into_iter().map(|topic| collector.topic(topic)).collect();
        let table = Arc::new(collector.table);
        topics.into_iter().map(|of_partition| Self { table: table.clone(), of_partition }).collect()
    }

    /// The number of partitions whose racks are given.
    pub fn partitions(&self) -> usize {
        self.of_partition.len()
    }
}

/// Collects the sets of topics.
#[derive(Default)]
struct Collector {
    table: RackTable,
    names: FxHashMap<Arc<str>, u32>,
    sets: FxHashMap<Vec<u32>, u32>,
}

impl Collector {
    /// By partition the number of its set.
    fn topic<Names>(&mut self, partitions: impl IntoIterator<Item = Names>) -> Arc<[u32]>
    where
        Names: IntoIterator<Item: AsRef<str>>,
    {
        partitions.into_iter().map(|names| self.set(names)).collect()
    }

    fn set(&mut self, names: impl IntoIterator<Item: AsRef<str>>) -> u32 {
        let mut set: Vec<_> = names.into_iter().map(|name| self.name(name.as_ref())).collect();
        set.sort_unstable();
        set.dedup();
        if let Some(known) = self.sets.get(&set) {
            return *known;
        }
        let next = number(self.table.sets.len());
        self.table.sets.push(set.clone());
        self.sets.insert(set, next);
        next
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let (name, next) = (Arc::<str>::from(name), number(self.table.names.len()));
        self.table.names.push(name.clone());
        self.names.insert(name, next);
        next
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).expect("there are fewer racks, and sets of racks, than u32 counts")
}
