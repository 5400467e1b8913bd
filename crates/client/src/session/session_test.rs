use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{
    AssignmentCommand, DeregisterMode, HeartbeatOutcome, HeartbeatResponse, SessionInfo, Snapshot,
};
use proptest::prelude::*;

use super::*;
use crate::roles::RoleChange;

const TTL: Duration = Duration::from_secs(30);

/// A session under test with the time and what it asked for last.
struct Rig {
    ttl: Duration,
    session: Session,
    now: Moment,
    revision: u64,
    opened: Option<OpenStream>,
    heartbeat: Option<SendHeartbeat>,
    claim: Option<Moment>,
    strict_claim: Option<Moment>,
    roles: Vec<RoleChange>,
    farewells: Vec<String>,
    losses: Vec<Loss>,
    deregistered: Vec<DeregisterMode>,
    ending: Option<Ending>,
}

impl Rig {
    fn new() -> Self {
        let endpoints = vec!["a".to_owned(), "b".to_owned()];
        let options = SessionOptions { endpoints, outage_grace: Duration::from_secs(600), seed: 4 };
        let mut rig = Self {
            ttl: TTL,
            session: Session::new(options),
            now: Moment::default(),
            revision: 10,
            opened: None,
            heartbeat: None,
            claim: None,
            strict_claim: None,
            roles: Vec::new(),
            farewells: Vec::new(),
            losses: Vec::new(),
            deregistered: Vec::new(),
            ending: None,
        };
        rig.step(Event::Start);
        rig
    }

    /// With an open session.
    fn live() -> Self {
        let mut rig = Self::new();
        rig.snapshot();
        rig
    }

    fn step(&mut self, event: Event<AssignmentCommand>) {
        for action in self.session.step(self.now, event) {
            match action {
                SessionAction::OpenStream(open) => self.opened = Some(open),
                SessionAction::CloseStream => self.opened = None,
                SessionAction::SendHeartbeat(heartbeat) => {
                    let waiting = self.heartbeat.as_ref().map(|before| &before.incarnation);
                    assert_ne!(waiting, Some(&heartbeat.incarnation), "two heartbeats at once");
                    self.heartbeat = Some(heartbeat);
                }
                SessionAction::SendDeregister { mode, .. } => self.deregistered.push(mode),
                SessionAction::Claim(term) => {
                    self.claim = term.map(|term| term.overlap);
                    self.strict_claim = term.map(|term| term.strict);
                }
                SessionAction::Opened { .. } => {}
                SessionAction::News(change) => self.roles.push(change),
                SessionAction::SayStopped { incarnation } => self.farewells.push(incarnation),
                SessionAction::Lost(loss) => self.losses.push(loss),
                SessionAction::Finished(ending) => self.ending = Some(ending),
            }
        }
    }

    fn command(&mut self, command: Command) {
        let attempt = self.opened.as_ref().expect("a stream is open").attempt;
        let command =
            AssignmentCommand { cluster_id: "c".into(), revision: self.revision, command: Some(command) };
        self.step(Event::Command { attempt, command });
    }

    fn snapshot(&mut self) {
        self.part(&[], false);
    }

    /// A snapshot, or a part of one, that assigns partitions of the topic `t`.
    fn part(&mut self, assigned: &[i32], more: bool) {
        let open = self.opened.as_ref().expect("a stream is open");
        let lease = if open.resume_lease == 0 { 77 } else { open.resume_lease };
        let ttl_ms = u64::try_from(self.ttl.as_millis()).expect("small");
        let session = SessionInfo { incarnation: open.incarnation.clone(), lease, ttl_ms };
        let assigned = assigned.iter().map(|partition| v1::AssignedPartition {
            topic: "t".into(),
            partition: *partition,
            ..v1::AssignedPartition::default()
        });
        let assigned = assigned.collect();
        let snapshot = Snapshot { session: Some(session), assigned, more, ..Snapshot::default() };
        self.command(Command::Snapshot(snapshot));
    }

    fn fenced(&mut self, reason: FenceReason) {
        self.command(Command::Fenced(Fenced { reason: reason.into(), message: "why".into() }));
    }

    fn wait(&mut self, span: Duration) {
        self.now = self.now + span;
        self.step(Event::Timer);
    }

    /// Lets time pass until the machine has something to do.
    fn wait_for_wake(&mut self) {
        self.now = self.session.next_wake().expect("something is due").max(self.now);
        self.step(Event::Timer);
    }

