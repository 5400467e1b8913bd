//! Acknowledgements of whole sets: those of one call are judged and written together.

use std::future::Future;

use kafka_assigner_core::key::Key;
use kafka_assigner_core::reason::Reason;
use kafka_assigner_core::record::{Handoff, HandoffRecord, MAX_SET, Phase, Reference, Source, Topic, encode};
use kafka_assigner_core::state::Entry;
use kafka_assigner_proto::v1::{AckOutcome, RegisterRequest};
use kafka_assigner_server::Options;
use kafka_assigner_store::faulty::Fault;
use kafka_assigner_types::id::{HandoffId, Incarnation, Member as Session, TopicPartition};
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::WallMillis;

use crate::cluster::{Cluster, Node};
use crate::member::{Member, ack, full, outcomes};
use crate::router::Router;

/// The most transactions that a call about one set may cost.
const MOST_TRANSACTIONS: u64 = 2;

/// A cluster with one set of `topics` topics, led by its first instance; the second one serves the members.
async fn with_a_set(topics: usize, tune: impl Fn(&mut Options)) -> Cluster {
    let mut cluster = Cluster::empty();
    for number in 0..topics {
        let topic = Topic { copartition: Some("s".to_owned()), ..Topic::new(2, Source::Static) };
        let name = format!("t{number:02}").parse().expect("a name");
        cluster.put(&Key::Topic(name), encode(&topic)).await;
    }
    cluster.add(&tune, None).await;
    let leads = cluster.nodes[0].instance.options().id.clone();
    let create = Member::join(&cluster.nodes[0], "first").await;
    cluster
        .until("it leads", |state| {
            state.leader().and_then(Entry::last_good).is_some_and(|l| l.instance == leads)
        })
        .await;
    cluster.revoke(create.roles.lease).await;
    cluster.add(&tune, None).await;
    cluster
}

/// Checks what `call` about `topics` partitions of one set answers and costs.
async fn costs(node: &Node, what: &str, topics: usize, call: impl Future<Output = Vec<AckOutcome>>) {
    let before = node.calls("txn");
    assert_eq!(call.await, vec![AckOutcome::Applied; topics], "{what}");
    let transactions = node.calls("txn") - before;
    assert!(
        (1..=MOST_TRANSACTIONS).contains(&transactions),
        "{what} of {topics} partitions took {transactions} transactions"
    );
}

