//! A member of a consumer group step by step.

use kafka_assigner_kafka::messages::{HeartbeatAssignedTopic, HeartbeatAssignment};
use proptest::prelude::*;

use super::*;

const TOPIC: Uuid = Uuid([7; 16]);

fn at(millis: u64) -> Moment {
    Moment(Duration::from_millis(millis))
}

fn topics(names: &[&str]) -> BTreeSet<TopicName> {
    names.iter().map(|name| TopicName::new(name).unwrap()).collect()
}

struct Rig {
    member: ConsumerMember,
    now: Moment,
    said: Vec<ConsumerCommand>,
    sent: Option<(RequestNumber, ConsumerGroupHeartbeatRequest)>,
}

impl Rig {
    fn new(options: ConsumerGroupOptions) -> Self {
        let member = ConsumerMember::new(options, topics(&["t"]), at(0));
        let mut rig = Self { member, now: at(0), said: Vec::new(), sent: None };
        rig.does(ConsumerEvent::Named([(TOPIC, TopicName::new("t").unwrap())].into()));
        rig.does(ConsumerEvent::Coordinator);
        rig
    }

    fn plain() -> Self {
        Self::new(ConsumerGroupOptions::new("g".to_owned(), "m".to_owned()))
    }

    fn does(&mut self, event: ConsumerEvent) -> &mut Self {
        for command in self.member.step(self.now, event) {
            if let ConsumerCommand::Send { number, request, .. } = &command {
                self.sent = Some((*number, request.clone()));
            }
            self.said.push(command);
        }
        self
    }

    fn after(&mut self, millis: u64) -> &mut Self {
        self.now = self.now + Duration::from_millis(millis);
        self.does(ConsumerEvent::Tick)
    }

    fn answered(&mut self, error: i16, epoch: i32, assigned: Option<&[i32]>) -> &mut Self {
        let (number, _) = self.sent.take().expect("something was sent");
        let answer = ConsumerGroupHeartbeatResponse {
            error_code: error,
            member_epoch: epoch,
            heartbeat_interval_ms: 5000,
            assignment: assigned.map(assignment),
            ..ConsumerGroupHeartbeatResponse::default()
        };
        self.does(ConsumerEvent::Answered(number, Ok(answer)))
    }

    fn done(&mut self) -> &mut Self {
        self.does(ConsumerEvent::CallbackDone)
    }

    fn words(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said).iter().map(word).collect()
    }

    /// In epoch 1, reading `numbers`, with nothing under way.
    fn stable(numbers: &[i32]) -> Self {
        let mut rig = Self::plain();
        rig.answered(0, 1, Some(numbers)).done().answered(0, 1, None);
        rig.said.clear();
        rig
    }
}

fn assignment(numbers: &[i32]) -> HeartbeatAssignment {
    let topic = HeartbeatAssignedTopic { topic_id: TOPIC, partitions: numbers.to_vec() };
    HeartbeatAssignment { topic_partitions: vec![topic] }
}

fn word(command: &ConsumerCommand) -> String {
    let numbers = |partitions: &BTreeSet<TopicPartition>| {
        partitions.iter().map(|partition| partition.partition.to_string()).collect::<Vec<_>>().join(",")
    };
    match command {
        ConsumerCommand::Send { request, .. } => {
            let owned = request.topic_partitions.as_ref().map_or("-".to_owned(), |topics| {
                let numbers = topics.iter().flat_map(|topic| topic.partitions.iter().map(i32::to_string));
                numbers.collect::<Vec<_>>().join(",")
            });
            let is_full = if request.rebalance_timeout_ms >= 0 { " full" } else { "" };
            format!("beat {} owns {owned}{is_full}", request.member_epoch)
        }
        ConsumerCommand::LoseCoordinator => "lose coordinator".to_owned(),
        ConsumerCommand::LookUp(topics) => format!("look up {}", topics.len()),
        ConsumerCommand::Call(RebalanceCallback::Revoked(gone)) => format!("revoked {}", numbers(gone)),
        ConsumerCommand::Call(RebalanceCallback::Lost(gone)) => format!("lost {}", numbers(gone)),
        ConsumerCommand::Call(RebalanceCallback::Assigned(new)) => format!("assigned {}", numbers(new)),
        ConsumerCommand::StopReading(gone) => format!("stop {}", numbers(gone)),
        ConsumerCommand::StartReading(new) => format!("start {}", numbers(new)),
        ConsumerCommand::Tell(MemberNotice::Joined { generation, .. }) => format!("in {generation}"),
        ConsumerCommand::Tell(notice) => format!("{notice:?}"),
    }
}

