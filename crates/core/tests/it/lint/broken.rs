//! Passes that no leader may decide, each on the group on which it would be wrong.

use kafka_assigner_core::ack::{Ack, Drained};
use kafka_assigner_core::action::{Action, Step};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::leader::Pass;
use kafka_assigner_core::plan::Plan;
use kafka_assigner_core::reason::Reason;
use kafka_assigner_core::record::{
    Assignment, GroupConfig, Handoff, HandoffRecord, Owner, Phase, Standing, decode, encode,
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
    let mut lab = TestGroup::with_topics(&[("t", 2)]);
    lab.configure(config);
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    (lab, a, b)
}

fn of_mode(mode: Mode) -> GroupConfig {
    GroupConfig { mode, ..GroupConfig::default() }
}

/// The same, and `t/1` is on its way to `b`, which says that it is ready.
fn ready(config: &GroupConfig) -> (TestGroup, Member, Member) {
    let (mut lab, a, b) = two_consumers(config);
    lab.pass();
    lab.say(&b, &tp("t", 1), Some(&handoff(&lab).id), &Ack::Ready);
    (lab, a, b)
}

/// The same, and `a` has stopped at offset 7.
fn catching_up() -> TestGroup {
    let (mut lab, a, _) = ready(&GroupConfig { catch_up: true, ..of_mode(Mode::Exclusive) });
    lab.pass();
    let drained = Drained { offset: Some(Offset::new(7).unwrap()), last_at: None };
    lab.say(&a, &tp("t", 1), Some(&handoff(&lab).id), &Ack::Drained(drained));
    assert_eq!(handoff(&lab).phase, Phase::CatchingUp);
    lab
}

/// `t` and `u` move together; `a` owns everything, and `b` has just joined.
fn set() -> (TestGroup, Member, Member) {
    let mut lab = TestGroup::default();
    ["t", "u"].iter().for_each(|topic| lab.topic_in_set(topic, 2, "s"));
    let a = lab.join("a");
    lab.settle();
    let b = lab.join("b");
    (lab, a, b)
}

fn handoff(lab: &TestGroup) -> Handoff {
    lab.state.handoff(&tp("t", 1)).expect("it moves").clone()
}

/// A write in the making; nothing keeps it from being wrong.
struct Edit<'a> {
    lab: &'a TestGroup,
    write: Write,
}

impl<'a> Edit<'a> {
    fn on(lab: &'a TestGroup) -> Self {
        Self { lab, write: Write::default() }
    }

    fn put(mut self, key: &Key, value: bytes::Bytes) -> Self {
        self.write.ops.push(Op::put(self.lab.state.layout().encode(key), value));
        let must = self.lab.state.mod_revision(key).map_or(Must::BeAbsent, Must::HaveModRevision);
        self.write.guards.push(Compare::new(self.lab.state.layout().encode(key), must));
        self
    }

    fn gained_by(mut self, member: &Member) -> Self {
        let lease = self.lab.state.registration(&member.name).expect("registered").lease;
        let key = self.lab.state.layout().encode(&Key::Consumer(member.name.clone()));
        self.write.guards.push(Compare::new(key, Must::HaveLease(lease)));
        self
    }

    fn step(self, unit: Vec<TopicPartition>, step: Step) -> Action {
        Action { unit, step, write: self.write }
    }
}

fn steps(lab: TestGroup, action: Action) -> Broken {
    (lab, Pass { steps: vec![action], ..Pass::default() })
}

fn planned(lab: TestGroup, actions: Vec<Action>) -> Broken {
    let plan = Plan {
        revision: lab.state.revision(),
        strategy: "balanced".to_owned(),
        actions,
        deferred: Vec::new(),
    };
    (lab, Pass { plan: Some(Ok(plan)), ..Pass::default() })
}

fn fresh_epoch(lab: &TestGroup, at: &TopicPartition) -> Epoch {
    let highest = lab.state.assignment(at).map(Assignment::highest_epoch).unwrap_or_default();
    highest.next(lab.state.revision())
}

