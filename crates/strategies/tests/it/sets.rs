//! Sets and limits in partitions: against every placement there is, for up to three members and six units.

use kafka_assigner_strategies::sets::{SetPlacement, place};
use kafka_assigner_strategies::{
    Balanced, MemberIndex, MemberSpec, MemberState, Problem, StickyBalanced, Strategy as Rule, Subscription,
    TopicIndex, UnitIndex, all,
};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// A group before it is told. Topics and members are referred to by position.
#[derive(Clone, Debug)]
struct Sketch {
    /// Partitions by topic.
    topics: Vec<u32>,
    /// The topics of the set.
    set: Vec<usize>,
    members: Vec<Member>,
    /// By topic and partition.
    owners: Vec<Vec<Option<usize>>>,
    /// Topic, partition and member.
    bans: Vec<(usize, u32, usize)>,
}

#[derive(Clone, Debug)]
struct Member {
    state: MemberState,
    limit: Option<u32>,
    topics: Option<Vec<usize>>,
}

impl Sketch {
    fn problem(&self) -> Problem {
        let mut builder = Problem::builder();
        let topics: Vec<_> = self
            .topics
            .iter()
            .enumerate()
            .map(|(at, count)| builder.topic(format!("t{at}"), *count))
            .collect();
        let mut handles = Vec::new();
        for (at, member) in self.members.iter().enumerate() {
            let subscription = match &member.topics {
                None => Subscription::All,
                Some(known) => known.iter().map(|topic| topics[*topic]).collect(),
            };
            let spec = MemberSpec {
                subscription,
                state: member.state,
                max_partitions: member.limit,
                ..MemberSpec::new(format!("m{at}"))
            };
            handles.push(builder.member(spec));
        }
        for (topic, owners) in topics.iter().zip(&self.owners) {
            for (partition, owner) in (0..).zip(owners) {
                owner.iter().for_each(|owner| builder.current(*topic, partition, handles[*owner]));
            }
        }
        for (topic, partition, member) in &self.bans {
            builder.ban(topics[*topic], *partition, handles[*member]);
        }
        builder.build().unwrap()
    }

    fn sets(&self) -> Vec<Vec<TopicIndex>> {
        vec![self.set.iter().map(|at| TopicIndex::new(*at)).collect()]
    }

    fn placed(&self, strategy: &dyn Rule) -> SetPlacement {
        place(&self.problem(), &self.sets(), strategy)
    }

    /// The same once `placed` has come true.
    fn after(&self, placed: &SetPlacement) -> Self {
        let mut owners = placed.placement.owner.iter().map(|owner| owner.map(MemberIndex::index));
        let next = |of_topic: &Vec<_>| of_topic.iter().map(|_| owners.next().unwrap()).collect();
        Self { owners: self.owners.iter().map(next).collect(), ..self.clone() }
    }

    fn is_limited(&self) -> bool {
        self.members.iter().any(|member| member.limit.is_some())
    }
}

/// The units of a problem, for those who check an answer.
struct Units {
    problem: Problem,
    units: Vec<Vec<UnitIndex>>,
}

/// By unit its owner; without one, its parts stay.
type Owners = Vec<Option<MemberIndex>>;

/// The faults of a placement, in the order in which they count.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    nobodys: usize,
    at_draining: usize,
    above_limits: u32,
    imbalance: u64,
    moves: usize,
}

impl Units {
    fn of(sketch: &Sketch) -> Self {
        let problem = sketch.problem();
        let mut units = Vec::new();
        let alone = (0..sketch.topics.len()).filter(|at| !sketch.set.contains(at)).map(|at| vec![at]);
        for set in std::iter::once(sketch.set.clone()).chain(alone) {
            let longest = set.iter().map(|at| sketch.topics[*at]).max().unwrap_or_default();
            for number in 0..longest {
                let topics = set.iter().filter(|at| number < sketch.topics[**at]);
                units.push(topics.map(|at| problem.unit(TopicIndex::new(*at), number)).collect());
            }
        }
        Self { problem, units }
    }

    fn state(&self, member: MemberIndex) -> MemberState {
        self.problem.member(member).state
    }

    /// True if `member` may own the unit: it is subscribed to all topics of the set, and banned from nothing in it.
    fn may_own(&self, sketch: &Sketch, unit: usize, member: MemberIndex) -> bool {
        let first = self.problem.topic_of(self.units[unit][0]).0;
        let set = if sketch.set.contains(&first.index()) { sketch.set.clone() } else { vec![first.index()] };
        set.iter().all(|topic| self.problem.is_subscribed(TopicIndex::new(*topic), member))
            && self.units[unit].iter().all(|at| self.problem.may_own(*at, member))
    }

    /// The number of partitions of the unit that `member` has today.
    fn has(&self, unit: usize, member: MemberIndex) -> usize {
        self.units[unit].iter().filter(|at| self.problem.current(**at) == Some(member)).count()
    }

