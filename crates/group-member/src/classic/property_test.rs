//! Any order of events: what must hold whatever happens.

use std::collections::BTreeMap;

use kafka_assigner_kafka::wire::Blob;
use proptest::prelude::*;

use super::*;
use crate::OfferedStrategy;
use crate::subscription::assignment_bytes;

/// An event, without the numbers that only the run knows.
#[derive(Debug, Clone, Copy)]
enum Chance {
    Wait(u64),
    Coordinator,
    /// An answer to the join under way, if there is one: an error, whether an id is given, and who leads.
    Join(i16, bool, u8),
    Plan(bool),
    Sync(i16, u8),
    Beat(i16),
    /// No answer to the request under way of this kind.
    Silence(u8),
    /// The answer to any request so far once more, of this kind.
    Again(u8),
    Left,
    Subscribe(u8),
    Metadata,
    Poll,
    Done,
    Close,
}

const JOIN_ERRORS: [i16; 12] = [0, 0, 0, 0, 79, 14, 15, 16, 25, 27, 22, 0];
const SYNC_ERRORS: [i16; 10] = [0, 0, 0, 0, 14, 16, 25, 27, 22, 0];
const BEAT_ERRORS: [i16; 8] = [0, 0, 0, 27, 14, 16, 25, 22];

fn chances() -> impl Strategy<Value = Chance> {
    let of = |errors: &'static [i16]| proptest::sample::select(errors);
    prop_oneof![
        4 => (0..5000_u64).prop_map(Chance::Wait),
        1 => (40_000..400_000_u64).prop_map(Chance::Wait),
        6 => Just(Chance::Coordinator),
        8 => (of(&JOIN_ERRORS), any::<bool>(), 0..3_u8).prop_map(|(error, id, leader)| Chance::Join(error, id, leader)),
        4 => any::<bool>().prop_map(Chance::Plan),
        8 => (of(&SYNC_ERRORS), any::<u8>()).prop_map(|(error, part)| Chance::Sync(error, part)),
        6 => of(&BEAT_ERRORS).prop_map(Chance::Beat),
        2 => (0..3_u8).prop_map(Chance::Silence),
        2 => (0..3_u8).prop_map(Chance::Again),
        2 => Just(Chance::Left),
        1 => (0..4_u8).prop_map(Chance::Subscribe),
        1 => Just(Chance::Metadata),
        6 => Just(Chance::Poll),
        8 => Just(Chance::Done),
        1 => Just(Chance::Close),
    ]
}

/// The rest of the world: what an observer knows who sees commands and events alone.
#[derive(Default)]
struct World {
    now: u64,
    under_way: BTreeMap<u8, RequestNumber>,
    all: Vec<(u8, RequestNumber)>,
    /// The id that the coordinator gave last; empty: none, or it is unknown to the coordinator.
    id: String,
    ids: u32,
    generation: i32,
    callback: Option<RebalanceCallback>,
    owned: BTreeSet<TopicPartition>,
    reading: BTreeSet<TopicPartition>,
    is_over: bool,
}

const JOIN: u8 = 0;
const SYNC: u8 = 1;
const BEAT: u8 = 2;
const LEAVE: u8 = 3;

impl World {
    fn check(&mut self, member: &ClassicMember, commands: Vec<ClassicCommand>) -> Result<(), TestCaseError> {
        for command in commands {
            match command {
                ClassicCommand::Send { number, request, .. } => self.sent(number, &request)?,
                ClassicCommand::Call(callback) => self.called(callback)?,
                ClassicCommand::StartReading(new) => {
                    prop_assert!(new.is_subset(&self.owned), "it reads what it does not own");
                    prop_assert!(new.is_disjoint(&self.reading), "it reads twice");
                    self.reading.extend(new);
                }
                ClassicCommand::StopReading(gone) => {
                    prop_assert!(gone.is_subset(&self.reading), "it stops what it does not read");
                    self.reading.retain(|partition| !gone.contains(partition));
                }
                ClassicCommand::Tell(MemberNotice::Closed | MemberNotice::Failed(_)) => {
                    prop_assert!(!self.is_over, "it ends twice");
                    self.is_over = true;
                }
                ClassicCommand::Flush => {
                    prop_assert!(member.commits_as().is_some(), "nothing can be committed");
                }
                ClassicCommand::Tell(_) | ClassicCommand::LoseCoordinator | ClassicCommand::Plan { .. } => {}
            }
        }
        if let Some(membership) = member.commits_as() {
            prop_assert_eq!(membership.generation, self.generation, "it commits for another generation");
        } else if member.membership.is_none() {
            prop_assert!(self.reading.is_empty(), "it reads outside of a generation");
        }
        Ok(())
    }

