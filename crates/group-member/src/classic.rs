//! A member of the classic protocol.
//!
//! ```text
//!            ┌──────────────── an answer that ends the generation, or a wait ◄──────────────┐
//!            ▼                                                                              │
//!           Out ──► Joining ──► Planning (the leader) ──► Syncing ──► Stable ─ request to ──┤
//!                      ▲   └───────────────────────────────▲            │       join again  │
//!                      └────────────────────────────────────────────────┘                   │
//!           Over ◄── closed, or refused for good                                            │
//! ```
//!
//! Two things lie beside the state, so that none of its changes forgets them: what is owned, with the callbacks that the
//! application is owed; and the requests to join again, which only a plan fulfils that was asked for after them.

mod alive;
mod closing;
mod flush;
mod hand_over;
mod join;
mod options;
mod rejoin;

use std::collections::BTreeSet;
use std::time::Duration;

use kafka_assigner_kafka::messages::{
    GroupHeartbeatRequest, GroupHeartbeatResponse, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
    SyncGroupRequest, SyncGroupResponse,
};
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::TopicName;

use crate::membership::RequestNumbers;
use crate::subscription::DatedPartitions;
use crate::{
    AnswerFailure, JoinedMember, KafkaError, MemberFailure, MemberNotice, Membership, RebalanceCallback,
    RequestNumber, RetryWait,
};
use closing::Closing;
use flush::LastCommit;
pub use options::ClassicOptions;
use rejoin::RejoinRequests;

/// A request of a member, in the newest version; older ones leave out what they can't say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClassicRequest {
    /// `JoinGroup`.
    Join(JoinGroupRequest),
    /// `SyncGroup`.
    Sync(SyncGroupRequest),
    /// `Heartbeat`.
    Beat(GroupHeartbeatRequest),
    /// `LeaveGroup`.
    Leave(LeaveGroupRequest),
}

/// Something that is to be done for the member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClassicCommand {
    /// A request to the coordinator; its answer, or that there is none, comes back with the number.
    Send {
        /// The number.
        number: RequestNumber,
        /// The request.
        request: ClassicRequest,
        /// The time within which the answer begins. The broker holds back those to a join and to a sync.
        patience: Duration,
    },
    /// The coordinator is another broker, or can't be reached. It is told with [`ClassicEvent::Coordinator`] when it is known.
    LoseCoordinator,
    /// The member leads: a plan is to be made of the metadata of *all* members' topics, and comes back with
    /// [`ClassicEvent::Planned`].
    Plan {
        /// The generation.
        generation: i32,
        /// The strategy.
        strategy: String,
        /// The members.
        members: Vec<JoinedMember>,
        /// False where the broker keeps the plan that is there: then the plan is only compared with it, and nothing comes
        /// back but [`ClassicEvent::MetadataChanged`] where they differ.
        is_sent: bool,
    },
    /// The member is about to join again with partitions that it keeps, and commits can't be made meanwhile: what is done
    /// is to be committed now; [`ClassicEvent::Flushed`] comes back.
    Flush,
    /// The application is to be called; [`ClassicEvent::CallbackDone`] comes back.
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
pub enum ClassicEvent {
    /// Time has passed.
    Tick,
    /// The coordinator is known.
    Coordinator,
    /// Brokers refuse for good to say who the coordinator is.
    CoordinatorRefused(KafkaError),
    /// The answer to a join.
    Joined(RequestNumber, Result<JoinGroupResponse, AnswerFailure>),
    /// The plan of a generation: the bytes for each member; `None`: none could be made.
    Planned {
        /// The generation.
        generation: i32,
        /// By member id.
        plan: Option<Vec<(String, Vec<u8>)>>,
    },
    /// The answer to a sync.
    Synced(RequestNumber, Result<SyncGroupResponse, AnswerFailure>),
    /// The answer to a heartbeat.
    Beaten(RequestNumber, Result<GroupHeartbeatResponse, AnswerFailure>),
    /// The answer to leaving, or that there is none.
    Left(RequestNumber, Result<(), AnswerFailure>),
    /// A commit that was sent for this membership was refused with this error.
    CommitRefused(Membership, KafkaError),
    /// The application subscribes to these topics from now on.
    Subscribed(BTreeSet<TopicName>),
    /// The leader's plan does not fit the cluster any more.
    MetadataChanged,
    /// The application asked for records.
    Polled,
    /// The commit of [`ClassicCommand::Flush`] is made.
    Flushed,
    /// The callback that was called is done.
    CallbackDone,
    /// The application closes the member, within this time.
    Close(Duration),
}

