//! Kafka's assignors in the shapes in which Kafka's own classes were measured: members × partitions
//! a member × topics, all subscribing alike or in five disjoint buckets; fresh, and after one more
//! joined. A million partitions in 500 topics over 2000 members, too, also with one member apart
//! that has a single topic; and what it costs to tell all that.

use std::hint::black_box;
use std::ops::Range;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use kafka_assigner_strategies::kafka::{
    Group, GroupAssignment, GroupMemberSpec, cooperative_sticky, range, roundrobin,
};

/// Members, partitions a member, topics.
#[derive(Clone, Copy)]
struct Shape {
    members: usize,
    ratio: usize,
    topics: usize,
    interest: Interest,
}

/// The subscriptions of members to topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interest {
    All,
    /// Disjoint buckets of topics, each with as many members.
    FiveBuckets,
    /// The first member to one topic, the others to all.
    OneApart,
}

impl Interest {
    /// The topics of each kind of members.
    fn topics(self, topics: usize) -> Vec<Range<usize>> {
        let size = topics.div_ceil(5);
        match self {
            Self::All => std::iter::once(0..topics).collect(),
            Self::FiveBuckets => (0..5).map(|at| at * size..((at + 1) * size).min(topics)).collect(),
            Self::OneApart => vec![0..1, 0..topics],
        }
    }

    /// Of which kind a member is.
    fn kind(self, member: usize, members: usize) -> usize {
        match self {
            Self::All => 0,
            Self::FiveBuckets => member / members.div_ceil(5),
            Self::OneApart => member.min(1),
        }
    }
}

impl Shape {
    const fn new((members, ratio, topics): (usize, usize, usize), interest: Interest) -> Self {
        Self { members, ratio, topics, interest }
    }

    /// The group of the first `members`, of which those that `before` knows own what it gave them.
    fn group(self, members: usize, before: Option<(&Group, &GroupAssignment)>) -> Group {
        let mut builder = Group::builder();
        let partitions = u32::try_from(self.members * self.ratio / self.topics).expect("it is small");
        let topics: Vec<_> =
            (0..self.topics).map(|at| builder.topic(format!("topic-{at}"), partitions)).collect();
        let kinds = self.interest.topics(self.topics).into_iter();
        let subscriptions: Vec<_> = kinds.map(|kind| builder.subscription(topics[kind].to_vec())).collect();
        for at in 0..members {
            let id = format!("member-{at}");
            let spec = GroupMemberSpec {
                generation: Some(1),
                ..GroupMemberSpec::new(&*id, subscriptions[self.interest.kind(at, self.members)])
            };
            let handle = builder.member(spec);
            let Some((group, assignment)) = before else { continue };
            let owned = group.member_named(&id).map_or(&[][..], |member| assignment.of(member));
            for unit in owned {
                let (topic, partition) = group.topic_of(*unit);
                let topic = builder.topic_handle(&group.topics()[topic.index()].name).expect("it was told");
                builder.claims(handle, topic, [i32::try_from(partition).expect("it is small")]);
            }
        }
        builder.build().expect("names are distinct")
    }
}

const SIZES: [(usize, usize, usize); 12] = [
    (100, 5, 10),
    (100, 10, 100),
    (100, 50, 1000),
    (500, 10, 100),
    (1000, 10, 100),
    (1000, 50, 1000),
    (5000, 10, 100),
    (5000, 50, 1000),
    (10000, 5, 10),
    (10000, 10, 100),
    (10000, 10, 1000),
    (10000, 50, 1000),
];

fn kafka(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("kafka");
    group
        .sample_size(10)
        .measurement_time(Duration::from_millis(500))
        .warm_up_time(Duration::from_millis(100));
    for size in SIZES {
        for interest in [Interest::All, Interest::FiveBuckets] {
            measure(&mut group, Shape::new(size, interest));
        }
    }
    for interest in [Interest::All, Interest::OneApart] {
        measure(&mut group, Shape::new((2000, 500, 500), interest));
    }
}

fn measure(bench: &mut BenchmarkGroup<'_, WallTime>, shape: Shape) {
    let Shape { members, ratio, topics, interest } = shape;
    let name = format!("{members}x{ratio}x{topics} {interest:?}");
    let one_less = shape.group(members - 1, None);
    let before = cooperative_sticky(&one_less);
    let fresh = shape.group(members, None);
    let joined = shape.group(members, Some((&one_less, &before)));
    for (what, assignor, group) in [
        ("range", range as fn(&Group) -> GroupAssignment, &fresh),
        ("roundrobin", roundrobin, &fresh),
        ("cooperative-sticky", cooperative_sticky, &fresh),
        ("cooperative-sticky, one joins", cooperative_sticky, &joined),
    ] {
        let id = BenchmarkId::new(what, &name);
        bench.bench_with_input(id, group, |bencher, group| bencher.iter(|| assignor(black_box(group))));
    }
    let id = BenchmarkId::new("telling", &name);
    bench.bench_function(id, |bencher| bencher.iter(|| shape.group(members, Some((&one_less, &before)))));
}

criterion_group!(benches, kafka);
criterion_main!(benches);
