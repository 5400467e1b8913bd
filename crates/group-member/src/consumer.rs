//! A member of a consumer group (KIP-848): the broker plans, and one request does everything.
//!
//! ```text
//!  Joining (epoch 0) ──► Member(epoch) ──► Over
//!     ▲                     │
//!     └── fenced, unknown ──┘          Away: left because the application was silent; joins when it asks
//! ```
//!
//! Beside the state lie what is owned, the broker's target, and whether the broker knows of all that it should: what is
//! given up is reported only after the application has finished with it, and at once then.

mod beat;
mod hand_over;
mod lookup;
mod options;
mod owned;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kafka_assigner_kafka::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use kafka_assigner_kafka::wire::Uuid;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::TopicName;

use crate::membership::RequestNumbers;
use crate::{
    AnswerFailure, KafkaError, MemberFailure, MemberNotice, Membership, RebalanceCallback, RequestNumber,
    RetryWait,
};
use beat::{BeatFlight, Reported};
use lookup::NameLookup;
pub use options::ConsumerGroupOptions;
use owned::PartitionsById;

/// Something that is to be done for the member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsumerCommand {
    /// A heartbeat to the coordinator; its answer, or that there is none, comes back with the number.
    Send {
        /// The number.
        number: RequestNumber,
        /// The request.
        request: ConsumerGroupHeartbeatRequest,
        /// The time within which the answer begins.
        patience: Duration,
    },
    /// The coordinator is another broker, or can't be reached. It is told with [`ConsumerEvent::Coordinator`] when it is known.
    LoseCoordinator,
    /// The names of these topics are needed; they come back with [`ConsumerEvent::Named`].
    LookUp(BTreeSet<Uuid>),
    /// The application is to be called; [`ConsumerEvent::CallbackDone`] comes back.
    Call(RebalanceCallback),
    /// Nothing of these partitions is to be handed out any more.
    StopReading(BTreeSet<TopicPartition>),
    /// These partitions are to be read.
    StartReading(BTreeSet<TopicPartition>),
    /// Something to tell.
    Tell(MemberNotice),
}

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsumerEvent {
    /// Time has passed.
    Tick,
    /// The coordinator is known.
    Coordinator,
    /// Brokers refuse for good to say who the coordinator is.
    CoordinatorRefused(KafkaError),
    /// The answer to a heartbeat.
    Answered(RequestNumber, Result<ConsumerGroupHeartbeatResponse, AnswerFailure>),
    /// A commit that was sent for this membership was refused with this error.
    CommitRefused(Membership, KafkaError),
    /// The names of topics. Those that are not there (yet) are missing.
    Named(BTreeMap<Uuid, TopicName>),
    /// The application subscribes to these topics from now on.
    Subscribed(BTreeSet<TopicName>),
    /// The application asked for records.
    Polled,
    /// The callback that was called is done.
    CallbackDone,
    /// The application closes the member, within this time.
    Close(Duration),
}

/// The state of a member, and what belongs to it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConsumerState {
    /// In no epoch; the next heartbeat joins.
    Joining,
    /// In this epoch.
    Member(i32),
    /// Leaves or has left, and does not come back by itself.
    Away,
    /// Closed, or refused for good.
    Over,
}

/// The moments that deadlines count from.
#[derive(Debug, Clone, Copy, Default)]
struct ConsumerTimes {
    next_beat: Moment,
    not_before: Moment,
    polled: Moment,
}

/// A member of a consumer group.
#[derive(Debug, Clone)]
pub struct ConsumerMember {
    options: ConsumerGroupOptions,
    topics: BTreeSet<TopicName>,
    state: ConsumerState,
    /// Counts the times that everything was lost: answers from before one say nothing of what is after it.
    round: u64,
    owned: PartitionsById,
    /// The partitions that the broker wants the member to own, while they differ from those that it does.
    target: Option<PartitionsById>,
    names: BTreeMap<Uuid, TopicName>,
    lookup: NameLookup,
    reading: BTreeSet<TopicPartition>,
    /// True where the application still has to be told that all it owns is lost.
    is_lost: bool,
    callback: Option<RebalanceCallback>,
    /// The broker's knowledge of the member; `None`: it has to be told everything.
    reported: Option<Reported>,
    flight: Option<BeatFlight>,
    /// True where the broker still has to be told that the member has left.
    owes_leave: bool,
    has_coordinator: bool,
    interval: Duration,
    times: ConsumerTimes,
    wait: RetryWait,
    /// Closing, with the moment at which it is over in any case.
    closing: Option<Moment>,
    numbers: RequestNumbers,
    commands: Vec<ConsumerCommand>,
}

impl ConsumerMember {
    /// The interval until the broker names another; its default.
    const FIRST_INTERVAL: Duration = Duration::from_secs(5);

    /// A member that is to join. The application has asked for records at `now`.
    #[must_use]
    pub fn new(options: ConsumerGroupOptions, topics: BTreeSet<TopicName>, now: Moment) -> Self {
        Self {
            options,
            topics,
            state: ConsumerState::Joining,
            round: 0,
            owned: PartitionsById::default(),
            target: None,
            names: BTreeMap::new(),
            lookup: NameLookup::default(),
            reading: BTreeSet::new(),
            is_lost: false,
            callback: None,
            reported: None,
            flight: None,
            owes_leave: false,
            has_coordinator: false,
            interval: Self::FIRST_INTERVAL,
            times: ConsumerTimes { polled: now, next_beat: now, not_before: now },
            wait: RetryWait::default(),
            closing: None,
            numbers: RequestNumbers::default(),
            commands: Vec::new(),
        }
    }

