//! Passes that no leader may decide, each on the group on which it would be wrong.

use kafka_assigner_core::ack::{Ack, Drained};
use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::leader::Pass;
use kafka_assigner_core::plan::Plan;
use kafka_assigner_core::reason::Reason;
use kafka_assigner_core::record::{
    Assignment, DeathSign, GroupConfig, Handoff, HandoffRecord, Owner, Phase, Standing, decode, encode,
};
use kafka_assigner_core::test_group::{TestGroup, tp};
use kafka_assigner_core::write::Write;
use kafka_assigner_types::id::{Epoch, HandoffId, Incarnation, Member, Offset, TopicPartition};
use kafka_assigner_types::kv::{Compare, Must, Op};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;

/// A group and a pass on it.
type Broken = (TestGroup, Pass);

/// `a` owns all partitions of `t`, and `b` has just joined.
fn two_consumers(config: &GroupConfig) -> (TestGroup, Member, Member) {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    group.configure(config);
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    (group, a, b)
}

fn of_mode(mode: Mode) -> GroupConfig {
    GroupConfig { mode, ..GroupConfig::default() }
}

/// The same, and `t/1` is on its way to `b`, which says that it is ready.
fn ready(config: &GroupConfig) -> (TestGroup, Member, Member) {
    let (mut group, a, b) = two_consumers(config);
    group.pass();
    group.say(&b, &tp("t", 1), Some(&handoff(&group).id), &Ack::Ready);
    (group, a, b)
}

/// The same, and `a` has stopped at offset 7.
fn catching_up() -> TestGroup {
    let (mut group, a, _) = ready(&GroupConfig { catch_up: true, ..of_mode(Mode::Exclusive) });
    group.pass();
    let drained = Drained { offset: Some(Offset::new(7).unwrap()), last_at: None };
    group.say(&a, &tp("t", 1), Some(&handoff(&group).id), &Ack::Drained(drained));
    assert_eq!(handoff(&group).phase, Phase::CatchingUp);
    group
}

/// `t` and `u` move together; `a` owns everything, and `b` has just joined.
fn set() -> (TestGroup, Member, Member) {
    let mut group = TestGroup::default();
    ["t", "u"].iter().for_each(|topic| group.topic_in_set(topic, 2, "s"));
    let a = group.join("a");
    group.settle();
    let b = group.join("b");
    (group, a, b)
}

fn handoff(group: &TestGroup) -> Handoff {
    group.state.handoff(&tp("t", 1)).expect("it moves").clone()
}

/// A write in the making; nothing keeps it from being wrong.
struct Edit<'a> {
    group: &'a TestGroup,
    write: Write,
}

impl<'a> Edit<'a> {
    fn on(group: &'a TestGroup) -> Self {
        Self { group, write: Write::default() }
    }

    fn put(mut self, key: &Key, value: bytes::Bytes) -> Self {
        self.write.ops.push(Op::put(self.group.state.layout().encode(key), value));
        let must = self.group.state.mod_revision(key).map_or(Must::BeAbsent, Must::HaveModRevision);
        self.write.guards.push(Compare::new(self.group.state.layout().encode(key), must));
        self
    }

    fn gained_by(mut self, member: &Member) -> Self {
        let lease = self.group.state.registration(&member.name).expect("registered").lease;
        let key = self.group.state.layout().encode(&Key::Consumer(member.name.clone()));
        self.write.guards.push(Compare::new(key, Must::HaveLease(lease)));
        self
    }

    fn step(self, unit: Vec<TopicPartition>, step: Step) -> Action {
        Action { unit, step, write: self.write }
    }
}

fn steps(group: TestGroup, action: Action) -> Broken {
    (group, Pass { steps: vec![action], ..Pass::default() })
}

fn planned(group: TestGroup, actions: Vec<Action>) -> Broken {
    let plan = Plan {
        revision: group.state.revision(),
        strategy: "balanced".to_owned(),
        actions,
        deferred: Vec::new(),
    };
    (group, Pass { plan: Some(Ok(plan)), ..Pass::default() })
}

fn fresh_epoch(group: &TestGroup, at: &TopicPartition) -> Epoch {
    let highest = group.state.assignment(at).map(Assignment::highest_epoch).unwrap_or_default();
    highest.next(group.state.epoch_floor())
}

