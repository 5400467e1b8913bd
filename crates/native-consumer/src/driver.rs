//! The task that runs the machines of a member, and carries out what they say.
//!
//! Everything that has happened comes in as an answer of a task, a wake-up of the application, or the time. After each of
//! them [`Driver::serve`] looks at all that there is, and starts what is due: it never waits itself.

mod answer;
mod callbacks;
mod commits;
mod coordinator;
mod fetches;
mod member;
mod metadata;
mod plan;
mod positions;
mod told;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_group_member::{
    AssignmentReader, ClassicMember, ClassicOptions, CommitLedger, ConsumerGroupOptions, ConsumerMember,
    CoordinatorFinder, OfferedStrategy, ReadPosition,
};
use kafka_assigner_kafka::BrokerPool;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::Moment;
use kafka_assigner_types::name::TopicName;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::cell::{PartitionCell, names};
use crate::group_member::{MemberEvent, ProtocolMember};
use crate::listener::ListenerCalls;
use crate::shared::ConsumerCore;
use crate::topology::Topology;
use crate::{GroupProtocol, NativeFailure, NativeOptions, NativeStatus, PartitionEnd, TopicChoice};
use answer::Answer;
use callbacks::OpenCallback;
use commits::CommitTimes;
use fetches::{BrokerFetches, RestingPartition};
use metadata::MetadataSchedule;
use plan::LeaderPlan;

/// The longest time between two looks, so that nothing rests on a wake-up alone.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// The state of a consumer.
#[derive(Debug)]
pub(crate) struct Driver {
    options: NativeOptions,
    pool: Arc<BrokerPool>,
    core: Arc<ConsumerCore>,
    since: Instant,
    member: ProtocolMember,
    /// The last generation in which the member could commit; −1: none yet.
    generation: i32,
    /// Events that the member has still to take.
    events: VecDeque<MemberEvent>,
    finder: CoordinatorFinder,
    reader: AssignmentReader,
    ledger: CommitLedger,
    topology: Topology,
    metadata: MetadataSchedule,
    /// The topics that are subscribed to.
    topics: BTreeSet<TopicName>,
    plan: Option<LeaderPlan>,
    /// The partitions that are read, or wait for their position.
    cells: BTreeMap<TopicPartition, Arc<PartitionCell>>,
    /// The positions that are read from.
    reading: BTreeMap<TopicPartition, ReadPosition>,
    brokers: BTreeMap<i32, BrokerFetches>,
    /// The partitions that their brokers did not give last time.
    resting: BTreeMap<TopicPartition, RestingPartition>,
    callback: Option<OpenCallback>,
    /// The number of callbacks so far.
    callbacks: u64,
    commits: CommitTimes,
    /// Since when, and within which time it closes.
    closes: Option<(Moment, Duration)>,
    /// The number of brokers that failed, which turns the order in which they are asked.
    turn: usize,
    listener: ListenerCalls,
    status: watch::Sender<NativeStatus>,
    tasks: JoinSet<Answer>,
    failure: Option<NativeFailure>,
    /// True where nothing can go on, not even the callbacks that are owed.
    is_broken: bool,
}

impl Driver {
    pub(crate) fn new(
        options: NativeOptions,
        offered: Vec<OfferedStrategy>,
        pool: BrokerPool,
        core: Arc<ConsumerCore>,
        listener: ListenerCalls,
        status: watch::Sender<NativeStatus>,
    ) -> Self {
        let topics = match &options.topics {
            TopicChoice::Named(topics) => topics.clone(),
            TopicChoice::Matching(_) => BTreeSet::new(),
        };
        Self {
            pool: Arc::new(pool),
            core,
            since: Instant::now(),
            member: member(&options, offered, topics.clone()),
            generation: -1,
            events: VecDeque::new(),
            finder: CoordinatorFinder::default(),
            reader: AssignmentReader::new(options.start_at),
            ledger: CommitLedger::default(),
            topology: Topology::default(),
            metadata: MetadataSchedule::new(),
            topics,
            plan: None,
            cells: BTreeMap::new(),
            reading: BTreeMap::new(),
            brokers: BTreeMap::new(),
            resting: BTreeMap::new(),
            callback: None,
            callbacks: 0,
            commits: CommitTimes::default(),
            closes: None,
            turn: 0,
            listener,
            status,
            tasks: JoinSet::new(),
            failure: None,
            is_broken: false,
            options,
        }
    }