fn grant(lab: &TestGroup, at: &TopicPartition, to: &Member, mode: Mode, epoch: Epoch) -> Action {
    let registration = lab.state.registration(&to.name).expect("registered");
    let owner = Owner {
        name: to.name.clone(),
        incarnation: to.incarnation.clone(),
        lease: registration.lease,
        ttl_ms: 30_000,
    };
    let before = lab.state.assignment(at).cloned().unwrap_or_else(|| Assignment::unowned(mode));
    let next = before.granted(owner, epoch, mode, WallMillis(0), Reason::Unowned);
    let step = Step::Grant { to: to.clone(), from: None, epoch, why: Reason::Unowned };
    let edit = Edit::on(lab).put(&Key::Assignment(at.clone()), encode(&next)).gained_by(to);
    edit.step(vec![at.clone()], step)
}

fn begin(lab: &TestGroup, at: &TopicPartition, from: &Member, to: &Member, mode: Mode) -> Action {
    let id = HandoffId::new(&format!("x-{at}"));
    let parties = (from.clone(), to.clone());
    let handoff = Handoff::new(id.clone(), vec![at.clone()], parties, mode, WallMillis(0), Reason::Unowned);
    let step = Step::Begin { id, from: from.clone(), to: to.clone(), why: Reason::Unowned };
    rewrite(lab, &handoff).gained_by(to).step(vec![at.clone()], step)
}

fn rewrite<'a>(lab: &'a TestGroup, handoff: &Handoff) -> Edit<'a> {
    let record = HandoffRecord::Lead(Box::new(handoff.clone()));
    Edit::on(lab).put(&Key::Handoff(handoff.lead().clone()), encode(&record))
}

/// The step of `t/1`'s handoff into `phase`.
fn into_phase(lab: TestGroup, phase: Phase) -> Broken {
    let next = handoff(&lab).in_phase(phase);
    let step = Step::Advance { id: next.id.clone(), phase };
    let action = rewrite(&lab, &next).step(next.unit.clone(), step);
    steps(lab, action)
}

/// The only action that a leader would take.
fn only_action(lab: &TestGroup) -> Action {
    let mut actions: Vec<Action> = lab.steps().into_iter().chain(lab.plan().actions).collect();
    assert_eq!(actions.len(), 1, "{actions:?}");
    actions.remove(0)
}

fn key_of(op: &Op) -> &[u8] {
    match op {
        Op::Put { key, .. } | Op::Delete { key } => key,
        Op::DeletePrefix { prefix } => prefix,
        Op::Get { key } => key,
    }
}

fn without(lab: &TestGroup, mut action: Action, key: &Key) -> Action {
    let key = lab.state.layout().encode(key);
    action.write.ops.retain(|op| key_of(op) != key);
    action
}

fn unguarded(lab: &TestGroup, mut action: Action, key: &Key) -> Action {
    let key = lab.state.layout().encode(key);
    action.write.guards.retain(|guard| guard.key != key);
    action
}

pub(super) fn another_owner_under_the_same_epoch() -> Broken {
    let (lab, _, b) = two_consumers(&GroupConfig::default());
    let epoch = lab.state.assignment(&tp("t", 0)).expect("owned").highest_epoch();
    let action = grant(&lab, &tp("t", 0), &b, Mode::Overlap, epoch);
    steps(lab, action)
}

pub(super) fn an_epoch_below_the_revision() -> Broken {
    let mut lab = TestGroup::with_topics(&[("t", 1)]);
    let a = lab.join("a");
    let action = grant(&lab, &tp("t", 0), &a, Mode::Overlap, Epoch(1));
    steps(lab, action)
}

pub(super) fn a_grant_beside_a_strict_owner() -> Broken {
    let (lab, _, b) = two_consumers(&of_mode(Mode::Exclusive));
    let action = grant(&lab, &tp("t", 0), &b, Mode::Exclusive, fresh_epoch(&lab, &tp("t", 0)));
    steps(lab, action)
}

pub(super) fn catching_up_beside_a_strict_owner() -> Broken {
    let (mut lab, ..) = ready(&GroupConfig { catch_up: true, ..of_mode(Mode::Exclusive) });
    lab.pass();
    into_phase(lab, Phase::CatchingUp)
}

pub(super) fn a_strict_grant_beside_an_owner_in_overlap() -> Broken {
    let (lab, _, b) = two_consumers(&GroupConfig::default());
    let action = grant(&lab, &tp("t", 0), &b, Mode::Exclusive, fresh_epoch(&lab, &tp("t", 0)));
    steps(lab, action)
}