    fn sent(&mut self, number: RequestNumber, request: &ClassicRequest) -> Result<(), TestCaseError> {
        let (kind, id, generation) = match request {
            ClassicRequest::Join(join) => (JOIN, &join.member_id, None),
            ClassicRequest::Sync(sync) => (SYNC, &sync.member_id, Some(sync.generation_id)),
            ClassicRequest::Beat(beat) => (BEAT, &beat.member_id, Some(beat.generation_id)),
            ClassicRequest::Leave(leave) => (LEAVE, &leave.members[0].member_id, None),
        };
        prop_assert!(!self.is_over, "it asks after its end");
        if kind != LEAVE {
            prop_assert_eq!(self.under_way.insert(kind, number), None, "two of kind {} at once", kind);
            prop_assert_eq!(id, &self.id, "it forgets its id, or uses one that nobody knows");
        } else {
            self.under_way.insert(kind, number);
            self.id.clear();
        }
        if kind == JOIN {
            prop_assert!(self.callback.is_none(), "it joins while the application is called");
        }
        if let Some(generation) = generation {
            prop_assert_eq!(generation, self.generation, "it speaks for another generation");
        }
        self.all.push((kind, number));
        Ok(())
    }

    fn called(&mut self, callback: RebalanceCallback) -> Result<(), TestCaseError> {
        prop_assert!(self.callback.is_none(), "two callbacks at once");
        match &callback {
            RebalanceCallback::Revoked(gone) => {
                prop_assert!(gone.is_subset(&self.owned) && !gone.is_empty());
                prop_assert!(gone.is_disjoint(&self.reading), "it reads what it gives up");
            }
            RebalanceCallback::Lost(gone) => {
                prop_assert_eq!(gone, &self.owned, "what is lost is all that is owned");
                prop_assert!(self.reading.is_empty(), "it reads what is lost");
                self.owned.clear();
            }
            RebalanceCallback::Assigned(new) => {
                prop_assert!(new.is_disjoint(&self.owned), "it is given what it has");
                self.owned.extend(new.iter().cloned());
            }
        }
        self.callback = Some(callback);
        Ok(())
    }

