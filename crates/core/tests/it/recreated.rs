//! Topics that are deleted and created again between two looks at Kafka: only their id tells.

use std::time::Duration;

use kafka_assigner_core::ack::{Ack, Drained};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Assignment, GroupConfig, Source, Topic, encode};
use kafka_assigner_core::state::Touched;
use kafka_assigner_core::test_group::{TestGroup, catching_up, tp};
use kafka_assigner_core::topics::{Denials, Found, TopicLook, follow};
use kafka_assigner_core::view::Role;
use kafka_assigner_types::id::{Epoch, Member, Offset};
use kafka_assigner_types::kv::Revision;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::topic_id::TopicId;

const REFRESH: Duration = Duration::from_secs(10);

/// A group whose leader looks at Kafka.
struct Looking {
    group: TestGroup,
    denials: Denials,
}

impl Looking {
    fn new(mode: Mode) -> Self {
        let mut group = TestGroup::default();
        group.configure(&GroupConfig { mode, ..GroupConfig::default() });
        Self { group, denials: Denials::new(REFRESH) }
    }

    /// Kafka shows the topic, a refresh later, with this id; the leader does what follows from it.
    fn look(&mut self, partitions: u32, id: u8) {
        self.group.later(REFRESH);
        let look = TopicLook { partitions, id: TopicId::new([id; 16]) };
        let found = Found::from([("t".parse().expect("a name"), Some(look))]);
        let writes = follow(&self.group.state, &found, &mut self.denials, self.group.moment);
        for write in writes {
            assert!(self.group.apply(&write.unfenced()));
        }
    }

    fn role(&self, member: &Member) -> Option<Role> {
        self.group.view(member).roles.get(&tp("t", 0)).cloned()
    }
}

#[test]
fn owners_give_up_a_topic_that_was_created_again_and_are_granted_the_new_one() {
    for mode in [Mode::Overlap, Mode::Exclusive, Mode::Routed] {
        for partitions in [1, 2, 4] {
            let mut looking = Looking::new(mode);
            let a = looking.group.join("a");
            looking.look(2, 7);
            looking.group.settle();
            let Some(Role::Owner { run: before, .. }) = looking.role(&a) else { panic!("{mode}: no owner") };
            looking.look(partitions, 8);
            assert!(looking.role(&a).is_some(), "{mode}: once is not enough");
            looking.look(partitions, 8);
            looking.group.settle();
            assert_eq!(looking.role(&a), None, "{mode}: it drops what it has of the former topic");
            looking.look(partitions, 8);
            looking.group.settle();
            let Some(Role::Owner { run, start, .. }) = looking.role(&a) else {
                panic!("{mode}: not granted")
            };
            assert!(run > before, "{mode}: it begins anew");
            assert_eq!(start, Some(Offset::ZERO), "{mode}: what is committed may be of the former topic");
            assert_eq!(looking.group.view(&a).roles.len(), partitions as usize, "{mode}");
        }
    }
}

// The instance that hears the drain writes what follows from it, and no pass of the leader lies between.
#[test]
fn a_drain_that_meets_the_new_topic_grants_it_from_its_beginning() {
    for catch_up in [false, true] {
        let mut looking = Looking::new(Mode::Exclusive);
        looking.group.configure(&GroupConfig { mode: Mode::Exclusive, catch_up, ..GroupConfig::default() });
        let a = looking.group.join("a");
        looking.look(2, 7);
        looking.group.settle();
        let b = looking.group.join("b");
        looking.group.pass();
        let at = looking.group.state.handoffs().keys().next().expect("a partition moves").clone();
        let id = looking.group.state.handoff(&at).expect("it leads").id.clone();
        looking.group.say(&b, &at, Some(&id), &Ack::Ready);
        looking.group.pass();
        for _ in 0..3 {
            looking.look(2, 8);
        }
        let drained = Drained { offset: Offset::new(600).ok(), last_at: None };
        looking.group.say(&a, &at, Some(&id), &Ack::Drained(drained));
        if catch_up {
            let role = looking.group.view(&b).roles.remove(&at);
            let Some(Role::CatchingUp { until, .. }) = role else { panic!("{role:?}") };
            assert_eq!(until, Some(Offset::ZERO), "600 is no end of this topic's log");
            looking.group.say(&b, &at, Some(&id), &Ack::CaughtUp);
        }
        let assignment = looking.group.state.assignment(&at).expect("it is granted");
        assert_eq!(looking.group.owner(&at), Some("b"));
        assert_eq!(assignment.start, Some(Offset::ZERO), "catch_up = {catch_up}: 600 is of the former topic");
        looking.group.settle();
        for member in [&a, &b] {
            for (at, role) in looking.group.view(member).roles {
                let Role::Owner { start, .. } = role else { panic!("{at}: {role:?}") };
                assert_eq!(start, Some(Offset::ZERO), "{at}, catch_up = {catch_up}");
            }
        }
    }
}

