//! The time that each strategy takes: fresh, when one member joins or leaves, when nothing changed;
//! and the time for telling the problem of the last.
//!
//! Topics have 2 000 partitions each.

use std::ops::Range;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use kafka_assigner_strategies::{
    MemberHandle, MemberIndex, MemberSpec, Placement, Problem, Strategy, TopicHandle, all,
};

const PARTITIONS_PER_TOPIC: usize = 2_000;

/// The topics that members subscribe to.
#[derive(Clone, Copy, Debug)]
enum Interest {
    /// Everybody to all.
    All,
    /// The first member to the first topic, the others to all.
    OneApart,
    /// Each to one of five equal parts.
    FiveParts,
    /// Each to the first or to the last two thirds.
    TwoOverlapping,
}

impl Interest {
    /// The topics of the member of that number, out of `topics`.
    fn of(self, member: usize, topics: usize) -> Range<usize> {
        let fifth = |part: usize| topics * part / 5;
        match self {
            Self::OneApart if member == 0 => 0..1,
            Self::All | Self::OneApart => 0..topics,
            Self::FiveParts => fifth(member % 5)..fifth(member % 5 + 1),
            Self::TwoOverlapping if member.is_multiple_of(2) => 0..topics * 2 / 3,
            Self::TwoOverlapping => topics / 3..topics,
        }
    }
}

/// The properties of a problem.
#[derive(Clone, Copy)]
struct Shape {
    units: usize,
    members: usize,
    interest: Interest,
}

const fn shape(units: usize, members: usize, interest: Interest) -> Shape {
    Shape { units, members, interest }
}

const SHAPES: [Shape; 6] = [
    shape(10_000, 100, Interest::All),
    shape(100_000, 1_000, Interest::All),
    shape(1_000_000, 2_000, Interest::All),
    shape(1_000_000, 2_000, Interest::OneApart),
    shape(1_000_000, 2_000, Interest::FiveParts),
    shape(1_000_000, 2_000, Interest::TwoOverlapping),
];

impl Shape {
    /// The problem of the members numbered `members`, whose numbers `owner` gives by unit.
    fn problem(self, members: Range<usize>, owner: impl Fn(usize) -> Option<usize>) -> Problem {
        let mut builder = Problem::builder();
        let partitions = u32::try_from(PARTITIONS_PER_TOPIC).expect("it is small");
        let topics: Vec<_> = (0..self.units / PARTITIONS_PER_TOPIC)
            .map(|number| builder.topic(format!("topic-{number:04}"), partitions))
            .collect();
        let first = members.start;
        let handles: Vec<MemberHandle> =
            members.map(|member| builder.member(self.spec(member, &topics))).collect();
        let handle = |unit| handles.get(owner(unit)?.checked_sub(first)?);
        for (unit, (topic, partition)) in topics
            .iter()
            .flat_map(|topic| (0..partitions).map(move |partition| (*topic, partition)))
            .enumerate()
        {
            if let Some(member) = handle(unit) {
                builder.current(topic, partition, *member);
            }
        }
        builder.build().expect("names are distinct and partitions exist")
    }

    fn spec(self, member: usize, topics: &[TopicHandle]) -> MemberSpec {
        let interest = self.interest.of(member, topics.len());
        MemberSpec {
            subscription: topics[interest].iter().copied().collect(),
            ..MemberSpec::new(format!("member-{member:05}"))
        }
    }

    fn fresh(self, members: usize) -> Problem {
        self.problem(0..members, |_| None)
    }

    /// The problem of `members` after `placement` of the members from zero on has come true.
    fn after(self, members: Range<usize>, placement: &Placement) -> Problem {
        self.problem(members, |unit| placement.owner[unit].map(MemberIndex::index))
    }
}

fn assign(criterion: &mut Criterion) {
    for strategy in all() {
        let mut group = criterion.benchmark_group(strategy.name());
        group.sample_size(10).measurement_time(Duration::from_secs(2));
        for shape in SHAPES {
            measure(&mut group, *strategy, shape);
        }
    }
}

fn measure(group: &mut BenchmarkGroup<'_, WallTime>, strategy: &dyn Strategy, shape: Shape) {
    let everybody = 0..shape.members;
    let settled = strategy.assign(&shape.fresh(shape.members));
    let one_less = strategy.assign(&shape.fresh(shape.members - 1));
    let problems = [
        ("fresh", shape.fresh(shape.members)),
        ("joins", shape.after(everybody.clone(), &one_less)),
        ("leaves", shape.after(1..shape.members, &settled)),
        ("unchanged", shape.after(everybody.clone(), &settled)),
    ];
    let size = format!("{}x{} {:?}", shape.units, shape.members, shape.interest);
    for (what, problem) in &problems {
        let id = BenchmarkId::new(*what, &size);
        group.bench_with_input(id, problem, |bencher, problem| bencher.iter(|| strategy.assign(problem)));
    }
    let id = BenchmarkId::new("telling", &size);
    group.bench_function(id, |bencher| bencher.iter(|| shape.after(everybody.clone(), &settled)));
}

criterion_group!(benches, assign);
criterion_main!(benches);