    /// The event, with what the coordinator knows; `None` where nothing waits for it.
    fn event(&mut self, chance: Chance, member: &ClassicMember) -> Option<ClassicEvent> {
        Some(match chance {
            Chance::Wait(millis) => {
                self.now += millis;
                ClassicEvent::Tick
            }
            Chance::Coordinator => ClassicEvent::Coordinator,
            Chance::Join(error, new_id, leader) => {
                let number = self.under_way.remove(&JOIN)?;
                let is_heard =
                    matches!(member.state, ClassicState::Joining { request, .. } if request == number);
                ClassicEvent::Joined(number, Ok(self.join_answer(error, new_id, leader, is_heard)))
            }
            Chance::Plan(is_made) => {
                ClassicEvent::Planned { generation: self.generation, plan: is_made.then(Vec::new) }
            }
            Chance::Sync(error, part) => {
                let number = self.under_way.remove(&SYNC)?;
                self.forgets(error, matches!(member.state, ClassicState::Syncing { .. }));
                let numbers = (0..8).filter(|bit| part >> bit & 1 == 1);
                let part =
                    numbers.map(|bit| TopicPartition::try_from((["t", "u"][bit % 2], bit as u32)).unwrap());
                let assignment = Blob(assignment_bytes(&part.collect()).into());
                ClassicEvent::Synced(
                    number,
                    Ok(SyncGroupResponse { error_code: error, assignment, ..Default::default() }),
                )
            }
            Chance::Beat(error) => {
                let number = self.under_way.remove(&BEAT)?;
                let counts = member
                    .flights
                    .beat
                    .as_ref()
                    .is_some_and(|(_, asked)| member.membership.as_ref() == Some(asked));
                self.forgets(error, counts);
                ClassicEvent::Beaten(
                    number,
                    Ok(GroupHeartbeatResponse { error_code: error, throttle_time_ms: 0 }),
                )
            }
            Chance::Silence(kind) => {
                let number = self.under_way.remove(&kind)?;
                match kind {
                    JOIN => ClassicEvent::Joined(number, Err(AnswerFailure)),
                    SYNC => ClassicEvent::Synced(number, Err(AnswerFailure)),
                    _ => ClassicEvent::Beaten(number, Err(AnswerFailure)),
                }
            }
            Chance::Again(kind) => {
                let is_old = |(of, number): &&(u8, RequestNumber)| {
                    *of == kind && self.under_way.get(&kind) != Some(number)
                };
                let (_, number) = *self.all.iter().rev().find(is_old)?;
                let unknown = GroupHeartbeatResponse { error_code: 25, throttle_time_ms: 0 };
                match kind {
                    JOIN => ClassicEvent::Joined(
                        number,
                        Ok(JoinGroupResponse { error_code: 25, ..Default::default() }),
                    ),
                    SYNC => ClassicEvent::Synced(
                        number,
                        Ok(SyncGroupResponse { error_code: 25, ..Default::default() }),
                    ),
                    _ => ClassicEvent::Beaten(number, Ok(unknown)),
                }
            }
            Chance::Left => ClassicEvent::Left(self.under_way.remove(&LEAVE)?, Ok(())),
            Chance::Subscribe(topics) => {
                let names = ["t", "u"].into_iter().zip(0..).filter(|(_, bit)| topics >> bit & 1 == 1);
                ClassicEvent::Subscribed(names.map(|(name, _)| TopicName::new(name).unwrap()).collect())
            }
            Chance::Metadata => ClassicEvent::MetadataChanged,
            Chance::Poll => ClassicEvent::Polled,
            Chance::Done => {
                let Some(callback) = self.callback.take() else { return Some(ClassicEvent::Flushed) };
                if let RebalanceCallback::Revoked(gone) = callback {
                    self.owned.retain(|partition| !gone.contains(partition));
                }
                ClassicEvent::CallbackDone
            }
            Chance::Close => ClassicEvent::Close(Duration::from_secs(30)),
        })
    }

    fn join_answer(&mut self, error: i16, new_id: bool, leader: u8, is_heard: bool) -> JoinGroupResponse {
        if matches!(error, 0 | 79) && (new_id || self.id.is_empty()) {
            self.ids += 1;
            self.id = format!("m{}", self.ids);
        }
        self.forgets(error, is_heard);
        if error == 0 && is_heard {
            self.generation += 1;
        }
        JoinGroupResponse {
            error_code: error,
            member_id: if matches!(error, 0 | 79) { self.id.clone() } else { String::new() },
            generation_id: self.generation,
            protocol_name: Some("s".to_owned()),
            leader: [self.id.as_str(), "other", ""][usize::from(leader)].to_owned(),
            ..JoinGroupResponse::default()
        }
    }

    /// The coordinator does not know the member any more, and says so to one that listens.
    fn forgets(&mut self, error: i16, is_heard: bool) {
        if error == 25 && is_heard {
            self.id.clear();
        }
    }
}

fn holds(chances: Vec<Chance>, manner: crate::RebalanceManner) -> Result<(), TestCaseError> {
    let offered = OfferedStrategy { name: "s".to_owned(), manner, notes: crate::StrategyNotes::Sticky };
    let topics = ["t", "u"].map(|name| TopicName::new(name).unwrap()).into();
    let mut member =
        ClassicMember::new(ClassicOptions::new("g".to_owned(), vec![offered]), topics, Moment::default());
    let mut world = World::default();
    for chance in chances {
        let Some(event) = world.event(chance, &member) else { continue };
        let commands = member.step(Moment(Duration::from_millis(world.now)), event);
        world.check(&member, commands)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn an_eager_member_keeps_the_rules(chances in proptest::collection::vec(chances(), 1..150)) {
        holds(chances, crate::RebalanceManner::Eager)?;
    }

    #[test]
    fn a_cooperative_member_keeps_the_rules(chances in proptest::collection::vec(chances(), 1..150)) {
        holds(chances, crate::RebalanceManner::Cooperative)?;
    }
}