pub(super) fn a_final_offset_that_gets_lost() -> Broken {
    let mut lab = catching_up();
    lab.crash("b");
    let mut action = lab.steps().remove(0);
    for op in &mut action.write.ops {
        let Op::Put { key, value, .. } = op else { continue };
        if lab.state.layout().decode(key) == Some(Key::Assignment(tp("t", 1))) {
            let assignment: Assignment = decode(value).expect("it was just written");
            *value = encode(&Assignment { start: None, ..assignment });
        }
    }
    steps(lab, action)
}

pub(super) fn a_cancel_that_leaves_the_old_owner_stopped() -> Broken {
    let mut lab = catching_up();
    lab.crash("b");
    let action = without(&lab, lab.steps().remove(0), &Key::Assignment(tp("t", 1)));
    steps(lab, action)
}

pub(super) fn a_grant_in_place_of_an_unreadable_owner() -> Broken {
    let (mut lab, a, b) = two_consumers(&GroupConfig::default());
    lab.put(&Key::Consumer(a.name), "a registration of a newer version");
    let action = grant(&lab, &tp("t", 0), &b, Mode::Overlap, fresh_epoch(&lab, &tp("t", 0)));
    steps(lab, action)
}

pub(super) fn a_handoff_over_another_one() -> Broken {
    let (lab, a, b) = ready(&GroupConfig::default());
    let action = begin(&lab, &tp("t", 1), &a, &b, Mode::Overlap);
    steps(lab, action)
}

pub(super) fn a_handoff_to_the_owner_itself() -> Broken {
    let (lab, a, _) = two_consumers(&GroupConfig::default());
    let action = begin(&lab, &tp("t", 1), &a, &a, Mode::Overlap);
    steps(lab, action)
}

pub(super) fn a_phase_that_only_an_ack_may_end() -> Broken {
    let (mut lab, ..) = two_consumers(&GroupConfig::default());
    lab.pass();
    into_phase(lab, Phase::Ready)
}

pub(super) fn complete_without_the_assignment() -> Broken {
    let (lab, ..) = ready(&GroupConfig::default());
    into_phase(lab, Phase::Complete)
}

pub(super) fn a_set_without_a_reference() -> Broken {
    let (lab, ..) = set();
    let action = without(&lab, only_action(&lab), &Key::Handoff(tp("u", 1)));
    steps(lab, action)
}

pub(super) fn a_reference_that_stays_behind() -> Broken {
    let (mut lab, ..) = set();
    lab.pass();
    lab.crash("b");
    // What is cancelled is cleared next.
    assert!(matches!(lab.pass()[..], [Action { step: Step::Cancel { .. }, .. }]));
    let action = without(&lab, lab.steps().remove(0), &Key::Handoff(tp("u", 1)));
    steps(lab, action)
}

pub(super) fn a_move_in_overlap_of_a_strict_grant() -> Broken {
    let (lab, a, b) = two_consumers(&of_mode(Mode::Exclusive));
    let action = begin(&lab, &tp("t", 1), &a, &b, Mode::Overlap);
    steps(lab, action)
}

pub(super) fn a_drain_before_the_routers_freeze() -> Broken {
    let (mut lab, _, b) = two_consumers(&of_mode(Mode::Routed));
    lab.route_as("r");
    lab.pass();
    lab.say(&b, &tp("t", 1), Some(&handoff(&lab).id), &Ack::Ready);
    lab.pass();
    assert_eq!(handoff(&lab).phase, Phase::Freezing);
    into_phase(lab, Phase::Draining)
}

pub(super) fn a_move_to_an_earlier_session() -> Broken {
    let (lab, a, b) = two_consumers(&GroupConfig::default());
    let earlier = Member { incarnation: Incarnation::new("b-0").expect("a valid incarnation"), ..b };
    let action = begin(&lab, &tp("t", 1), &a, &earlier, Mode::Overlap);
    steps(lab, action)
}