#[test]
fn a_member_joins_takes_over_and_acknowledges_at_once() {
    let mut rig = Rig::plain();
    assert_eq!(rig.words(), ["beat 0 owns  full"]);
    rig.answered(0, 1, Some(&[0, 1]));
    assert_eq!(rig.words(), ["in 1", "assigned 0,1", "beat 1 owns 0,1"]);
    rig.done().answered(0, 1, None);
    assert_eq!(rig.words(), ["start 0,1"]);
    rig.after(4999);
    assert_eq!(rig.words(), [""; 0]);
    rig.after(1);
    assert_eq!(rig.words(), ["beat 1 owns -"], "what did not change is not said");
}

#[test]
fn what_is_given_up_is_reported_after_the_application_has_finished() {
    let mut rig = Rig::stable(&[0, 1]);
    rig.after(5000).answered(0, 2, Some(&[1, 2]));
    assert_eq!(rig.words(), ["beat 1 owns -", "stop 0", "revoked 0"]);
    rig.after(5000).answered(0, 2, None);
    assert_eq!(rig.words(), ["beat 2 owns -"], "it lives meanwhile, and keeps what it has not given up");
    rig.done();
    assert_eq!(rig.words(), ["assigned 2", "beat 2 owns 1,2"]);
    rig.done();
    assert_eq!(rig.words(), ["start 2"]);
}

#[test]
fn a_fenced_member_loses_everything_and_joins_with_the_same_id() {
    for error in [25, 110] {
        let mut rig = Rig::stable(&[0]);
        rig.after(5000).answered(error, 0, None);
        assert_eq!(rig.words(), ["beat 1 owns -", "stop 0", "lost 0"]);
        assert_eq!(rig.member.commits_as(), None);
        rig.done().after(100);
        assert_eq!(rig.words(), ["beat 0 owns  full"]);
        assert_eq!(rig.sent.as_ref().unwrap().1.member_id, "m");
    }
}

#[test]
fn after_any_failure_the_broker_is_told_everything() {
    let mut rig = Rig::stable(&[0]);
    rig.after(5000);
    let (number, _) = rig.sent.take().unwrap();
    rig.does(ConsumerEvent::Answered(number, Err(AnswerFailure))).does(ConsumerEvent::Coordinator).after(100);
    assert_eq!(rig.words(), ["beat 1 owns -", "lose coordinator", "beat 1 owns 0 full"]);
    rig.answered(16, 0, None).does(ConsumerEvent::Coordinator);
    assert_eq!(rig.words(), ["lose coordinator", "beat 1 owns 0 full"], "another broker is asked at once");
}

#[test]
fn a_topic_without_a_name_holds_no_other_up() {
    let mut rig = Rig::stable(&[0]);
    let unknown = HeartbeatAssignedTopic { topic_id: Uuid([8; 16]), partitions: vec![0] };
    let mut wanted = assignment(&[0, 1]);
    wanted.topic_partitions.push(unknown);
    rig.after(5000);
    let (number, _) = rig.sent.take().unwrap();
    let answer =
        ConsumerGroupHeartbeatResponse { member_epoch: 2, assignment: Some(wanted), ..Default::default() };
    rig.does(ConsumerEvent::Answered(number, Ok(answer)));
    assert_eq!(rig.words(), ["beat 1 owns -", "look up 1", "assigned 1", "beat 2 owns 0,1"]);
    rig.done().does(ConsumerEvent::Named(BTreeMap::new())).after(50);
    assert_eq!(rig.words(), ["start 1"], "it is asked for again after a wait");
    rig.after(50).does(ConsumerEvent::Named([(Uuid([8; 16]), TopicName::new("u").unwrap())].into()));
    assert_eq!(rig.words(), ["look up 1", "assigned 0"]);
}