/// The state of a member, and what belongs to it alone.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ClassicState {
    /// In no generation that goes on; joins from this moment on.
    Out(Moment),
    /// `JoinGroup` is under way.
    Joining { request: RequestNumber, covers: u64 },
    /// This member leads, and its plan is being made.
    Planning { strategy: String, covers: u64 },
    /// `SyncGroup` is under way.
    Syncing { request: RequestNumber, strategy: String, covers: u64 },
    /// Has its part of the plan, or is about to hand it over to the application.
    Stable,
    /// Closed, or refused for good.
    Over,
}

impl ClassicState {
    /// True if a member may come here from `before`.
    const fn may_follow(&self, before: &Self) -> bool {
        use ClassicState::{Joining, Out, Over, Planning, Stable, Syncing};
        match self {
            Out(_) => !matches!(before, Over),
            Joining { .. } => matches!(before, Out(_) | Stable),
            Planning { .. } => matches!(before, Joining { .. }),
            Syncing { .. } => matches!(before, Joining { .. } | Planning { .. }),
            Stable => matches!(before, Syncing { .. }),
            Over => true,
        }
    }
}

/// The requests under way: one of each kind.
#[derive(Debug, Clone, Default)]
struct Flights {
    join: Option<RequestNumber>,
    sync: Option<RequestNumber>,
    /// With the membership that it speaks for.
    beat: Option<(RequestNumber, Membership)>,
    leave: Option<RequestNumber>,
}

/// The moments that deadlines count from.
#[derive(Debug, Clone, Copy, Default)]
struct ClassicTimes {
    /// The broker last said that the member is in the group.
    alive: Moment,
    /// The next heartbeat is due.
    next_beat: Moment,
    /// The application last asked for records.
    polled: Moment,
}

/// A member of the classic protocol.
#[derive(Debug, Clone)]
pub struct ClassicMember {
    options: ClassicOptions,
    topics: BTreeSet<TopicName>,
    state: ClassicState,
    /// The id that the broker gave; empty: none. Kept until the broker does not know it, or the member has left.
    id: String,
    membership: Option<Membership>,
    owned: DatedPartitions,
    last: DatedPartitions,
    reading: BTreeSet<TopicPartition>,
    /// The part of the plan that is to be handed over.
    target: Option<BTreeSet<TopicPartition>>,
    /// True where the application still has to be told that all it owns is lost.
    is_lost: bool,
    callback: Option<RebalanceCallback>,
    rejoin: RejoinRequests,
    /// The commit that the next join waits for.
    flush: Option<LastCommit>,
    /// True where this member planned the generation.
    leads: bool,
    has_coordinator: bool,
    is_stalled: bool,
    session_is_over: bool,
    flights: Flights,
    times: ClassicTimes,
    wait: RetryWait,
    closing: Option<Closing>,
    numbers: RequestNumbers,
    commands: Vec<ClassicCommand>,
}

impl ClassicMember {
    /// A member that is to join. The application has asked for records at `now`.
    #[must_use]
    pub fn new(options: ClassicOptions, topics: BTreeSet<TopicName>, now: Moment) -> Self {
        Self {
            options,
            topics,
            state: ClassicState::Out(now),
            id: String::new(),
            membership: None,
            owned: DatedPartitions::default(),
            last: DatedPartitions::default(),
            reading: BTreeSet::new(),
            target: None,
            is_lost: false,
            callback: None,
            rejoin: RejoinRequests::default(),
            flush: None,
            leads: false,
            has_coordinator: false,
            is_stalled: false,
            session_is_over: false,
            flights: Flights::default(),
            times: ClassicTimes { polled: now, ..ClassicTimes::default() },
            wait: RetryWait::default(),
            closing: None,
            numbers: RequestNumbers::default(),
            commands: Vec::new(),
        }
    }

    /// Takes an event at `now`, and says what is to be done, in this order.
    pub fn step(&mut self, now: Moment, event: ClassicEvent) -> Vec<ClassicCommand> {
        self.take(now, event);
        self.watch_deadlines(now);
        self.serve(now);
        std::mem::take(&mut self.commands)
    }

    fn take(&mut self, now: Moment, event: ClassicEvent) {
        match event {
            ClassicEvent::Tick => {}
            ClassicEvent::Coordinator => self.has_coordinator = true,
            ClassicEvent::CoordinatorRefused(error) => self.coordinator_refused(now, error),
            ClassicEvent::Joined(number, answer) => self.join_answered(now, number, answer),
            ClassicEvent::Planned { generation, plan } => self.planned(now, generation, plan),
            ClassicEvent::Synced(number, answer) => self.sync_answered(now, number, answer),
            ClassicEvent::Beaten(number, answer) => self.beat_answered(now, number, answer),
            ClassicEvent::Left(number, answer) => self.left(number, answer),
            ClassicEvent::CommitRefused(asked, error) => self.commit_refused(now, &asked, error),
            ClassicEvent::Subscribed(topics) => self.subscribe(topics),
            ClassicEvent::MetadataChanged => self.rejoin.ask(),
            ClassicEvent::Polled => (self.times.polled, self.is_stalled) = (now, false),
            ClassicEvent::Flushed => self.flushed(),
            ClassicEvent::CallbackDone => self.callback_done(),
            ClassicEvent::Close(within) => self.close(now + within),
        }
    }