pub(super) fn a_move_to_a_draining_consumer() -> Broken {
    let (mut lab, a, _) = two_consumers(&GroupConfig::default());
    let c = lab.join_as("c", |consumer| consumer.standing = Standing::Draining);
    let action = begin(&lab, &tp("t", 1), &a, &c, Mode::Overlap);
    steps(lab, action)
}

pub(super) fn a_strict_move_to_a_consumer_without_capabilities() -> Broken {
    let (mut lab, a, _) = two_consumers(&of_mode(Mode::Exclusive));
    let c = lab.join_as("c", |consumer| consumer.capabilities.clear());
    let action = begin(&lab, &tp("t", 1), &a, &c, Mode::Exclusive);
    steps(lab, action)
}

pub(super) fn a_move_to_a_consumer_of_other_topics() -> Broken {
    let (mut lab, a, _) = two_consumers(&GroupConfig::default());
    let c = lab.join_as("c", |consumer| consumer.topics = ["u".parse().expect("a valid name")].into());
    let action = begin(&lab, &tp("t", 1), &a, &c, Mode::Overlap);
    steps(lab, action)
}

pub(super) fn a_grant_of_a_partition_that_does_not_exist() -> Broken {
    let (lab, a, _) = two_consumers(&GroupConfig::default());
    let action = grant(&lab, &tp("t", 9), &a, Mode::Overlap, fresh_epoch(&lab, &tp("t", 9)));
    steps(lab, action)
}

pub(super) fn a_handoff_without_a_guard() -> Broken {
    let (lab, ..) = two_consumers(&GroupConfig::default());
    let action = unguarded(&lab, only_action(&lab), &Key::Handoff(tp("t", 1)));
    steps(lab, action)
}

pub(super) fn a_move_without_a_guard_on_the_session() -> Broken {
    let (lab, _, b) = two_consumers(&GroupConfig::default());
    let action = unguarded(&lab, only_action(&lab), &Key::Consumer(b.name));
    steps(lab, action)
}

pub(super) fn a_guard_that_fails() -> Broken {
    let (lab, ..) = two_consumers(&GroupConfig::default());
    let mut action = only_action(&lab);
    let key = lab.state.layout().encode(&Key::Assignment(tp("t", 0)));
    action.write.guards.push(Compare::new(key, Must::BeAbsent));
    steps(lab, action)
}

pub(super) fn a_grant_over_an_unreadable_record() -> Broken {
    let (mut lab, a, _) = two_consumers(&GroupConfig::default());
    lab.put(&Key::Assignment(tp("t", 0)), "an assignment of a newer version");
    let action = grant(&lab, &tp("t", 0), &a, Mode::Overlap, fresh_epoch(&lab, &tp("t", 0)));
    steps(lab, action)
}

pub(super) fn two_moves_of_one_partition() -> Broken {
    let (lab, ..) = two_consumers(&GroupConfig::default());
    let action = only_action(&lab);
    planned(lab, vec![action.clone(), action])
}

/// Two partitions begin to move, and then the group is configured otherwise.
fn two_moves(config: &GroupConfig) -> Broken {
    let mut lab = TestGroup::with_topics(&[("t", 4)]);
    lab.join("a");
    lab.settle();
    lab.join("b");
    let actions = lab.plan().actions;
    assert_eq!(actions.len(), 2);
    lab.configure(config);
    planned(lab, actions)
}

pub(super) fn more_moves_than_the_budget() -> Broken {
    two_moves(&GroupConfig { max_moves_in_flight: 1, ..GroupConfig::default() })
}

pub(super) fn more_warm_ups_than_the_budget() -> Broken {
    two_moves(&GroupConfig { max_warming: 1, ..GroupConfig::default() })
}

pub(super) fn more_partitions_than_the_limit() -> Broken {
    let mut lab = TestGroup::with_topics(&[("t", 2)]);
    let a = lab.join("a");
    lab.settle();
    let b = lab.join_as("b", |consumer| consumer.max_partitions = Some(1));
    let actions = (0..2).map(|n| begin(&lab, &tp("t", n), &a, &b, Mode::Overlap)).collect();
    planned(lab, actions)
}

pub(super) fn a_move_of_half_a_set() -> Broken {
    let (lab, a, b) = set();
    let action = begin(&lab, &tp("t", 1), &a, &b, Mode::Overlap);
    planned(lab, vec![action])
}