#[test]
fn an_application_that_falls_silent_leaves_and_comes_back() {
    let mut rig = Rig::stable(&[0]);
    rig.after(300_000);
    assert_eq!(rig.words(), ["Stalled", "stop 0", "lost 0", "beat -1 owns -"]);
    rig.answered(0, -1, None).done().after(10_000);
    assert_eq!(rig.words(), [""; 0]);
    rig.does(ConsumerEvent::Polled);
    assert_eq!(rig.words(), ["beat 0 owns  full"]);
}

#[test]
fn closing_gives_up_leaves_and_ends() {
    for (instance, epoch) in [(None, -1), (Some("one".to_owned()), -2)] {
        let mut rig = Rig::new(ConsumerGroupOptions {
            instance,
            ..ConsumerGroupOptions::new("g".to_owned(), "m".to_owned())
        });
        rig.answered(0, 1, Some(&[0])).done().answered(0, 1, None).said.clear();
        rig.does(ConsumerEvent::Close(Duration::from_secs(5))).done();
        assert_eq!(
            rig.words(),
            ["stop 0".to_owned(), "revoked 0".to_owned(), format!("beat {epoch} owns -")]
        );
        rig.answered(0, epoch, None);
        assert_eq!(rig.words(), ["Closed"]);
        assert!(rig.member.is_over());
    }
    let mut rig = Rig::stable(&[0]);
    rig.does(ConsumerEvent::Close(Duration::from_secs(5))).after(5000).done();
    assert!(rig.member.is_over(), "closing has an end whatever hangs");
}

#[test]
fn what_does_not_pass_is_told() {
    let mut rig = Rig::stable(&[0]);
    rig.after(5000).answered(112, 0, None);
    let words = rig.words();
    assert!(words[1..] == ["stop 0", "Failed(Refused(KafkaError(112)))", "lost 0"], "{words:?}");
    rig.done().after(60_000);
    assert_eq!(rig.words(), [""; 0]);
}

#[test]
fn a_refused_commit_tells_of_a_membership_that_is_over_sooner_than_a_heartbeat() {
    for (error, expected) in [(25, &["stop 0", "lost 0"][..]), (113, &[]), (16, &["lose coordinator"])] {
        let mut rig = Rig::stable(&[0]);
        let asked = rig.member.commits_as().unwrap();
        rig.does(ConsumerEvent::CommitRefused(asked, KafkaError(error)));
        assert_eq!(rig.words(), expected, "{error}");
    }
    let mut rig = Rig::stable(&[0]);
    let old = Membership { generation: 0, ..rig.member.commits_as().unwrap() };
    rig.does(ConsumerEvent::CommitRefused(old, KafkaError::UNKNOWN_MEMBER));
    assert_eq!(rig.words(), [""; 0]);
}

#[derive(Debug, Clone)]
enum Chance {
    Wait(u64),
    Answer(i16, Option<u8>),
    Again,
    Silence,
    Coordinator,
    Poll,
    Done,
    Close,
}

