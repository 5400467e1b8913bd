//! `balanced` during a rolling deployment, and within a budget of moves.

use kafka_assigner_strategies::{
    Balanced, MemberIndex, MemberSpec, MemberState, Move, Options, Problem, ProblemBuilder, Strategy as _,
};

const PARTITIONS: u32 = 60;

/// A member: its id, its generation and its state.
type Told<'a> = (&'a str, &'a str, MemberState);

/// One topic; `owners` by partition.
fn problem(members: &[Told<'_>], owners: &[Option<String>], options: Options) -> Problem {
    let mut builder = Problem::builder();
    builder.options(options);
    let topic = builder.topic("t", PARTITIONS);
    for (id, generation, state) in members {
        let generation = (!generation.is_empty()).then(|| (*generation).into());
        builder.member(MemberSpec { generation, state: *state, ..MemberSpec::new(*id) });
    }
    for (partition, owner) in (0..).zip(owners) {
        let owner = owner.as_ref().and_then(|owner| builder.member_handle(owner));
        owner.into_iter().for_each(|owner| builder.current(topic, partition, owner));
    }
    builder.build().unwrap()
}

/// Lets a placement of `owners` come true, and tells its moves.
fn assign(members: &[Told<'_>], owners: &mut Vec<Option<String>>) -> Vec<Move> {
    let problem = problem(members, owners, Options::default());
    let placement = Balanced.assign(&problem);
    let name = |owner: MemberIndex| problem.member(owner).id.to_string();
    *owners = placement.owner.iter().map(|owner| owner.map(name)).collect();
    placement.moves(&problem)
}

fn count(owners: &[Option<String>], id: &str) -> usize {
    owners.iter().flatten().filter(|owner| *owner == id).count()
}

#[test]
fn a_rolling_deployment_moves_each_partition_at_most_once() {
    let names: Vec<String> = (0..6).flat_map(|at| [format!("old-{at}"), format!("new-{at}")]).collect();
    let [old, new] =
        [0, 1].map(|from| names.iter().skip(from).step_by(2).map(String::as_str).collect::<Vec<_>>());
    let told = |replaced: usize, draining: bool| -> Vec<Told<'_>> {
        let state =
            |at: usize| if draining && at == replaced { MemberState::Draining } else { MemberState::Active };
        let olds = (replaced..6).map(|at| (old[at], "v9", state(at)));
        let news = (0..replaced + usize::from(draining)).map(|at| (new[at], "v10", MemberState::Active));
        olds.chain(news).collect()
    };
    let mut owners = vec![None; PARTITIONS as usize];
    assign(&told(0, false), &mut owners);
    let mut moved = vec![0; PARTITIONS as usize];
    for replaced in 0..6 {
        // The new one is there before the old one drains; then the old one is gone.
        for members in [told(replaced, true), told(replaced + 1, false)] {
            for change in assign(&members, &mut owners) {
                moved[change.unit.index()] += 1;
            }
        }
    }
    assert!(moved.iter().all(|moves| *moves == 1), "{moved:?}");
    assert!(new.iter().all(|id| count(&owners, id) == 10));
}

#[test]
fn members_of_the_newest_generation_take_nothing_from_each_other_while_older_ones_are_left() {
    let owners = (0..PARTITIONS).map(|at| Some(if at < 20 { "new-0" } else { "old-1" }.to_owned()));
    let mut owners: Vec<_> = owners.collect();
    let members =
        [("new-0", "v10"), ("new-1", "v10"), ("old-1", "v9")].map(|(id, of)| (id, of, MemberState::Active));
    assert_eq!(assign(&members, &mut owners), []);
    let moves = assign(&members[..2], &mut owners);
    assert!(moves.iter().all(|change| change.from.is_none()));
    assert_eq!(["new-0", "new-1"].map(|id| count(&owners, id)), [30, 30]);
}

#[test]
fn above_its_limit_a_member_of_the_newest_generation_gives() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 4);
    let spec = |id: &str, generation: &str| MemberSpec {
        generation: Some(generation.into()),
        ..MemberSpec::new(id)
    };
    let full = builder.member(MemberSpec { max_partitions: Some(1), ..spec("a", "2") });
    builder.member(spec("b", "2"));
    builder.member(spec("c", "1"));
    (0..4).for_each(|partition| builder.current(topic, partition, full));
    let owners = Balanced.assign(&builder.build().unwrap()).owner;
    assert_eq!(owners.iter().filter(|owner| **owner == Some(MemberIndex::new(0))).count(), 1);
}

#[test]
fn a_newcomer_of_the_next_generation_takes_nothing_that_somebody_has() {
    let mut owners = vec![None; PARTITIONS as usize];
    let old = [("a", "1", MemberState::Active), ("b", "1", MemberState::Active)];
    assign(&old, &mut owners);
    let before = owners.clone();
    let with_new = [old[0], old[1], ("c", "2", MemberState::Active)];
    assert_eq!(assign(&with_new, &mut owners), []);
    assert_eq!(owners, before);
}