// The end of the log that it is told depends on the topic.
#[test]
fn who_is_to_have_a_partition_hears_that_its_topic_was_created_again() {
    let (mut group, at) = catching_up();
    let new = group.state.handoff(&at).expect("it moves").new.name.clone();
    group.touched = Touched::default();
    let topic = Topic { since: Some(Revision(9)), ..Topic::new(2, Source::Kafka) };
    group.put(&Key::Topic(at.topic.clone()), encode(&topic));
    assert!(group.touched.members.contains_key(&new));
}

// Groups are deleted and created again as well.
#[test]
fn a_topic_does_not_land_in_a_group_that_was_created_since_kafka_was_asked() {
    let mut looking = Looking::new(Mode::Overlap);
    let look = TopicLook { partitions: 2, id: TopicId::new([7; 16]) };
    let found = Found::from([("t".parse().expect("a name"), Some(look))]);
    let writes = follow(&looking.group.state, &found, &mut looking.denials, looking.group.moment);
    looking.group.remove(&Key::GroupConfig);
    assert!(!looking.group.apply(&writes[0].clone().unfenced()), "the group is gone");
    looking.group.configure(&GroupConfig::default());
    assert!(!looking.group.apply(&writes[0].clone().unfenced()), "it is another one");
    assert!(looking.group.state.topics().is_empty());
}

// An assignment that was imported from another store names no owner and not the topic of which it was.
#[test]
fn an_assignment_that_names_no_topic_is_not_taken_for_one_of_a_former() {
    let mut looking = Looking::new(Mode::Exclusive);
    let topic = Topic { since: Some(Revision(1)), ..Topic::new(1, Source::Kafka) };
    looking.group.put(&Key::Topic("t".parse().unwrap()), encode(&topic));
    let imported = Assignment::without_owner(Mode::Exclusive, Epoch(1_000));
    looking.group.put(&Key::Assignment(tp("t", 0)), encode(&imported));
    let a = looking.group.join("a");
    looking.group.settle();
    let Some(Role::Owner { start, .. }) = looking.role(&a) else { panic!("not granted") };
    assert_eq!(start, None, "what is committed counts");
}

#[test]
fn a_topic_is_not_there_again_before_its_owners_in_overlap_have_lost_it() {
    let mut looking = Looking::new(Mode::Overlap);
    looking.group.join("a");
    looking.look(2, 7);
    looking.group.settle();
    looking.look(2, 8);
    looking.look(2, 8);
    // Two looks without a pass of the leader between.
    looking.look(2, 8);
    assert!(!looking.group.state.exists(&tp("t", 0)));
    looking.group.settle();
    looking.look(2, 8);
    assert!(looking.group.state.exists(&tp("t", 0)));
}

#[test]
fn what_was_set_for_a_name_holds_for_the_topic_that_is_created_again() {
    let mut looking = Looking::new(Mode::Overlap);
    looking.group.join("a");
    looking.look(2, 7);
    let key = Key::Topic("t".parse().expect("a name"));
    let mut set: Topic = looking.group.stored(&key);
    (set.mode, set.copartition) = (Some(Mode::Exclusive), Some("s".to_owned()));
    looking.group.put(&key, encode(&set));
    looking.group.settle();
    for _ in 0..3 {
        looking.look(2, 8);
        looking.group.settle();
    }
    let again: Topic = looking.group.stored(&key);
    assert_eq!((again.partitions, again.mode, again.copartition), (2, set.mode, set.copartition));
    assert_eq!(looking.group.owner(&tp("t", 0)), Some("a"));
}