fn grant(group: &TestGroup, at: &TopicPartition, to: &Member, mode: Mode, epoch: Epoch) -> Action {
    let registration = group.state.registration(&to.name).expect("registered");
    let owner = Owner {
        name: to.name.clone(),
        incarnation: to.incarnation.clone(),
        lease: registration.lease,
        ttl_ms: 30_000,
        outage_grace_ms: 0,
        extra: kafka_assigner_core::record::Extra::new(),
    };
    let before = group.state.assignment(at).cloned().unwrap_or_else(|| Assignment::unowned(mode));
    let next = before.granted(owner, epoch, mode, WallMillis(0), Reason::Unowned);
    let step = Step::Grant { to: to.clone(), from: None, epoch, why: Reason::Unowned };
    let edit = Edit::on(group).put(&Key::Assignment(at.clone()), encode(&next)).gained_by(to);
    edit.step(vec![at.clone()], step)
}

fn begin(group: &TestGroup, at: &TopicPartition, from: &Member, to: &Member, mode: Mode) -> Action {
    let id = HandoffId::new(&format!("x-{at}"));
    let parties = (from.clone(), to.clone());
    let handoff = Handoff::new(id.clone(), vec![at.clone()], parties, mode, WallMillis(0), Reason::Unowned);
    let step = Step::Begin { id, from: from.clone(), to: to.clone(), why: Reason::Unowned };
    rewrite(group, &handoff).gained_by(to).step(vec![at.clone()], step)
}

fn rewrite<'a>(group: &'a TestGroup, handoff: &Handoff) -> Edit<'a> {
    let record = HandoffRecord::Lead(Box::new(handoff.clone()));
    Edit::on(group).put(&Key::Handoff(handoff.lead().clone()), encode(&record))
}

/// The step of `t/1`'s handoff into `phase`.
fn into_phase(group: TestGroup, phase: Phase) -> Broken {
    let next = handoff(&group).in_phase(phase);
    let step = Step::Advance { id: next.id.clone(), phase };
    let action = rewrite(&group, &next).step(next.unit.clone(), step);
    steps(group, action)
}

/// The only action that a leader would take.
fn only_action(group: &TestGroup) -> Action {
    let mut actions: Vec<Action> = group.steps().into_iter().chain(group.plan().actions).collect();
    assert_eq!(actions.len(), 1, "{actions:?}");
    actions.remove(0)
}

fn key_of(op: &Op) -> &[u8] {
    match op {
        Op::Put { key, .. } | Op::Delete { key } | Op::Get { key } => key,
        Op::DeletePrefix { prefix } => prefix,
    }
}

fn without(group: &TestGroup, mut action: Action, key: &Key) -> Action {
    let key = group.state.layout().encode(key);
    action.write.ops.retain(|op| key_of(op) != key);
    action
}

fn unguarded(group: &TestGroup, mut action: Action, key: &Key) -> Action {
    let key = group.state.layout().encode(key);
    action.write.guards.retain(|guard| guard.key != key);
    action
}

pub(super) fn another_owner_under_the_same_epoch() -> Broken {
    let (group, _, b) = two_consumers(&GroupConfig::default());
    let epoch = group.state.assignment(&tp("t", 0)).expect("owned").highest_epoch();
    let action = grant(&group, &tp("t", 0), &b, Mode::Overlap, epoch);
    steps(group, action)
}

pub(super) fn an_epoch_below_the_revision() -> Broken {
    let mut group = TestGroup::with_topics(&[("t", 1)]);
    let a = group.join("a");
    let action = grant(&group, &tp("t", 0), &a, Mode::Overlap, Epoch(1));
    steps(group, action)
}

pub(super) fn a_grant_beside_a_strict_owner() -> Broken {
    let (group, _, b) = two_consumers(&of_mode(Mode::Exclusive));
    let action = grant(&group, &tp("t", 0), &b, Mode::Exclusive, fresh_epoch(&group, &tp("t", 0)));
    steps(group, action)
}

pub(super) fn catching_up_beside_a_strict_owner() -> Broken {
    let (mut group, ..) = ready(&GroupConfig { catch_up: true, ..of_mode(Mode::Exclusive) });
    group.pass();
    into_phase(group, Phase::CatchingUp)
}

pub(super) fn a_strict_grant_beside_an_owner_in_overlap() -> Broken {
    let (group, _, b) = two_consumers(&GroupConfig::default());
    let action = grant(&group, &tp("t", 0), &b, Mode::Exclusive, fresh_epoch(&group, &tp("t", 0)));
    steps(group, action)
}

pub(super) fn a_final_offset_that_gets_lost() -> Broken {
    let mut group = catching_up();
    group.crash("b");
    let mut action = group.steps().remove(0);
    for op in &mut action.write.ops {
        let Op::Put { key, value, .. } = op else { continue };
        if group.state.layout().decode(key) == Some(Key::Assignment(tp("t", 1))) {
            let assignment: Assignment = decode(value).expect("it was just written");
            *value = encode(&Assignment { start: None, ..assignment });
        }
    }
    steps(group, action)
}

