//! The smallest clients of a world: a stream and three acks. The instance that holds the stream renews their sessions.
//!
//! Half of them read snapshots and come back to their session; the others learn no lease, and open another session each time:
//! until that has been granted what the one before had, nobody works on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_proto::v1::{
    AssignedPartition, Assignment, AssignmentCommand, Caller, Capability, PartitionAck, RegisterRequest,
    Release, Renewal, SessionInfo, Snapshot, Warm,
};
use kafka_assigner_session::{Acks, CommandStream, Transport as _};
use kafka_assigner_types::id::{Epoch, TopicPartition};
use kafka_assigner_types::moment::millis;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

use super::{GROUP, World};
use crate::floor::Floor;
use crate::history::{History, Why};
use crate::ice::Ice;
use crate::network::Wire;
use crate::wire::at;

/// The time for which such a client waits before it opens a stream again, or says a word again.
const AGAIN: Duration = Duration::from_millis(500);

/// The longest time that it takes to prepare for a partition.
const LONGEST_WARM_UP_MS: u64 = 600;

/// The process of a smallest client.
#[derive(Debug)]
pub(crate) struct MinimalProcess {
    pub(crate) consumer: Arc<str>,
    task: JoinHandle<()>,
}

impl World {
    /// Starts a process for the smallest client `consumer`.
    pub(crate) fn spawn_minimal(&mut self, consumer: &Arc<str>) {
        self.next_process += 1;
        let (number, consumer) = (self.next_process, Arc::clone(consumer));
        let client = MinimalClient {
            wire: self.wire(number, &consumer, &Ice::default()),
            consumer: Arc::clone(&consumer),
            process: number,
            endpoints: self.endpoints(),
            topics: self.shape.topics.iter().map(|(topic, _)| (*topic).to_owned()).collect(),
            ttl_ms: millis(self.shape.ttl()),
            floor: self.floor.clone(),
            dice: StdRng::seed_from_u64(self.dice.random()),
            history: self.history.clone(),
            remembers: self.dice.random_bool(0.5),
            session: None,
            cluster_id: String::new(),
            held: BTreeMap::new(),
        };
        let task = tokio::spawn(client.run());
        self.minimal.insert(number, MinimalProcess { consumer, task });
    }

    /// Ends the process of some smallest client without a word; returns whose.
    pub(crate) fn kill_minimal(&mut self) -> Option<Arc<str>> {
        let (number, process) = self.minimal.pop_first()?;
        process.task.abort();
        self.floor.vacate(number, Why::Killed);
        Some(process.consumer)
    }
}

/// A client without a clock.
struct MinimalClient {
    wire: Wire,
    consumer: Arc<str>,
    process: u32,
    endpoints: Vec<String>,
    topics: Vec<String>,
    ttl_ms: u64,
    floor: Floor,
    dice: StdRng,
    history: History,
    /// True if it reads snapshots.
    remembers: bool,
    session: Option<SessionInfo>,
    /// The store of which it was told last.
    cluster_id: String,
    held: BTreeMap<TopicPartition, Epoch>,
}

/// One stream, and what is said of what it told: that ends with it.
struct Line {
    endpoint: String,
    caller: Caller,
    words: JoinSet<()>,
}

impl MinimalClient {
    async fn run(mut self) {
        loop {
            let endpoint = self.endpoints[self.dice.random_range(0..self.endpoints.len())].clone();
            let request = self.request();
            let caller = Caller {
                group: GROUP.to_owned(),
                consumer_name: request.consumer_name.clone(),
                incarnation: request.incarnation.clone(),
            };
            let is_another = request.resume_lease == 0 && !self.held.is_empty();
            if let Ok(stream) = self.wire.register(&endpoint, request).await {
                if is_another {
                    self.history.excuse(&self.consumer, Duration::ZERO);
                }
                self.listen(stream, Line { endpoint, caller, words: JoinSet::new() }).await;
            }
            sleep(AGAIN).await;
        }
    }

    fn request(&mut self) -> RegisterRequest {
        let capabilities: &[Capability] = match self.remembers {
            true => &[Capability::Taken, Capability::Snapshot],
            false => &[Capability::Taken],
        };
        let anew = SessionInfo {
            incarnation: format!("{:032x}", self.dice.random::<u128>()),
            ..SessionInfo::default()
        };
        let session = self.session.clone().unwrap_or(anew);
        RegisterRequest {
            consumer_name: self.consumer.to_string(),
            group: GROUP.to_owned(),
            incarnation: session.incarnation,
            resume_lease: session.lease,
            topics: self.topics.clone(),
            session_timeout_ms: self.ttl_ms,
            renewal: Renewal::Server.into(),
            capabilities: capabilities.iter().map(|capability| (*capability).into()).collect(),
            ..RegisterRequest::default()
        }
    }