    /// The owners that the unit may get.
    fn fates(&self, sketch: &Sketch, unit: usize) -> Owners {
        let able = || self.problem.member_indices().filter(|member| self.may_own(sketch, unit, *member));
        let is_whole = |member: &MemberIndex| self.has(unit, *member) == self.units[unit].len();
        let held =
            able().find(|member| self.state(*member) == MemberState::Hold && self.has(unit, *member) > 0);
        match held {
            Some(member) if is_whole(&member) => return vec![Some(member)],
            Some(_) => return vec![None],
            None => {}
        }
        let fits = |member: &MemberIndex| match self.state(*member) {
            MemberState::Active => true,
            MemberState::Draining => is_whole(member),
            MemberState::Hold => false,
        };
        able().filter(fits).map(Some).chain([None]).collect()
    }

    /// By member its partitions, parts of units without an owner among them.
    fn loads(&self, sketch: &Sketch, owners: &Owners) -> Vec<u32> {
        let mut loads = vec![0; self.problem.members().len()];
        for (unit, owner) in owners.iter().enumerate() {
            for member in self.problem.member_indices() {
                let count = match owner {
                    Some(owner) if *owner == member => self.units[unit].len(),
                    None if self.may_own(sketch, unit, member) => self.has(unit, member),
                    _ => 0,
                };
                loads[member.index()] += u32::try_from(count).unwrap();
            }
        }
        loads
    }

    /// True if nobody above its limit has taken anything.
    fn is_legal(&self, owners: &Owners, loads: &[u32]) -> bool {
        owners.iter().enumerate().all(|(unit, owner)| {
            owner.is_none_or(|owner| {
                let limit = self.problem.member(owner).max_partitions.unwrap_or(u32::MAX);
                loads[owner.index()] <= limit || self.has(unit, owner) == self.units[unit].len()
            })
        })
    }

    fn score(&self, owners: &Owners, loads: &[u32]) -> Score {
        let size = |unit: usize| self.units[unit].len();
        let sum = |is: &dyn Fn(&Option<MemberIndex>) -> bool| -> usize {
            owners.iter().enumerate().filter(|(_, owner)| is(owner)).map(|(unit, _)| size(unit)).sum()
        };
        let active = || self.problem.member_indices().filter(|m| self.state(*m) == MemberState::Active);
        let limit = |member: MemberIndex| self.problem.member(member).max_partitions.unwrap_or(u32::MAX);
        let moved = |(unit, owner): (usize, &Option<MemberIndex>)| {
            let others = self.units[unit].iter().filter_map(|at| self.problem.current(*at));
            others.filter(|had| owner.is_some_and(|owner| owner != *had)).count()
        };
        Score {
            nobodys: sum(&|owner| owner.is_none()),
            at_draining: sum(&|owner| owner.is_some_and(|o| self.state(o) == MemberState::Draining)),
            above_limits: active().map(|member| loads[member.index()].saturating_sub(limit(member))).sum(),
            imbalance: active().map(|member| u64::from(loads[member.index()]).pow(2)).sum(),
            moves: owners.iter().enumerate().map(moved).sum(),
        }
    }

    /// The best score of all legal placements.
    fn best(&self, sketch: &Sketch) -> (Score, Owners) {
        let fates: Vec<Owners> = (0..self.units.len()).map(|unit| self.fates(sketch, unit)).collect();
        let placements: usize = fates.iter().map(Vec::len).product();
        let nth = |mut number: usize| -> Owners {
            let pick = |fates: &Owners| {
                let fate = fates[number % fates.len()];
                number /= fates.len();
                fate
            };
            fates.iter().map(pick).collect()
        };
        let scored = (0..placements).map(nth).filter_map(|owners| {
            let loads = self.loads(sketch, &owners);
            self.is_legal(&owners, &loads).then(|| (self.score(&owners, &loads), owners))
        });
        scored.min_by(|a, b| a.0.cmp(&b.0)).expect("everything may stay as it is")
    }

    /// By unit its owner in `placed`; nobody where its partitions have several, or none.
    fn owners(&self, placed: &SetPlacement) -> Owners {
        let of_unit = |unit: &Vec<UnitIndex>| {
            let mut owners = unit.iter().map(|at| placed.placement.owner[at.index()]);
            let first = owners.next().flatten();
            first.filter(|_| owners.all(|owner| owner == first))
        };
        self.units.iter().map(of_unit).collect()
    }
}

fn member(topics: usize) -> impl Strategy<Value = Member> {
    let state = select(vec![
        MemberState::Active,
        MemberState::Active,
        MemberState::Active,
        MemberState::Active,
        MemberState::Hold,
        MemberState::Draining,
    ]);
    let list = subsequence((0..topics).collect::<Vec<_>>(), 0..=topics);
    (state, weighted(0.4, 0..7_u32), weighted(0.2, list)).prop_map(|(state, limit, topics)| Member {
        state,
        limit,
        topics,
    })
}

/// Groups whose units are of one size, and which limits leave room.
fn even_sketch() -> impl Strategy<Value = Sketch> {
    let topics = prop_oneof![
        (1..=5_u32).prop_map(|count| vec![count, count]),
        (1..=5_u32).prop_map(|count| vec![count, count, count]),
    ];
    sketch_of(topics, Just(3)).prop_map(|mut sketch| {
        sketch.members.iter_mut().for_each(|member| member.limit = member.limit.map(|limit| limit + 6));
        sketch
    })
}