    /// Does all that can be done now. It looks at the state alone, not at how it came about.
    fn serve(&mut self, now: Moment) {
        self.hand_over();
        if self.callback.is_none() && self.state != ClassicState::Over {
            if self.closing.is_some() {
                self.go_on_closing();
            } else {
                self.join_if_wanted(now);
            }
        }
        self.beat_if_due(now);
    }

    fn subscribe(&mut self, topics: BTreeSet<TopicName>) {
        if self.topics != topics {
            self.topics = topics;
            self.rejoin.ask();
        }
    }

    /// The membership with which offsets may be committed; `None` between a join and the plan that follows, when brokers
    /// refuse it, and outside of a group.
    #[must_use]
    pub const fn commits_as(&self) -> Option<&Membership> {
        match self.state {
            ClassicState::Out(_) | ClassicState::Stable => self.membership.as_ref(),
            _ => None,
        }
    }

    /// The partitions that the member owns: commits of others must not be sent.
    #[must_use]
    pub fn owned(&self) -> Option<&BTreeSet<TopicPartition>> {
        (!self.is_lost).then_some(&self.owned.partitions)
    }

    /// True where all that was owned is lost, and the application has not been called for it yet.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// True where the member asks for nothing any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state == ClassicState::Over && self.callback.is_none() && !self.is_lost
    }

    /// The time at which [`ClassicEvent::Tick`] is to come, unless something else does first.
    #[must_use]
    pub fn next_step(&self) -> Option<Moment> {
        if self.state == ClassicState::Over {
            return None;
        }
        let join = match self.state {
            ClassicState::Out(not_before) if self.may_join() && self.callback.is_none() => Some(not_before),
            _ => None,
        };
        let beat = self.may_beat().then_some(self.times.next_beat);
        let closing = self.closing.map(|closing| closing.deadline);
        let stalled = self.stalls_at();
        let flush = self.flush.and_then(LastCommit::next_step);
        [join, beat, closing, stalled, flush, self.session_ends_at()].into_iter().flatten().min()
    }

    fn go_to(&mut self, next: ClassicState) {
        debug_assert!(next.may_follow(&self.state), "{next:?} does not follow {:?}", self.state);
        self.state = next;
    }

    fn send(&mut self, request: ClassicRequest, patience: Duration) -> RequestNumber {
        let number = self.numbers.deal();
        self.commands.push(ClassicCommand::Send { number, request, patience });
        number
    }

    fn tell(&mut self, notice: MemberNotice) {
        self.commands.push(ClassicCommand::Tell(notice));
    }

    fn lose_coordinator(&mut self) {
        if std::mem::take(&mut self.has_coordinator) {
            self.commands.push(ClassicCommand::LoseCoordinator);
        }
    }

    /// The generation is over: what it gave is lost. The id stays.
    fn forget_generation(&mut self, now: Moment) {
        (self.membership, self.target, self.flush) = (None, None, None);
        if !self.owned.partitions.is_empty() {
            self.is_lost = true;
            self.stop_reading(&self.reading.clone());
        }
        if self.state != ClassicState::Over {
            self.go_to(ClassicState::Out(now));
        }
    }

    /// The broker does not know the member any more.
    fn forget_member(&mut self, now: Moment) {
        self.id.clear();
        self.forget_generation(now);
    }

    /// Tries again after a wait.
    fn retry(&mut self, now: Moment) {
        let wait = self.wait.failed();
        self.go_to(ClassicState::Out(now + wait));
    }

    /// Without a coordinator the member can't go on, nor leave. One that is over has asked for none.
    fn coordinator_refused(&mut self, now: Moment, error: KafkaError) {
        if self.state != ClassicState::Over {
            self.fail(now, MemberFailure::Coordinator(error));
        }
    }

    fn fail(&mut self, now: Moment, failure: MemberFailure) {
        self.forget_generation(now);
        self.go_to(ClassicState::Over);
        self.tell(MemberNotice::Failed(failure));
    }
}

#[cfg(test)]
#[path = "classic/classic_test.rs"]
mod classic_test;
#[cfg(test)]
#[path = "classic/leaving_test.rs"]
mod leaving_test;
#[cfg(test)]
#[path = "classic/property_test.rs"]
mod property_test;
#[cfg(test)]
#[path = "classic/rig_test.rs"]
mod rig_test;