    fn wait_for_heartbeat(&mut self) -> u64 {
        while self.heartbeat.is_none() {
            self.wait_for_wake();
        }
        self.heartbeat.as_ref().expect("sent").number
    }

    fn wait_for_stream(&mut self) -> OpenStream {
        while self.opened.is_none() {
            self.wait_for_wake();
        }
        self.opened.clone().expect("opened")
    }

    fn answer(&mut self, outcome: HeartbeatOutcome, concerned_revision: u64) {
        let number = self.heartbeat.take().expect("a heartbeat was sent").number;
        let response = HeartbeatResponse {
            outcome: outcome.into(),
            cluster_id: "c".into(),
            revision: self.revision,
            concerned_revision,
            ..HeartbeatResponse::default()
        };
        self.step(Event::HeartbeatAnswered { number, response });
    }

    fn break_stream(&mut self, status: Status) {
        let attempt = self.opened.as_ref().expect("a stream is open").attempt;
        self.step(Event::StreamFailed { attempt, status });
    }

    fn incarnation(&self) -> String {
        self.session.incarnation().expect("a session").to_owned()
    }
}

#[test]
fn the_claim_of_a_new_session_counts_from_the_sending_of_register() {
    let mut rig = Rig::new();
    rig.now = rig.now + Duration::from_secs(3);
    rig.snapshot();
    assert_eq!(rig.claim, Some(Moment(TTL * 2 / 3)));
    assert_eq!(rig.roles, [RoleChange::All { roles: Vec::new(), undecided: Default::default() }]);
}

#[test]
fn heartbeats_are_a_third_of_the_ttl_apart_and_extend_from_their_sending() {
    let mut rig = Rig::live();
    rig.wait_for_heartbeat();
    assert_eq!(rig.now, Moment(TTL / 3));
    rig.now = rig.now + Duration::from_secs(2);
    rig.answer(HeartbeatOutcome::Confirmed, 0);
    assert_eq!(rig.claim, Some(Moment(TTL)));
    rig.wait_for_heartbeat();
    assert_eq!(rig.now, Moment(TTL * 2 / 3));
}

// A cut connection alone ends nothing.
#[test]
fn a_broken_stream_is_resumed_elsewhere_under_the_same_lease() {
    let mut rig = Rig::live();
    let before = rig.opened.clone().expect("open");
    rig.break_stream(Status::unavailable("gone"));
    let after = rig.wait_for_stream();
    assert_ne!(after.endpoint, before.endpoint);
    assert_eq!((after.incarnation, after.resume_lease), (before.incarnation, 77));
    assert_eq!(after.seen, Seen { cluster_id: "c".into(), revision: 10 });
    assert_eq!(rig.losses, []);
}

#[test]
fn a_reconnect_is_followed_by_a_heartbeat_and_counts_for_no_claim() {
    let mut rig = Rig::live();
    let claim = rig.claim;
    rig.now = rig.now + Duration::from_secs(5);
    rig.break_stream(Status::unavailable("gone"));
    rig.wait_for_stream();
    rig.snapshot();
    assert_eq!(rig.claim, claim);
    rig.step(Event::Timer);
    assert!(rig.heartbeat.is_some());
}

#[test]
fn a_first_register_without_a_definite_answer_is_repeated_under_a_new_incarnation() {
    let mut rig = Rig::new();
    let first = rig.opened.clone().expect("open");
    rig.break_stream(Status::deadline_exceeded("no answer"));
    let second = rig.wait_for_stream();
    assert_ne!(second.incarnation, first.incarnation);
    assert_eq!(second.resume_lease, 0);
    rig.wait(stream::FIRST_COMMAND_BOUND);
    assert_ne!(rig.wait_for_stream().incarnation, second.incarnation);
}

#[test]
fn what_a_stream_says_after_it_was_given_up_is_ignored() {
    let mut rig = Rig::live();
    let stale = rig.opened.clone().expect("open").attempt;
    rig.break_stream(Status::unavailable("gone"));
    rig.wait_for_stream();
    let fenced = Command::Fenced(Fenced::default());
    let command = AssignmentCommand { cluster_id: "c".into(), revision: 11, command: Some(fenced) };
    rig.step(Event::Command { attempt: stale, command });
    assert_eq!(rig.losses, []);
}