pub(super) fn a_cancel_that_leaves_the_old_owner_stopped() -> Broken {
    let mut group = catching_up();
    group.crash("b");
    let action = without(&group, group.steps().remove(0), &Key::Assignment(tp("t", 1)));
    steps(group, action)
}

pub(super) fn a_grant_in_place_of_an_unreadable_owner() -> Broken {
    let (mut group, a, b) = two_consumers(&GroupConfig::default());
    group.put(&Key::Consumer(a.name), "a registration of a newer version");
    let action = grant(&group, &tp("t", 0), &b, Mode::Overlap, fresh_epoch(&group, &tp("t", 0)));
    steps(group, action)
}

pub(super) fn a_handoff_over_another_one() -> Broken {
    let (group, a, b) = ready(&GroupConfig::default());
    let action = begin(&group, &tp("t", 1), &a, &b, Mode::Overlap);
    steps(group, action)
}

pub(super) fn a_handoff_to_the_owner_itself() -> Broken {
    let (group, a, _) = two_consumers(&GroupConfig::default());
    let action = begin(&group, &tp("t", 1), &a, &a, Mode::Overlap);
    steps(group, action)
}

pub(super) fn a_phase_that_only_an_ack_may_end() -> Broken {
    let (mut group, ..) = two_consumers(&GroupConfig::default());
    group.pass();
    into_phase(group, Phase::Ready)
}

pub(super) fn complete_without_the_assignment() -> Broken {
    let (group, ..) = ready(&GroupConfig::default());
    into_phase(group, Phase::Complete)
}

pub(super) fn a_set_without_a_reference() -> Broken {
    let (group, ..) = set();
    let action = without(&group, only_action(&group), &Key::Handoff(tp("u", 1)));
    steps(group, action)
}

pub(super) fn a_reference_that_stays_behind() -> Broken {
    let (mut group, ..) = set();
    group.pass();
    group.crash("b");
    // A cancelled handoff is cleared next.
    assert!(matches!(group.pass()[..], [Action { step: Step::Cancel { .. }, .. }]));
    let action = without(&group, group.steps().remove(0), &Key::Handoff(tp("u", 1)));
    steps(group, action)
}

pub(super) fn a_move_in_overlap_of_a_strict_grant() -> Broken {
    let (group, a, b) = two_consumers(&of_mode(Mode::Exclusive));
    let action = begin(&group, &tp("t", 1), &a, &b, Mode::Overlap);
    steps(group, action)
}

pub(super) fn a_drain_before_the_routers_freeze() -> Broken {
    let (mut group, _, b) = two_consumers(&of_mode(Mode::Routed));
    group.route_as("r");
    group.pass();
    group.say(&b, &tp("t", 1), Some(&handoff(&group).id), &Ack::Ready);
    group.pass();
    assert_eq!(handoff(&group).phase, Phase::Freezing);
    into_phase(group, Phase::Draining)
}

pub(super) fn a_move_to_an_earlier_session() -> Broken {
    let (group, a, b) = two_consumers(&GroupConfig::default());
    let earlier = Member { incarnation: Incarnation::new("b-0").expect("a valid incarnation"), ..b };
    let action = begin(&group, &tp("t", 1), &a, &earlier, Mode::Overlap);
    steps(group, action)
}

pub(super) fn a_move_to_a_draining_consumer() -> Broken {
    let (mut group, a, _) = two_consumers(&GroupConfig::default());
    let c = group.join_as("c", |consumer| consumer.standing = Standing::Draining);
    let action = begin(&group, &tp("t", 1), &a, &c, Mode::Overlap);
    steps(group, action)
}

pub(super) fn a_move_to_a_suspect() -> Broken {
    let (mut group, a, b) = two_consumers(&GroupConfig::default());
    group.suspect(&b, DeathSign::Detached);
    let action = begin(&group, &tp("t", 1), &a, &b, Mode::Overlap);
    steps(group, action)
}

pub(super) fn a_strict_move_to_a_consumer_without_capabilities() -> Broken {
    let (mut group, a, _) = two_consumers(&of_mode(Mode::Exclusive));
    let c = group.join_as("c", |consumer| consumer.capabilities.clear());
    let action = begin(&group, &tp("t", 1), &a, &c, Mode::Exclusive);
    steps(group, action)
}

pub(super) fn a_move_to_a_consumer_of_other_topics() -> Broken {
    let (mut group, a, _) = two_consumers(&GroupConfig::default());
    let c = group.join_as("c", |consumer| consumer.topics = ["u".parse().expect("a valid name")].into());
    let action = begin(&group, &tp("t", 1), &a, &c, Mode::Overlap);
    steps(group, action)
}

