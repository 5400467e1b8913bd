//! The common part of the tests of the session.

mod attachment;
mod claim;
mod ending;
mod grant_dialect;
mod hearing;
mod insistence;
mod stream;

use std::time::Duration;

use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{
    AssignmentCommand, DeregisterMode, FenceReason, Fenced, FencedPartition, HeartbeatOutcome,
    HeartbeatResponse, SessionInfo, Snapshot,
};
use tonic::{Code, Status};

use super::*;
use grant_dialect::{GrantChange, GrantDialect};
use kafka_assigner_types::id::Incarnation;
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::moment::Moment;

const TTL: Duration = Duration::from_secs(30);

/// A session under test with the time and what it asked for last.
struct Rig {
    ttl: Duration,
    session: Session<GrantDialect>,
    now: Moment,
    revision: u64,
    opened: Option<OpenStream>,
    heartbeat: Option<SendHeartbeat>,
    /// The fences that it passed on, each with the claim that was there then.
    fences: Vec<(Vec<FencedPartition>, Option<Moment>)>,
    claim: Option<Moment>,
    strict_claim: Option<Moment>,
    roles: Vec<GrantChange>,
    farewells: Vec<Incarnation>,
    losses: Vec<Loss>,
    deregistered: Vec<DeregisterMode>,
    nobody_takes: bool,
    ending: Option<Ending>,
    may_overtake: bool,
}

impl Rig {
    fn new() -> Self {
        let endpoints = vec!["a".to_owned(), "b".to_owned()];
        Self::of(Session::new(SessionOptions { endpoints, outage_grace: Duration::from_secs(600), seed: 4 }))
    }

    /// With a session that has asked for its first stream.
    fn of(session: Session<GrantDialect>) -> Self {
        let mut rig = Self {
            ttl: TTL,
            session,
            now: Moment::default(),
            revision: 10,
            opened: None,
            may_overtake: false,
            heartbeat: None,
            fences: Vec::new(),
            claim: None,
            strict_claim: None,
            roles: Vec::new(),
            farewells: Vec::new(),
            losses: Vec::new(),
            deregistered: Vec::new(),
            nobody_takes: false,
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
                SessionAction::CloseStream => {
                    self.opened = None;
                    // The heartbeat under way may hang at the same instance.
                    self.may_overtake = true;
                }
                SessionAction::SendHeartbeat(heartbeat) => {
                    let waiting = self.heartbeat.as_ref().map(|before| &before.incarnation);
                    let is_overtaken = std::mem::take(&mut self.may_overtake);
                    assert!(
                        is_overtaken || waiting != Some(&heartbeat.incarnation),
                        "two heartbeats at once"
                    );
                    self.heartbeat = Some(heartbeat);
                }
                SessionAction::SendDeregister { mode, .. } => self.deregistered.push(mode),
                SessionAction::NobodyTakes => self.nobody_takes = true,
                SessionAction::Fenced(fenced) => self.fences.push((fenced, self.claim)),
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
        self.told(Some(command));
    }

    /// The stream tells a bare revision, or a command.
    fn told(&mut self, command: Option<Command>) {
        let attempt = self.opened.as_ref().expect("a stream is open").attempt;
        let command = AssignmentCommand { cluster_id: "c".into(), revision: self.revision, command };
        self.step(Event::Command { attempt, command });
    }

    fn snapshot(&mut self) {
        self.part(&[], false);
    }

    /// A snapshot, or a part of one, that assigns partitions of the topic `t`.
    fn part(&mut self, assigned: &[i32], more: bool) {
        let open = self.opened.as_ref().expect("a stream is open");
        let lease = if open.resume_lease == LeaseId::NONE { 77 } else { open.resume_lease.0 };
        let ttl_ms = u64::try_from(self.ttl.as_millis()).expect("small");
        let session = SessionInfo {
            incarnation: open.incarnation.to_string(),
            lease,
            ttl_ms,
            ..SessionInfo::default()
        };
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
        self.answer_with(outcome, (self.revision, concerned_revision), None);
    }

    /// An answer at a revision of the view, with the last one that concerned the member.
    fn answer_with(
        &mut self,
        outcome: HeartbeatOutcome,
        (revision, concerned): (u64, u64),
        digest: Option<u64>,
    ) {
        let number = self.heartbeat.take().expect("a heartbeat was sent").number;
        let response = HeartbeatResponse {
            outcome: outcome.into(),
            cluster_id: "c".into(),
            revision,
            concerned_revision: concerned,
            digest,
            ..HeartbeatResponse::default()
        };
        self.step(Event::HeartbeatAnswered { number, response });
    }

    fn break_stream(&mut self, status: Status) {
        let attempt = self.opened.as_ref().expect("a stream is open").attempt;
        self.step(Event::StreamFailed { attempt, status });
    }

    fn incarnation(&self) -> Incarnation {
        self.session.incarnation().expect("a session").clone()
    }
}