fn sketch() -> impl Strategy<Value = Sketch> {
    let topics = prop_oneof![
        (1..=4_u32).prop_map(|count| vec![count, count]),
        (1..=3_u32).prop_map(|count| vec![count, count, count]),
        (1..=3_u32, 0..=3_u32).prop_map(|(count, other)| vec![count, count, other]),
        vec(0..=2_u32, 3),
        (1..=2_u32, 1..=4_u32).prop_map(|(count, other)| vec![count, count, count, other]),
    ];
    sketch_of(topics, 1..=3_usize)
}

fn sketch_of(
    topics: impl Strategy<Value = Vec<u32>>,
    set: impl Strategy<Value = usize>,
) -> impl Strategy<Value = Sketch> {
    (topics, 1..=3_usize, set).prop_flat_map(|(topics, members, set)| {
        let owners: Vec<_> =
            topics.iter().map(|count| vec(weighted(0.8, 0..members), *count as usize)).collect();
        let bans = vec((0..topics.len(), 0..4_u32, 0..members), 0..=1);
        let count = topics.len();
        let set: Vec<usize> = (0..set.min(count)).collect();
        (Just(topics), Just(set), vec(member(count), members), owners, bans).prop_map(
            |(topics, set, members, owners, bans)| {
                let bans = bans.into_iter().filter(|(topic, at, _)| *at < topics[*topic]).collect();
                Sketch { topics, set, members, owners, bans }
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn limits_hold_and_who_takes_nothing_gets_nothing(sketch in sketch()) {
        let units = Units::of(&sketch);
        for strategy in all() {
            let placed = sketch.placed(*strategy);
            let owners = units.owners(&placed);
            let loads = units.loads(&sketch, &owners);
            prop_assert!(units.is_legal(&owners, &loads), "{}: {:?} has loads {:?}", strategy.name(), owners, loads);
            for (unit, owner) in owners.iter().enumerate() {
                let fates = units.fates(&sketch, unit);
                prop_assert!(fates.contains(owner), "{}: {:?}", strategy.name(), owners);
                for at in &units.units[unit] {
                    let (had, has) = (units.problem.current(*at), placed.placement.owner[at.index()]);
                    prop_assert!(owner.is_some() || has.is_none() || has == had, "{}", strategy.name());
                }
            }
        }
    }

    #[test]
    fn what_fits_is_placed(sketch in sketch()) {
        let units = Units::of(&sketch);
        let (best, better) = units.best(&sketch);
        let owners = units.owners(&sketch.placed(&Balanced));
        let score = units.score(&owners, &units.loads(&sketch, &owners));
        let lacks = score.nobodys > 0 && best.nobodys == 0;
        prop_assert!(!lacks, "{:?} leaves {} out, {:?} does not", owners, score.nobodys, better);
    }

    #[test]
    fn units_of_one_size_are_placed_at_their_best(sketch in even_sketch()) {
        let units = Units::of(&sketch);
        let (best, better) = units.best(&sketch);
        if best.nobodys > 0 || best.above_limits > 0 {
            return Ok(());
        }
        let owners = units.owners(&sketch.placed(&Balanced));
        let score = units.score(&owners, &units.loads(&sketch, &owners));
        prop_assert!(score == best, "{:?} has {:?}, {:?} has {:?}", owners, score, better, best);
        if !sketch.is_limited() {
            let owners = units.owners(&sketch.placed(&StickyBalanced));
            let score = units.score(&owners, &units.loads(&sketch, &owners));
            prop_assert!(score <= best, "sticky: {:?} has {:?}, {:?} has {:?}", owners, score, better, best);
        }
    }

    #[test]
    fn a_second_run_moves_nothing(sketch in sketch()) {
        for strategy in all() {
            let is_kafkas = ["sticky", "cooperative-sticky"].contains(&strategy.name());
            if is_kafkas && sketch.is_limited() {
                continue;
            }
            let first = sketch.placed(*strategy);
            let second = sketch.after(&first).placed(*strategy);
            prop_assert_eq!(&first.placement.owner, &second.placement.owner, "{}", strategy.name());
        }
    }
}

/// Two units of three partitions and two of one, and a member that takes two: `range` wants to give it more.
#[test]
fn what_a_limit_turned_away_stays_where_it_was_put() {
    let limits = [Some(2), None, None];
    let members = limits.map(|limit| Member { state: MemberState::Active, limit, topics: None });
    let sketch = Sketch {
        topics: vec![2, 4, 2],
        set: vec![0, 1, 2],
        members: members.to_vec(),
        owners: vec![vec![None; 2], vec![None; 4], vec![None; 2]],
        bans: Vec::new(),
    };
    let range = all().iter().find(|strategy| strategy.name() == "range").unwrap();
    let first = sketch.placed(*range);
    let second = sketch.after(&first).placed(*range);
    assert_eq!(first.placement.owner, second.placement.owner);
}