pub(super) fn a_grant_of_a_partition_that_does_not_exist() -> Broken {
    let (group, a, _) = two_consumers(&GroupConfig::default());
    let action = grant(&group, &tp("t", 9), &a, Mode::Overlap, fresh_epoch(&group, &tp("t", 9)));
    steps(group, action)
}

pub(super) fn a_move_of_what_two_owners_stopped_at() -> Broken {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    group.report_stopped(&a, &[(tp("t", 1), 5)]);
    group.crash("a");
    let b = group.join("b");
    group.settle();
    group.report_stopped(&b, &[(tp("t", 1), 5)]);
    let c = group.join("c");
    let action = begin(&group, &tp("t", 1), &b, &c, Mode::Overlap);
    steps(group, action)
}

pub(super) fn a_handoff_without_a_guard() -> Broken {
    let (group, ..) = two_consumers(&GroupConfig::default());
    let action = unguarded(&group, only_action(&group), &Key::Handoff(tp("t", 1)));
    steps(group, action)
}

pub(super) fn a_move_without_a_guard_on_the_session() -> Broken {
    let (group, _, b) = two_consumers(&GroupConfig::default());
    let action = unguarded(&group, only_action(&group), &Key::Consumer(b.name));
    steps(group, action)
}

pub(super) fn a_guard_that_fails() -> Broken {
    let (group, ..) = two_consumers(&GroupConfig::default());
    let mut action = only_action(&group);
    let key = group.state.layout().encode(&Key::Assignment(tp("t", 0)));
    action.write.guards.push(Compare::new(key, Must::BeAbsent));
    steps(group, action)
}

pub(super) fn a_grant_over_an_unreadable_record() -> Broken {
    let (mut group, a, _) = two_consumers(&GroupConfig::default());
    group.put(&Key::Assignment(tp("t", 0)), "an assignment of a newer version");
    let action = grant(&group, &tp("t", 0), &a, Mode::Overlap, fresh_epoch(&group, &tp("t", 0)));
    steps(group, action)
}

pub(super) fn two_moves_of_one_partition() -> Broken {
    let (group, ..) = two_consumers(&GroupConfig::default());
    let action = only_action(&group);
    planned(group, vec![action.clone(), action])
}

/// Two partitions begin to move, and then the group is configured otherwise.
fn two_moves(config: &GroupConfig) -> Broken {
    let mut group = TestGroup::with_topics(&[("t", 4)]);
    group.join("a");
    group.settle();
    group.join("b");
    let actions = group.plan().actions;
    assert_eq!(actions.len(), 2);
    group.configure(config);
    planned(group, actions)
}

pub(super) fn more_moves_than_the_budget() -> Broken {
    two_moves(&GroupConfig { max_moves_in_flight: 1, ..GroupConfig::default() })
}

pub(super) fn more_prepared_handoffs_become_moves_than_the_budget() -> Broken {
    let mut group = TestGroup::with_topics(&[("t", 4)]);
    group.configure(&GroupConfig { max_moves_in_flight: 1, ..GroupConfig::default() });
    let a = group.join("a");
    group.join("b");
    group.settle();
    group.suspect(&a, DeathSign::Silent);
    group.pass();
    let prepared = group.state.handoffs().keys().filter_map(|at| group.state.handoff(at));
    let becomes_a_move = |handoff: &Handoff| {
        let step = Step::Advance { id: handoff.id.clone(), phase: handoff.phase };
        rewrite(&group, &Handoff { awaits: None, ..handoff.clone() }).step(handoff.unit.clone(), step)
    };
    let actions: Vec<Action> = prepared.map(becomes_a_move).collect();
    assert_eq!(actions.len(), 2);
    planned(group, actions)
}

pub(super) fn more_warm_ups_than_the_budget() -> Broken {
    two_moves(&GroupConfig { max_warming: 1, ..GroupConfig::default() })
}

pub(super) fn more_partitions_than_the_limit() -> Broken {
    let mut group = TestGroup::with_topics(&[("t", 2)]);
    let a = group.join("a");
    group.settle();
    let b = group.join_as("b", |consumer| consumer.max_partitions = Some(1));
    let actions = (0..2).map(|n| begin(&group, &tp("t", n), &a, &b, Mode::Overlap)).collect();
    planned(group, actions)
}

pub(super) fn a_move_of_half_a_set() -> Broken {
    let (group, a, b) = set();
    let action = begin(&group, &tp("t", 1), &a, &b, Mode::Overlap);
    planned(group, vec![action])
}