    /// Takes an event at `now`, and says what is to be done, in this order.
    pub fn step(&mut self, now: Moment, event: ConsumerEvent) -> Vec<ConsumerCommand> {
        self.take(now, event);
        self.watch_deadlines(now);
        self.hand_over(now);
        self.beat_if_due(now);
        std::mem::take(&mut self.commands)
    }

    fn take(&mut self, now: Moment, event: ConsumerEvent) {
        match event {
            ConsumerEvent::Tick => {}
            ConsumerEvent::Coordinator => self.has_coordinator = true,
            ConsumerEvent::CoordinatorRefused(error) => self.coordinator_refused(error),
            ConsumerEvent::Answered(number, answer) => self.answered(now, number, answer),
            ConsumerEvent::CommitRefused(asked, error) => self.commit_refused(now, &asked, error),
            ConsumerEvent::Named(names) => {
                self.names.extend(names);
                self.lookup.answered(now);
            }
            ConsumerEvent::Subscribed(topics) => self.topics = topics,
            ConsumerEvent::Polled => self.polled(now),
            ConsumerEvent::CallbackDone => self.callback_done(),
            ConsumerEvent::Close(within) => self.close(now + within),
        }
    }

    fn polled(&mut self, now: Moment) {
        self.times.polled = now;
        if self.state == ConsumerState::Away && self.closing.is_none() {
            self.state = ConsumerState::Joining;
        }
    }

    fn close(&mut self, deadline: Moment) {
        if self.state != ConsumerState::Over {
            self.closing = Some(self.closing.map_or(deadline, |earlier| earlier.min(deadline)));
            self.target = None;
        }
    }

    /// Deadlines are events like others: what they change is in the state before anything is decided.
    fn watch_deadlines(&mut self, now: Moment) {
        if self.state != ConsumerState::Over && self.closing.is_some_and(|deadline| deadline <= now) {
            self.end();
        }
        if self.stalls_at().is_some_and(|end| end <= now) {
            self.tell(MemberNotice::Stalled);
            self.owes_leave = matches!(self.state, ConsumerState::Member(_)) || self.flight.is_some();
            self.lose(ConsumerState::Away);
        }
    }

    fn stalls_at(&self) -> Option<Moment> {
        let counts =
            matches!(self.state, ConsumerState::Joining | ConsumerState::Member(_)) && self.closing.is_none();
        counts.then(|| self.times.polled + self.options.rebalance_timeout)
    }

    /// All that was owned is lost; the member goes on in `state`, and the broker has to be told everything again.
    fn lose(&mut self, state: ConsumerState) {
        (self.state, self.target, self.reported) = (state, None, None);
        self.round += 1;
        if !self.owned.is_empty() {
            self.is_lost = true;
            self.stop_reading(&self.reading.clone());
        }
    }

    /// Without a coordinator the member can't go on, nor leave. One that is over has asked for none.
    fn coordinator_refused(&mut self, error: KafkaError) {
        if self.state != ConsumerState::Over {
            self.fail(MemberFailure::Coordinator(error));
        }
    }

    fn fail(&mut self, failure: MemberFailure) {
        self.lose(ConsumerState::Over);
        self.owes_leave = false;
        self.tell(MemberNotice::Failed(failure));
    }

    fn end(&mut self) {
        self.lose(ConsumerState::Over);
        self.owes_leave = false;
        self.tell(MemberNotice::Closed);
    }

    fn tell(&mut self, notice: MemberNotice) {
        self.commands.push(ConsumerCommand::Tell(notice));
    }

    fn lose_coordinator(&mut self) {
        if std::mem::take(&mut self.has_coordinator) {
            self.commands.push(ConsumerCommand::LoseCoordinator);
        }
    }

    /// The membership with which offsets may be committed.
    #[must_use]
    pub fn commits_as(&self) -> Option<Membership> {
        let ConsumerState::Member(generation) = self.state else { return None };
        let (member_id, instance) = (self.options.member_id.clone(), self.options.instance.clone());
        Some(Membership { member_id, generation, instance })
    }

    /// True where all that was owned is lost, and the application has not been called for it yet.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// True where the member asks for nothing any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state == ConsumerState::Over && self.callback.is_none() && !self.is_lost
    }

    /// The time at which [`ConsumerEvent::Tick`] is to come, unless something else does first.
    #[must_use]
    pub fn next_step(&self) -> Option<Moment> {
        if self.state == ConsumerState::Over {
            return None;
        }
        let beat = self.may_beat().then(|| self.beat_at());
        let lookup = self.target.as_ref().and_then(|_| self.lookup.next_step());
        [beat, lookup, self.closing, self.stalls_at()].into_iter().flatten().min()
    }
}

#[cfg(test)]
#[path = "consumer/consumer_test.rs"]
mod consumer_test;