    /// Runs until the consumer is closed, or can't go on. Where it is dropped before, its requests end with it.
    pub(crate) async fn run(mut self) {
        while !self.is_over() {
            let now = self.now();
            self.serve(now);
            if self.is_over() {
                break;
            }
            let rest = sleep_until(self.since + self.next_look(now).0);
            tokio::select! {
                // Answers first: heartbeats follow from them.
                biased;
                Some(answer) = self.tasks.join_next() => self.take_any(answer),
                () = self.core.work.notified() => {}
                () = rest => {}
            }
        }
        self.conclude();
    }

    fn now(&self) -> Moment {
        Moment(self.since.elapsed())
    }

    fn is_over(&self) -> bool {
        self.is_broken || (self.member.is_over() && self.callback.is_none())
    }

    /// Does all that can be done now.
    fn serve(&mut self, now: Moment) {
        self.hear_application(now);
        self.events.push_back(MemberEvent::Tick);
        while !self.events.is_empty() {
            self.step_member(now);
            self.find_coordinator(now);
            self.look_for_metadata(now);
            self.serve_plan();
            self.lose_what_is_lost();
            self.serve_commits(now);
            self.serve_callback(now);
        }
        self.serve_positions(now);
        self.serve_fetches(now);
        // Leaders that fetches miss are asked for at once.
        self.look_for_metadata(now);
        self.publish();
    }

    /// Takes in what the application has done since the last look.
    fn hear_application(&mut self, now: Moment) {
        if self.core.take_asked() {
            self.events.push_back(MemberEvent::Polled);
        }
        if let Some(within) = self.core.take_close() {
            let earlier = self.closes.filter(|(since, before)| *since + *before <= now + within);
            self.closes = Some(earlier.unwrap_or((now, within)));
            self.events.push_back(MemberEvent::Close(within));
        }
    }

    /// The time of the next look. What was due at `now` was served, so whatever remains of it waits for something else.
    fn next_look(&self, now: Moment) -> Moment {
        let times = [
            self.member.next_step(),
            self.finder.next_step(),
            self.metadata.next_step(),
            self.reader.next_step(),
            self.ledger.next_step(),
            self.commits.next_step(),
            self.callback.as_ref().map(OpenCallback::next_step),
        ];
        let fetches = self.brokers.values().map(|broker| broker.not_before);
        let resting = self.resting.values().map(|partition| partition.not_before);
        let later = times.into_iter().flatten().chain(fetches).chain(resting).filter(|time| *time > now);
        later.min().unwrap_or(now + LONGEST_REST).min(now + LONGEST_REST)
    }

    fn publish(&self) {
        let membership = self.member.commits_as();
        let owned = names(self.cells.values());
        self.status.send_if_modified(|status| {
            let is_new = status.membership != membership || status.owned != owned;
            if is_new {
                (status.membership, status.owned) = (membership, owned);
            }
            is_new
        });
    }

    fn conclude(mut self) {
        self.end_all();
        self.publish();
        self.core.conclude(self.failure.take().map_or(Ok(()), Err));
    }

    /// Everything ends: what is still in hands is lost.
    fn end_all(&mut self) {
        for cell in std::mem::take(&mut self.cells).into_values() {
            cell.end(PartitionEnd::Lost);
        }
        self.core.drop_ended_arrivals();
    }
}

/// Also where it panics, nobody waits for a partition that ends no more.
impl Drop for Driver {
    fn drop(&mut self) {
        self.end_all();
    }
}

fn member(
    options: &NativeOptions,
    offered: Vec<OfferedStrategy>,
    topics: BTreeSet<TopicName>,
) -> ProtocolMember {
    match options.protocol {
        GroupProtocol::Classic => {
            let classic = ClassicOptions {
                instance: options.instance_id.clone(),
                rack: options.rack.clone(),
                session_timeout: options.session_timeout,
                heartbeat_interval: options.heartbeat_interval,
                rebalance_timeout: options.poll_interval,
                ..ClassicOptions::new(options.group.clone(), offered)
            };
            ProtocolMember::Classic(Box::new(ClassicMember::new(classic, topics, Moment::default())))
        }
        GroupProtocol::Consumer => {
            let consumer = ConsumerGroupOptions {
                instance: options.instance_id.clone(),
                rack: options.rack.clone(),
                server_assignor: options.remote_assignor.clone(),
                rebalance_timeout: options.poll_interval,
                ..ConsumerGroupOptions::new(options.group.clone(), member_id())
            };
            ProtocolMember::Consumer(Box::new(ConsumerMember::new(consumer, topics, Moment::default())))
        }
    }
}

/// An id that no other member has: 128 bits by chance.
fn member_id() -> String {
    format!("{:032x}", rand::random::<u128>())
}