// The old session may still be written somewhere, so nothing of it is used again.
#[test]
fn a_fenced_session_is_lost_and_a_new_one_is_opened() {
    let mut rig = Rig::live();
    let before = rig.incarnation();
    rig.fenced(FenceReason::Expired);
    assert_eq!(rig.losses, [Loss::Fenced(FenceReason::Expired, "why".into())]);
    assert_eq!(rig.claim, None);
    assert_eq!(rig.farewells, std::slice::from_ref(&before));
    let open = rig.wait_for_stream();
    assert_eq!(open.resume_lease, 0);
    assert_ne!(open.incarnation, before);
}

// Whatever the stream waits for.
#[test]
fn a_fence_that_a_heartbeat_brings_while_a_reconnect_waits_ends_the_claim_at_once() {
    let mut rig = Rig::live();
    rig.wait_for_heartbeat();
    while rig.opened.is_some() {
        rig.break_stream(Status::unavailable("gone"));
    }
    let reconnect = rig.session.next_wake().expect("a reconnect is planned");
    let number = rig.heartbeat.take().expect("sent").number;
    let fenced = Fenced { reason: FenceReason::Expired.into(), message: "why".into() };
    let response = HeartbeatResponse {
        outcome: HeartbeatOutcome::Fenced.into(),
        cluster_id: "c".into(),
        fenced: Some(fenced),
        ..HeartbeatResponse::default()
    };
    rig.step(Event::HeartbeatAnswered { number, response });
    assert!(rig.now < reconnect);
    assert_eq!((rig.claim, rig.losses.len()), (None, 1));
}

// Two processes under one name must not take it from each other for ever.
#[test]
fn a_superseded_session_stops() {
    let mut rig = Rig::live();
    rig.now = rig.now + GHOST_BOUND;
    let before = rig.incarnation();
    rig.fenced(FenceReason::Superseded);
    assert_eq!(rig.ending, Some(Ending::Superseded("why".into())));
    assert_eq!(rig.farewells, [before]);
    assert_eq!(rig.session.next_wake(), None);
}

#[test]
fn a_takeover_by_an_own_abandoned_register_is_a_plain_loss() {
    let mut rig = Rig::new();
    rig.break_stream(Status::unknown("lost the answer"));
    rig.wait_for_stream();
    rig.snapshot();
    rig.fenced(FenceReason::Superseded);
    assert_eq!(rig.ending, None);
    assert_eq!(rig.losses.len(), 1);
}

#[test]
fn another_cluster_is_a_loss() {
    let mut rig = Rig::live();
    let attempt = rig.opened.as_ref().expect("open").attempt;
    let command = AssignmentCommand { cluster_id: "d".into(), revision: 3, command: None };
    rig.step(Event::Command { attempt, command });
    assert_eq!(rig.losses, [Loss::OtherCluster]);
    assert_eq!(rig.wait_for_stream().seen, Seen { cluster_id: "d".into(), revision: 3 });
}

// Invariant I9 of the handoff protocol: a reconnect never goes back in revision.
#[test]
fn an_instance_that_lags_behind_is_left() {
    let mut rig = Rig::live();
    rig.break_stream(Status::unavailable("gone"));
    let lagging = rig.wait_for_stream();
    rig.revision = 9;
    rig.roles.clear();
    rig.snapshot();
    assert_eq!(rig.roles, []);
    assert_ne!(rig.wait_for_stream().endpoint, lagging.endpoint);
}

// A stream that is silently dead.
#[test]
fn a_deaf_stream_is_opened_again() {
    let mut rig = Rig::live();
    let deaf = rig.opened.clone().expect("open");
    rig.wait_for_heartbeat();
    rig.answer(HeartbeatOutcome::Confirmed, 12);
    rig.wait(stream::DEAF_BOUND);
    let open = rig.wait_for_stream();
    assert_ne!(open.attempt, deaf.attempt);
    assert_eq!(rig.losses, []);
}

#[test]
fn a_stream_that_delivers_in_time_is_kept() {
    let mut rig = Rig::live();
    rig.wait_for_heartbeat();
    rig.answer(HeartbeatOutcome::Confirmed, 12);
    rig.revision = 12;
    rig.command(Command::Warm(v1::Warm::default()));
    rig.wait(stream::DEAF_BOUND);
    assert!(rig.opened.is_some());
}

#[test]
fn a_stream_that_does_not_begin_with_a_snapshot_is_left() {
    let mut rig = Rig::new();
    rig.command(Command::Warm(v1::Warm::default()));
    assert_eq!(rig.roles, []);
    assert_eq!(rig.opened, None);
}