#[test]
fn the_newest_take_their_final_share_and_the_oldest_the_rest_rather_than_nobody() {
    let mut owners: Vec<_> = (0..PARTITIONS).map(|at| (at < 30).then(|| "a".to_owned())).collect();
    let members =
        [("a", "1", MemberState::Active), ("b", "2", MemberState::Active), ("c", "1", MemberState::Active)];
    assign(&members, &mut owners);
    assert_eq!(["a", "b", "c"].map(|id| count(&owners, id)), [30, 20, 10]);
}

#[test]
fn no_more_units_move_for_balance_than_the_budget_allows() {
    let owners: Vec<_> = (0..PARTITIONS).map(|_| Some("a".to_owned())).collect();
    let members = ["a", "b", "c"].map(|id| (id, "", MemberState::Active));
    for budget in [0, 1, 7, 40, 100] {
        let options = Options { movement_budget: Some(budget), ..Options::default() };
        let problem = problem(&members, &owners, options);
        let moves = Balanced.assign(&problem).moves(&problem);
        assert_eq!(moves.len(), budget.min(40) as usize);
    }
}

#[test]
fn what_must_move_does_not_count_against_the_budget() {
    let owners: Vec<_> = (0..PARTITIONS).map(|at| (at < 50).then(|| "a".to_owned())).collect();
    let members =
        [("a", "", MemberState::Draining), ("b", "", MemberState::Active), ("c", "", MemberState::Active)];
    let options = Options { movement_budget: Some(0), ..Options::default() };
    let problem = problem(&members, &owners, options);
    assert_eq!(Balanced.assign(&problem).moves(&problem).len(), 60);
}

#[test]
fn what_the_budget_allows_goes_from_the_fullest_to_the_emptiest() {
    let id = |at: u32| if (4..14).contains(&at) || at > 45 { "a" } else { "b" };
    let owners: Vec<_> = (0..PARTITIONS).map(|at| Some(id(at).to_owned())).collect();
    let members = ["a", "b", "c"].map(|id| (id, "", MemberState::Active));
    let options = Options { movement_budget: Some(3), ..Options::default() };
    let problem = problem(&members, &owners, options);
    let moves = Balanced.assign(&problem).moves(&problem);
    let [b, c] = [1, 2].map(MemberIndex::new);
    assert_eq!(moves.len(), 3);
    assert!(moves.iter().all(|change| (change.from, change.to) == (Some(b), Some(c))));
}

/// Members with a limit, if any, and how many partitions of `t` each has, one after the other.
fn limited(members: &[(Option<u32>, u32)], budget: u32, tell: impl Fn(&mut ProblemBuilder)) -> Vec<usize> {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", members.iter().map(|(_, has)| has).sum());
    builder.options(Options { movement_budget: Some(budget), ..Options::default() });
    let mut first = 0;
    for (at, (max_partitions, has)) in members.iter().enumerate() {
        let subscription = [topic].into_iter().collect();
        let spec =
            MemberSpec { max_partitions: *max_partitions, subscription, ..MemberSpec::new(format!("m{at}")) };
        let member = builder.member(spec);
        (first..first + has).for_each(|partition| builder.current(topic, partition, member));
        first += has;
    }
    tell(&mut builder);
    let problem = builder.build().unwrap();
    let owner = Balanced.assign(&problem).owner;
    let has = |member| owner.iter().filter(|owner| **owner == Some(member)).count();
    problem.member_indices().map(has).collect()
}

#[test]
fn what_a_limit_forces_away_does_not_count_against_the_budget() {
    let has = limited(&[(Some(2), 4), (None, 4), (None, 0)], 1, |_| {});
    assert_eq!(has, [2, 3, 3]);
}

#[test]
fn what_moved_lately_stays_however_much_its_owner_has() {
    let has = limited(&[(None, 4), (None, 0)], 9, |builder| {
        let topic = builder.topic_handle("t").unwrap();
        (0..3).for_each(|partition| builder.cool(topic, partition));
    });
    assert_eq!(has, [3, 1]);
}

#[test]
fn the_budget_takes_nothing_back_to_where_there_is_no_room() {
    // Only `x` may have the new topic, so one of its two others has to go.
    let has = limited(&[(None, 0)], 0, |builder| {
        let (old, new) = (builder.topic("old", 2), builder.topic("new", 1));
        let both = [old, new].into_iter().collect();
        let x = builder.member(MemberSpec {
            max_partitions: Some(2),
            subscription: both,
            ..MemberSpec::new("x")
        });
        let subscription = [old].into_iter().collect();
        builder.member(MemberSpec { subscription, ..MemberSpec::new("y") });
        (0..2).for_each(|partition| builder.current(old, partition, x));
    });
    assert_eq!(has, [0, 2, 1]);
}

#[test]
fn with_weights_too_the_newest_take_what_is_nobodys() {
    let mut builder = Problem::builder();
    let topic = builder.topic("t", 4);
    (0..4).for_each(|partition| builder.weight(topic, partition, f64::from(1 + partition)));
    for (id, generation) in [("a", "1"), ("b", "2")] {
        builder.member(MemberSpec { generation: Some(generation.into()), ..MemberSpec::new(id) });
    }
    let owners = Balanced.assign(&builder.build().unwrap()).owner;
    assert_eq!(owners, [Some(MemberIndex::new(1)); 4]);
}