fn chances() -> impl Strategy<Value = Chance> {
    let errors = proptest::sample::select(&[0_i16, 0, 0, 0, 14, 16, 25, 110][..]);
    prop_oneof![
        4 => (0..6000_u64).prop_map(Chance::Wait),
        1 => (200_000..400_000_u64).prop_map(Chance::Wait),
        8 => (errors, proptest::option::of(any::<u8>())).prop_map(|(error, part)| Chance::Answer(error, part)),
        1 => Just(Chance::Again),
        1 => Just(Chance::Silence),
        4 => Just(Chance::Coordinator),
        4 => Just(Chance::Poll),
        8 => Just(Chance::Done),
        1 => Just(Chance::Close),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_member_keeps_the_rules(chances in proptest::collection::vec(chances(), 1..150)) {
        let mut rig = Rig::plain();
        rig.said.clear();
        let (mut owned, mut reading, mut called): (BTreeSet<TopicPartition>, BTreeSet<TopicPartition>, _) =
            Default::default();
        let (mut epoch, mut over, mut old) = (0, false, RequestNumber(0));
        for chance in chances {
            let event = match chance {
                Chance::Wait(millis) => {
                    rig.now = rig.now + Duration::from_millis(millis);
                    ConsumerEvent::Tick
                }
                Chance::Answer(error, part) => {
                    let Some((number, _)) = rig.sent.take() else { continue };
                    old = number;
                    epoch += 1;
                    let numbers = part.map(|part| (0..8).filter(|bit| part >> bit & 1 == 1).collect::<Vec<_>>());
                    let answer = ConsumerGroupHeartbeatResponse {
                        error_code: error,
                        member_epoch: epoch,
                        heartbeat_interval_ms: 5000,
                        assignment: numbers.as_deref().map(assignment),
                        ..ConsumerGroupHeartbeatResponse::default()
                    };
                    ConsumerEvent::Answered(number, Ok(answer))
                }
                Chance::Again => {
                    let fenced = ConsumerGroupHeartbeatResponse { error_code: 110, ..Default::default() };
                    ConsumerEvent::Answered(old, Ok(fenced))
                }
                Chance::Silence => {
                    let Some((number, _)) = rig.sent.take() else { continue };
                    ConsumerEvent::Answered(number, Err(AnswerFailure))
                }
                Chance::Coordinator => ConsumerEvent::Coordinator,
                Chance::Poll => ConsumerEvent::Polled,
                Chance::Done => {
                    let Some(callback) = called else { continue };
                    called = None;
                    if let RebalanceCallback::Revoked(gone) = callback {
                        owned.retain(|partition| !gone.contains(partition));
                    }
                    ConsumerEvent::CallbackDone
                }
                Chance::Close => ConsumerEvent::Close(Duration::from_secs(30)),
            };
            let was_under_way = rig.sent.is_some();
            rig.does(event);
            for command in std::mem::take(&mut rig.said) {
                match command {
                    ConsumerCommand::Send { request, .. } => {
                        prop_assert!(!over && !was_under_way, "one heartbeat at a time, and none after the end");
                        if let (Some(topics), 1..) = (&request.topic_partitions, request.member_epoch) {
                            let said: usize = topics.iter().map(|topic| topic.partitions.len()).sum();
                            prop_assert_eq!(said, owned.len(), "it reports what it owns");
                        }
                    }
                    ConsumerCommand::Call(callback) => {
                        prop_assert!(called.is_none(), "two callbacks at once");
                        match &callback {
                            RebalanceCallback::Revoked(gone) => {
                                prop_assert!(gone.is_subset(&owned) && gone.is_disjoint(&reading));
                            }
                            RebalanceCallback::Lost(gone) => {
                                prop_assert_eq!(gone, &owned);
                                prop_assert!(reading.is_empty());
                                owned.clear();
                            }
                            RebalanceCallback::Assigned(new) => {
                                prop_assert!(new.is_disjoint(&owned));
                                owned.extend(new.iter().cloned());
                            }
                        }
                        called = Some(callback);
                    }
                    ConsumerCommand::StartReading(new) => {
                        prop_assert!(new.is_subset(&owned) && new.is_disjoint(&reading));
                        reading.extend(new);
                    }
                    ConsumerCommand::StopReading(gone) => reading.retain(|partition| !gone.contains(partition)),
                    ConsumerCommand::Tell(MemberNotice::Closed | MemberNotice::Failed(_)) => over = true,
                    _ => {}
                }
            }
            prop_assert!(rig.member.commits_as().is_some() || reading.is_empty(), "it reads outside of an epoch");
        }
    }
}