#[test]
fn the_parts_of_a_snapshot_are_taken_as_one() {
    let mut rig = Rig::new();
    rig.part(&[0, 1], true);
    rig.part(&[2], true);
    assert_eq!((&rig.roles[..], rig.claim), (&[][..], None), "not before the last one");
    rig.part(&[3], false);
    let [RoleChange::All { roles, .. }] = &rig.roles[..] else { panic!("{:?}", rig.roles) };
    assert_eq!(roles.iter().map(|(at, _)| at.partition).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn the_parts_of_a_snapshot_that_broke_off_are_forgotten() {
    let mut rig = Rig::new();
    rig.part(&[0, 1], true);
    rig.opened = None;
    rig.wait_for_stream();
    rig.part(&[2], false);
    let [RoleChange::All { roles, .. }] = &rig.roles[..] else { panic!("{:?}", rig.roles) };
    assert_eq!(roles.len(), 1);
}

#[test]
fn go_away_moves_the_stream_and_keeps_the_session() {
    let mut rig = Rig::live();
    rig.command(Command::GoAway(GoAway { endpoints: vec!["z".into()], deadline_ms: 0 }));
    let open = rig.wait_for_stream();
    assert_eq!(open.resume_lease, 77);
    assert_ne!(open.endpoint, "a");
    assert_eq!(rig.losses, []);
}

// The store is away for five minutes, then for longer than the grace.
#[test]
fn an_answered_outage_keeps_the_claim_for_the_grace() {
    let mut rig = Rig::live();
    let five_minutes = Moment(Duration::from_secs(300));
    while rig.now < five_minutes {
        rig.wait_for_heartbeat();
        assert!(rig.claim > Some(rig.now), "lapsed at {:?}", rig.now);
        rig.answer(HeartbeatOutcome::StoreUnavailable, 0);
    }
    while rig.claim > Some(rig.now) {
        rig.wait_for_heartbeat();
        rig.answer(HeartbeatOutcome::StoreUnavailable, 0);
    }
    assert_eq!(rig.claim, Some(Moment(Duration::from_secs(600))));
    assert_eq!(rig.strict_claim, Some(Moment(TTL * 2 / 3)));
    assert_eq!(rig.losses, []);
}

#[test]
fn silence_lets_the_claim_lapse_and_a_confirmation_brings_it_back() {
    let mut rig = Rig::live();
    while rig.now < Moment(TTL) {
        let number = rig.wait_for_heartbeat();
        rig.heartbeat = None;
        rig.step(Event::HeartbeatFailed { number });
    }
    assert!(rig.claim < Some(rig.now));
    assert_eq!(rig.losses, []);
    rig.wait_for_heartbeat();
    rig.answer(HeartbeatOutcome::Confirmed, 0);
    assert!(rig.claim > Some(rig.now));
}

#[test]
fn a_failed_heartbeat_is_repeated_elsewhere_well_within_the_claim() {
    let mut rig = Rig::live();
    let number = rig.wait_for_heartbeat();
    let first = rig.heartbeat.take().expect("sent").endpoint;
    rig.step(Event::HeartbeatFailed { number });
    rig.wait_for_heartbeat();
    assert_ne!(rig.heartbeat.as_ref().expect("sent").endpoint, first);
    assert!(rig.now < Moment(TTL / 3 + Duration::from_secs(1)));
}

/// The wait for an answer, and the waits between attempts, follow the time to live.
#[test]
fn three_attempts_fit_in_before_the_claim_lapses() {
    for ttl in [2_500, 6_000, 10_000, 30_000, 120_000].map(Duration::from_millis) {
        let mut rig = Rig::new();
        rig.ttl = ttl;
        rig.snapshot();
        for _ in 0..3 {
            let number = rig.wait_for_heartbeat();
            rig.now = rig.now + rig.heartbeat.take().expect("sent").bound;
            rig.step(Event::HeartbeatFailed { number });
        }
        assert!(Some(rig.now) < rig.claim, "{:?} for {ttl:?}", rig.now);
    }
}

#[test]
fn a_refused_registration_stops() {
    let mut rig = Rig::new();
    rig.break_stream(Status::invalid_argument("bad name"));
    let refused = Ending::Refused { code: Code::InvalidArgument, message: "bad name".into() };
    assert_eq!(rig.ending, Some(refused));
}

#[test]
fn a_drain_ends_when_the_service_says_that_nothing_is_left() {
    let mut rig = Rig::live();
    rig.step(Event::Leave(DeregisterMode::Drain));
    rig.step(Event::LeaveAnswered { mode: DeregisterMode::Drain, result: Err(Status::unavailable("")) });
    rig.wait_for_wake();
    assert_eq!(rig.deregistered, [DeregisterMode::Drain; 2]);
    rig.step(Event::LeaveAnswered { mode: DeregisterMode::Drain, result: Ok(()) });
    assert_eq!(rig.ending, None);
    rig.fenced(FenceReason::Deregistered);
    assert_eq!(rig.ending, Some(Ending::Left));
}

#[test]
fn a_session_lost_during_the_drain_is_not_opened_again() {
    let mut rig = Rig::live();
    rig.step(Event::Leave(DeregisterMode::Drain));
    rig.fenced(FenceReason::Expired);
    assert_eq!(rig.losses.len(), 1);
    assert_eq!(rig.ending, Some(Ending::NoSession));
}

#[test]
fn a_late_answer_to_the_drain_does_not_end_leaving_now() {
    let mut rig = Rig::live();
    rig.step(Event::Leave(DeregisterMode::Drain));
    rig.step(Event::Leave(DeregisterMode::Now));
    rig.step(Event::LeaveAnswered { mode: DeregisterMode::Drain, result: Ok(()) });
    assert_eq!(rig.ending, None);
    rig.step(Event::LeaveAnswered { mode: DeregisterMode::Now, result: Ok(()) });
    assert_eq!(rig.ending, Some(Ending::Left));
}

/// The next act of the service or the network.
#[derive(Debug, Clone)]
enum Random {
    Snapshot,
    Fenced,
    Break,
    Confirm,
    Outage,
    Fail,
    Wait(u64),
    Revision(u64),
}

fn random() -> impl Strategy<Value = Random> {
    prop_oneof![
        4 => Just(Random::Snapshot),
        1 => Just(Random::Fenced),
        3 => Just(Random::Break),
        4 => Just(Random::Confirm),
        2 => Just(Random::Outage),
        2 => Just(Random::Fail),
        8 => (1..15_000_u64).prop_map(Random::Wait),
        2 => (0..5_u64).prop_map(Random::Revision),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_claim_outlives_its_bound_and_the_session_always_comes_back(
        history in prop::collection::vec(random(), 1..80)
    ) {
        let mut rig = Rig::new();
        let mut last_confirmed = None;
        let mut revision = 10;
        for step in history {
            match step {
                Random::Snapshot if rig.opened.is_some() => {
                    let open = rig.opened.clone().expect("open");
                    prop_assert!(open.seen.revision <= revision);
                    rig.revision = revision;
                    rig.snapshot();
                    if open.resume_lease == 0 && rig.session.incarnation().is_some() {
                        last_confirmed = Some(rig.now);
                    }
                }
                Random::Fenced if rig.opened.is_some() => rig.fenced(FenceReason::Expired),
                Random::Break if rig.opened.is_some() => rig.break_stream(Status::unavailable("")),
                Random::Confirm if rig.heartbeat.is_some() => {
                    last_confirmed = Some(rig.now);
                    rig.answer(HeartbeatOutcome::Confirmed, 0);
                }
                Random::Outage if rig.heartbeat.is_some() => rig.answer(HeartbeatOutcome::StoreUnavailable, 0),
                Random::Fail if rig.heartbeat.is_some() => {
                    let number = rig.heartbeat.take().expect("sent").number;
                    rig.step(Event::HeartbeatFailed { number });
                }
                Random::Wait(ms) => rig.wait(Duration::from_millis(ms)),
                Random::Revision(more) => revision += more,
                _ => {}
            }
            // Sent at the latest when it was answered, and never more than the grace beyond that.
            if let (Some(until), Some(strict)) = (rig.claim, rig.strict_claim) {
                let confirmed = last_confirmed.expect("a claim needs a confirmation");
                prop_assert!(strict <= confirmed + TTL * 2 / 3 && strict <= until);
                prop_assert!(until <= confirmed + Duration::from_secs(600));
                prop_assert!(rig.session.incarnation().is_some());
            }
        }
        rig.revision = revision;
        rig.wait_for_stream();
        rig.snapshot();
        prop_assert!(rig.session.incarnation().is_some());
    }
}