    /// Obeys until the stream is over. In `overlap` it works on meanwhile with what it has.
    async fn listen(&mut self, mut stream: CommandStream, mut line: Line) {
        while let Some(Ok(command)) = stream.next().await {
            if self.is_of_another_store(&command) {
                self.lose();
                if self.remembers {
                    return;
                }
            }
            match command.command {
                Some(Command::Snapshot(told)) => self.take_all(told, &mut line).await,
                Some(Command::Assignment(told)) => self.hold(&told, &mut line),
                Some(Command::Warm(told)) => self.prepare(&told, &mut line),
                Some(Command::Release(told)) => self.let_go(&told, &mut line).await,
                Some(Command::Fenced(_)) => return self.lose(),
                Some(Command::GoAway(_)) => return,
                _ => {}
            }
        }
    }

    /// Another store has another history: nothing of the one before is held any more.
    fn is_of_another_store(&mut self, command: &AssignmentCommand) -> bool {
        let before = std::mem::replace(&mut self.cluster_id, command.cluster_id.clone());
        !before.is_empty() && before != self.cluster_id
    }

    /// The session is over, and everything with it.
    fn lose(&mut self) {
        self.session = None;
        std::mem::take(&mut self.held)
            .into_keys()
            .for_each(|of| self.floor.end(self.process, &of, Why::Lost));
    }

    async fn take_all(&mut self, told: Snapshot, line: &mut Line) {
        self.session = told.session;
        let keeps = told.releasing.iter().map(|release| at(&release.topic, release.partition)).collect();
        self.hold_only(&told.assigned, &keeps);
        told.assigned.iter().for_each(|assigned| self.begin(assigned, line));
        self.prepare(&Warm { partitions: told.warming }, line);
        self.let_go(&Release { partitions: told.releasing }, line).await;
    }

    /// Drops what is neither owned nor to be given up.
    fn hold_only(&mut self, owned: &[AssignedPartition], keeps: &BTreeSet<TopicPartition>) {
        let owned: BTreeSet<TopicPartition> = owned.iter().map(|p| at(&p.topic, p.partition)).collect();
        let over = self.held.keys().filter(|of| !owned.contains(*of) && !keeps.contains(*of));
        let over: Vec<TopicPartition> = over.cloned().collect();
        over.iter().for_each(|of| self.end(of, Why::Lost));
    }

    fn hold(&mut self, told: &Assignment, line: &mut Line) {
        if told.full {
            self.hold_only(&told.assigned, &BTreeSet::new());
        }
        told.unassigned.iter().for_each(|p| self.end(&at(&p.topic, p.partition), Why::Lost));
        told.assigned.iter().for_each(|assigned| self.begin(assigned, line));
    }

    /// One who holds an epoch of the run goes on, and anybody else begins.
    fn begin(&mut self, assigned: &AssignedPartition, line: &mut Line) {
        let (of, epoch) = (at(&assigned.topic, assigned.partition), Epoch(assigned.epoch));
        match self.held.get(&of) {
            Some(held) if held.0 >= assigned.run => {}
            held => {
                if held.is_some() {
                    self.floor.end(self.process, &of, Why::Lost);
                }
                self.floor.begin_unclaimed(self.process, &self.consumer, of.clone(), epoch);
            }
        }
        self.held.insert(of, epoch);
        if !assigned.handoff_id.is_empty() {
            let ack = ack(&assigned.topic, assigned.partition, &assigned.handoff_id);
            self.say(line, Duration::ZERO, Acks::Taken(vec![ack]));
        }
    }

    fn prepare(&mut self, told: &Warm, line: &mut Line) {
        for warm in &told.partitions {
            let after = Duration::from_millis(self.dice.random_range(20..=LONGEST_WARM_UP_MS));
            let ack = ack(&warm.topic, warm.partition, &warm.handoff_id);
            self.say(line, after, Acks::Ready(vec![ack]));
        }
    }

    async fn let_go(&mut self, told: &Release, line: &mut Line) {
        sleep(Duration::from_millis(self.dice.random_range(0..=100))).await;
        for release in &told.partitions {
            self.end(&at(&release.topic, release.partition), Why::Drained);
            let ack = ack(&release.topic, release.partition, &release.handoff_id);
            self.say(line, Duration::ZERO, Acks::Released(vec![ack]));
        }
    }

    fn end(&mut self, of: &TopicPartition, why: Why) {
        if self.held.remove(of).is_some() {
            self.floor.end(self.process, of, why);
        }
    }

    /// Says it until somebody has heard it, for as long as the stream lasts.
    fn say(&self, line: &mut Line, after: Duration, acks: Acks) {
        let (wire, endpoint, caller) = (self.wire.clone(), line.endpoint.clone(), line.caller.clone());
        line.words.spawn(async move {
            sleep(after).await;
            while wire.acknowledge(&endpoint, caller.clone(), acks.clone()).await.is_err() {
                sleep(AGAIN).await;
            }
        });
    }
}

fn ack(topic: &str, partition: i32, handoff: &str) -> PartitionAck {
    PartitionAck {
        topic: topic.to_owned(),
        partition,
        handoff_id: handoff.to_owned(),
        ..PartitionAck::default()
    }
}
