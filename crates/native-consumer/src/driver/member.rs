//! The commands of the member.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_group_member::{AnswerFailure, ClassicEvent, ClassicRequest, MemberNotice, RequestNumber};
use kafka_assigner_kafka::{BrokerAddress, BrokerLane, BrokerPool, Error};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;

use super::Driver;
use super::answer::Answer;
use crate::NativeFailure;
use crate::cell::PartitionCell;
use crate::group_member::{MemberCommand, MemberEvent, MemberRequest};

impl Driver {
    /// The member takes all events that there are, and its commands are carried out.
    pub(super) fn step_member(&mut self, now: Moment) {
        while let Some(event) = self.events.pop_front() {
            let commands = self.member.step(now, event);
            // A step may start partitions and begin the next join at once: they are of the generation before it.
            self.generation = self.member.commits_as().map_or(self.generation, |now| now.generation);
            for command in commands {
                self.carry_out(now, command);
            }
        }
    }

    fn carry_out(&mut self, now: Moment, command: MemberCommand) {
        match command {
            MemberCommand::Send { number, request, patience } => self.send(number, request, patience),
            MemberCommand::LoseCoordinator => self.finder.lost(now),
            MemberCommand::Plan { generation, strategy, members, is_sent } => {
                self.begin_plan(generation, &strategy, members, is_sent);
            }
            MemberCommand::LookUp => drop(self.metadata.request()),
            MemberCommand::Flush => self.commits.flush(),
            MemberCommand::Call(callback) => self.call(callback, now),
            MemberCommand::StopReading(partitions) => self.reader.stop(&partitions),
            MemberCommand::StartReading(partitions) => self.start_reading(partitions),
            MemberCommand::Tell(notice) => self.tell(&notice),
        }
    }

    /// The partitions go to the application at once; their positions are looked up meanwhile.
    fn start_reading(&mut self, partitions: BTreeSet<TopicPartition>) {
        for partition in &partitions {
            let cell = Arc::new(PartitionCell::new(partition.clone(), self.generation));
            self.cells.insert(partition.clone(), Arc::clone(&cell));
            self.core.arrive(cell);
        }
        self.reader.start(partitions);
    }

    fn tell(&mut self, notice: &MemberNotice) {
        tracing::info!(group = self.options.group, ?notice, "the member of the group");
        if let MemberNotice::Failed(failure) = notice {
            self.failure = Some(NativeFailure::Member(failure.clone()));
        }
        if let MemberNotice::Joined { leads: false, .. } = notice {
            self.plan = None;
        }
        self.status.send_modify(|status| status.notice(notice));
        self.listener.notice(notice);
    }

    /// Sends a request to the coordinator. Where that is not known, there is no answer, at once.
    fn send(&mut self, number: RequestNumber, request: MemberRequest, patience: Duration) {
        match self.coordinator() {
            Some(broker) => {
                let pool = Arc::clone(&self.pool);
                self.tasks.spawn(async move {
                    Answer::Member(ask_member(&pool, &broker, number, request, patience).await)
                });
            }
            None => self.events.push_back(request.failed(number)),
        }
    }
}

async fn ask_member(
    pool: &BrokerPool,
    broker: &BrokerAddress,
    number: RequestNumber,
    request: MemberRequest,
    patience: Duration,
) -> MemberEvent {
    let failed = |error: Error| {
        tracing::warn!(%error, "the coordinator did not answer; it is looked for and asked again");
        AnswerFailure
    };
    // Leaving must not wait behind a join that the broker holds back.
    macro_rules! ask {
        ($request:expr, $lane:ident) => {
            pool.ask(broker, BrokerLane::$lane, |_| $request, patience)
                .await
                .map(|(answer, _)| answer)
                .map_err(failed)
        };
    }
    MemberEvent::Classic(match request {
        MemberRequest::Classic(ClassicRequest::Join(join)) => ClassicEvent::Joined(number, ask!(join, Group)),
        MemberRequest::Classic(ClassicRequest::Sync(sync)) => ClassicEvent::Synced(number, ask!(sync, Group)),
        MemberRequest::Classic(ClassicRequest::Beat(beat)) => ClassicEvent::Beaten(number, ask!(beat, Group)),
        MemberRequest::Classic(ClassicRequest::Leave(leave)) => {
            ClassicEvent::Left(number, ask!(leave, Requests).map(drop))
        }
        MemberRequest::Consumer(beat) => return MemberEvent::Beaten(number, ask!(beat, Group)),
    })
}