/// One of two sets changes hands, with every call about it counted.
async fn changes_hands(topics: usize, tune: impl Fn(&mut Options), mode: Mode, catches_up: bool) {
    let cluster = with_a_set(topics, tune).await;
    let node = &cluster.nodes[1];
    let mut old = Member::join(node, "a").await;
    old.until("both sets", |roles| roles.assigned.len() == 2 * topics).await;
    let mut router = Router::join(node, "r").await;
    let mut new = Member::join(node, "b").await;
    new.until("one set to warm", |roles| roles.warming.len() == topics).await;
    costs(node, "ready", topics, new.ready()).await;
    if mode == Mode::Routed {
        router.until("it freezes the set", |known| known.stashed().len() == topics).await;
        costs(node, "frozen", topics, router.freeze()).await;
    }
    if mode.is_strict() {
        old.until("it shall stop", |roles| roles.draining.len() == topics).await;
        costs(node, "drained", topics, old.drained(5)).await;
    }
    if catches_up {
        new.until("it reads the rest", |roles| roles.catching_up.len() == topics).await;
        costs(node, "caught up", topics, new.caught_up()).await;
    }
    new.until("it owns the set", |roles| roles.assigned.len() == topics).await;
    costs(node, "taken", topics, new.taken()).await;
    old.until("it lets go", |roles| roles.releasing.len() == topics).await;
    costs(node, "released", topics, old.released()).await;
    assert_eq!(cluster.settled(2).await.values().copied().collect::<Vec<_>>(), [topics, topics]);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_about_a_set_of_40_takes_one_or_two_transactions_in_every_mode() {
    for mode in Mode::ALL {
        let tune = |options: &mut Options| options.group_defaults.mode = mode;
        changes_hands(MAX_SET, tune, mode, mode == Mode::Routed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_catch_up_of_a_set_takes_one_or_two_transactions() {
    let tune = |options: &mut Options| {
        options.group_defaults.mode = Mode::Exclusive;
        options.group_defaults.catch_up = true;
    };
    changes_hands(MAX_SET, tune, Mode::Exclusive, true).await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_warm_up_of_a_set_takes_one_or_two_transactions() {
    let cluster = with_a_set(MAX_SET, |_| {}).await;
    let node = &cluster.nodes[1];
    let mut old = Member::join(node, "a").await;
    old.until("both sets", |roles| roles.assigned.len() == 2 * MAX_SET).await;
    let mut new = Member::join(node, "b").await;
    new.until("one set to warm", |roles| roles.warming.len() == MAX_SET).await;
    costs(node, "warm failed", MAX_SET, new.fail("no disk")).await;
    new.until("it is over", |roles| roles.warming.is_empty()).await;
    cluster.stop().await;
}

/// A set that is to warm up at its new owner, on an instance that does not lead.
async fn warming(topics: usize) -> (Cluster, Member, Member) {
    let cluster = with_a_set(topics, |_| {}).await;
    let mut old = Member::join(&cluster.nodes[1], "a").await;
    old.until("both sets", |roles| roles.assigned.len() == 2 * topics).await;
    let mut new = Member::join(&cluster.nodes[1], "b").await;
    new.until("one set to warm", |roles| roles.warming.len() == topics).await;
    (cluster, old, new)
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_a_call_names_twice_is_recorded_once() {
    let (cluster, _old, new) = warming(2).await;
    let acks: Vec<_> =
        new.roles.warming.values().map(|w| ack(&w.topic, w.partition, &w.handoff_id)).collect();
    let twice = vec![acks[0].clone(), acks[0].clone(), acks[1].clone()];
    let results = new.say_ready(twice).await.expect("a definite answer");
    assert_eq!(outcomes(&results), [AckOutcome::Applied, AckOutcome::Already, AckOutcome::Applied]);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_without_an_answer_is_looked_up_before_it_is_repeated() {
    for (fault, outcome) in [
        (Fault::LoseAnswer, AckOutcome::Already),
        (Fault::LoseRequest, AckOutcome::Applied),
        (Fault::Refuse, AckOutcome::Applied),
    ] {
        let (cluster, _old, new) = warming(3).await;
        // The view catches up with the store first.
        cluster.nodes[1].link.script([None, Some(fault)]);
        assert_eq!(new.ready().await, [outcome; 3], "{fault:?}");
        cluster.stop().await;
    }
}

/// Partitions that no transaction holds as one unit.
const TOO_MANY: u32 = 130;

fn session(name: &str) -> Session {
    let incarnation = Incarnation::new(&format!("{name}-1")).expect("an incarnation");
    Session { name: name.parse().expect("a name"), incarnation }
}

/// Puts a handoff of all partitions of `t` from `a` to `b`, in which `a` is to stop, around all instances.
async fn put_too_large(cluster: &Cluster) {
    let unit: Vec<_> = (0..TOO_MANY).map(|n| TopicPartition::new("t".parse().expect("a name"), n)).collect();
    let (id, parties) = (HandoffId::new("large"), (session("a"), session("b")));
    let handoff =
        Handoff::new(id.clone(), unit.clone(), parties, Mode::Exclusive, WallMillis(0), Reason::Unowned);
    let record = HandoffRecord::Lead(Box::new(handoff.in_phase(Phase::Draining)));
    cluster.put(&Key::Handoff(unit[0].clone()), encode(&record)).await;
    for at in &unit[1..] {
        let reference = HandoffRecord::Reference(Reference::new(id.clone(), unit[0].clone()));
        cluster.put(&Key::Handoff(at.clone()), encode(&reference)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_unit_that_no_transaction_holds_is_undecided_and_keeps_no_other_one_from_being_recorded() {
    let mut cluster = Cluster::empty();
    cluster.topic("t", TOO_MANY).await;
    cluster.topic("z", 1).await;
    cluster.add(|options| options.group_defaults.mode = Mode::Exclusive, None).await;
    let node = &cluster.nodes[0];
    let mut old = Member::register(node, full("a", "a-1")).await.expect("a registers");
    old.until("everything", |roles| roles.assigned.len() == TOO_MANY as usize + 1).await;
    let takes_z = RegisterRequest { topics: vec!["z".to_owned()], ..full("b", "b-1") };
    let mut new = Member::register(node, takes_z).await.expect("b registers");
    new.until("z to warm", |roles| roles.warming.len() == 1).await;
    new.ready().await;
    old.until("z to drain", |roles| roles.draining.len() == 1).await;
    put_too_large(&cluster).await;
    old.until("t to drain", |roles| roles.draining.len() == TOO_MANY as usize + 1).await;
    let outcomes = old.drained(5).await;
    let (large, small) = outcomes.split_at(TOO_MANY as usize);
    assert!(large.iter().all(|outcome| *outcome == AckOutcome::Undecided), "{large:?}");
    assert_eq!(small, [AckOutcome::Applied]);
    new.until("it owns z", |roles| roles.assigned.len() == 1).await;
    cluster.stop().await;
}
