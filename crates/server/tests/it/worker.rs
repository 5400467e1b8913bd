//! A consumer that does what it is told by itself, as a client library does.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_proto::v1::{DeregisterMode, HeartbeatOutcome, PartitionAck, RegisterRequest};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::cluster::{Node, PATIENCE};
use crate::member::{Member, Roles, ack, drained, full};

/// The wait after a call that had no definite answer.
const RETRY: Duration = Duration::from_millis(200);

/// A running consumer; dropping it is a crash.
pub(crate) struct Worker {
    pub(crate) name: String,
    roles: watch::Receiver<Roles>,
    leaving: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Worker {
    /// Starts a consumer that warms at once, and uses `nodes` in turn.
    pub(crate) async fn start(nodes: &[Node], name: &str) -> Self {
        Self::with(nodes, full(name, &format!("{name}-1")), Duration::ZERO).await
    }

    /// Starts a consumer that takes the time `warm` to warm up.
    pub(crate) async fn with(nodes: &[Node], request: RegisterRequest, warm: Duration) -> Self {
        let member = Member::register(&nodes[0], request).await.expect("it registers");
        Self::start_with(nodes, member, warm)
    }

    /// Lets a registered consumer work by itself.
    pub(crate) fn of(nodes: &[Node], member: Member) -> Self {
        Self::start_with(nodes, member, Duration::ZERO)
    }

    fn start_with(nodes: &[Node], member: Member, warm: Duration) -> Self {
        let name = member.request.consumer_name.clone();
        let (sender, roles) = watch::channel(member.roles.clone());
        let (leaving, asked) = watch::channel(false);
        let work = Work {
            nodes: nodes.to_vec(),
            turn: 0,
            member,
            warm,
            warmed_from: BTreeMap::new(),
            said: BTreeMap::new(),
            sender,
            asked,
            heard: Instant::now(),
        };
        Self { name, roles, leaving, task: tokio::spawn(work.run()) }
    }

    /// Registers `request` until that has a definite answer, each time as another session, and lets it work.
    pub(crate) async fn insistent(nodes: &[Node], request: &RegisterRequest) -> Self {
        for attempt in 0.. {
            let incarnation = format!("{}-{attempt}", request.consumer_name);
            let request = RegisterRequest { incarnation, ..request.clone() };
            if let Ok(member) = Member::register(&nodes[attempt % nodes.len()], request).await {
                return Self::start_with(nodes, member, Duration::ZERO);
            }
            sleep(RETRY).await;
        }
        unreachable!("it tries for ever")
    }

    /// Has it hand everything over and leave.
    pub(crate) fn leave(&self) {
        self.leaving.send_replace(true);
    }

    /// Several of them, registered one after the other.
    pub(crate) async fn several(nodes: &[Node], names: impl IntoIterator<Item = String>) -> Vec<Self> {
        let mut workers = Vec::new();
        for name in names {
            workers.push(Self::start(nodes, &name).await);
        }
        workers
    }

    pub(crate) fn roles(&self) -> Roles {
        self.roles.borrow().clone()
    }

    /// Waits until what it was told is as it must become.
    pub(crate) async fn until(&mut self, what: &str, holds: impl Fn(&Roles) -> bool) {
        let came =
            timeout(PATIENCE, self.roles.wait_for(|roles| holds(roles))).await.is_ok_and(|it| it.is_ok());
        assert!(came, "{} was never told: {what}; {:?}", self.name, self.roles());
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Ready,
    Drained,
    CaughtUp,
    Taken,
    Released,
}

struct Work {
    nodes: Vec<Node>,
    turn: usize,
    member: Member,
    warm: Duration,
    /// Since when it warms, by handoff.
    warmed_from: BTreeMap<String, Instant>,
    /// The reports that had a definite answer, by handoff.
    said: BTreeMap<String, Word>,
    sender: watch::Sender<Roles>,
    /// True once it shall leave.
    asked: watch::Receiver<bool>,
    heard: Instant,
}

impl Work {
    async fn run(mut self) {
        loop {
            let is_said = self.speak().await;
            self.sender.send_replace(self.member.roles.clone());
            if self.member.roles.fenced.is_some() {
                return;
            }
            let beat = self.heard + Duration::from_millis(self.member.roles.ttl_ms / 3);
            let again = if is_said { self.next_warm().unwrap_or(beat) } else { Instant::now() + RETRY };
            tokio::select! {
                biased;
                // Heartbeats before all: a stream that is always full must not end the session.
                () = sleep_until(beat) => self.beat().await,
                more = self.member.more() => if !more { self.reconnect().await },
                Ok(()) = self.asked.changed() => self.say_goodbye().await,
                () = sleep_until(again) => {}
            }
        }
    }

    fn next_warm(&self) -> Option<Instant> {
        let now = Instant::now();
        self.warmed_from.values().map(|from| *from + self.warm).filter(|at| *at > now).min()
    }

    /// Says what there is to say; false where some of it had no definite answer.
    async fn speak(&mut self) -> bool {
        let words = [
            (Word::Drained, self.stopped()),
            (Word::CaughtUp, self.caught_up()),
            (Word::Ready, self.warm_by_now()),
            (Word::Taken, self.handed_over()),
            (Word::Released, self.given_up()),
        ];
        let mut is_said = true;
        for (word, acks) in words {
            is_said &= acks.is_empty() || self.say(word, acks).await;
        }
        is_said
    }

    fn warm_by_now(&mut self) -> Vec<PartitionAck> {
        let now = Instant::now();
        let warming = self.member.roles.warming.values();
        self.warmed_from = warming
            .clone()
            .map(|w| (w.handoff_id.clone(), *self.warmed_from.get(&w.handoff_id).unwrap_or(&now)))
            .collect();
        warming
            .filter(|w| self.warmed_from[&w.handoff_id] + self.warm <= now)
            .filter(|w| !self.said.contains_key(&w.handoff_id))
            .map(|w| ack(&w.topic, w.partition, &w.handoff_id))
            .collect()
    }

    fn is_open(&self, id: &str, word: Word) -> bool {
        self.said.get(id).is_none_or(|said| *said < word)
    }

    fn stopped(&self) -> Vec<PartitionAck> {
        let draining =
            self.member.roles.draining.values().filter(|d| self.is_open(&d.handoff_id, Word::Drained));
        draining.map(|d| ack(&d.topic, d.partition, &d.handoff_id)).collect()
    }

    fn caught_up(&self) -> Vec<PartitionAck> {
        let reading = self.member.roles.catching_up.values();
        let reading = reading.filter(|c| self.is_open(&c.handoff_id, Word::CaughtUp));
        reading.map(|c| ack(&c.topic, c.partition, &c.handoff_id)).collect()
    }

    fn handed_over(&self) -> Vec<PartitionAck> {
        let is_new = |id: &String| !id.is_empty() && self.is_open(id, Word::Taken);
        let assigned = self.member.roles.assigned.values().filter(|a| is_new(&a.handoff_id));
        assigned.map(|a| ack(&a.topic, a.partition, &a.handoff_id)).collect()
    }

    fn given_up(&self) -> Vec<PartitionAck> {
        let releasing =
            self.member.roles.releasing.values().filter(|r| self.is_open(&r.handoff_id, Word::Released));
        releasing.map(|r| ack(&r.topic, r.partition, &r.handoff_id)).collect()
    }

    async fn say(&mut self, word: Word, acks: Vec<PartitionAck>) -> bool {
        let answer = match word {
            Word::Ready => self.member.say_ready(acks.clone()).await,
            Word::Taken => self.member.say_taken(acks.clone()).await,
            Word::CaughtUp => self.member.say_caught_up(acks.clone()).await,
            Word::Drained => {
                let stopped = |ack: &PartitionAck| drained(&ack.topic, ack.partition, &ack.handoff_id, 0);
                self.member.say_drained(acks.iter().map(stopped).collect()).await
            }
            Word::Released => self.member.say_released(acks.clone()).await,
        };
        if answer.is_ok() {
            self.said.extend(acks.into_iter().map(|ack| (ack.handoff_id, word)));
        }
        answer.is_ok()
    }

    async fn beat(&mut self) {
        self.heard = Instant::now();
        match self.member.beat(0, Vec::new()).await {
            Ok(answer) if answer.outcome() == HeartbeatOutcome::Fenced => {
                self.member.roles.fenced = answer.fenced;
            }
            Ok(_) => {}
            Err(_) => self.turn(),
        }
    }

    async fn say_goodbye(&self) {
        while self.member.deregister(DeregisterMode::Drain).await.is_err() {
            sleep(RETRY).await;
        }
    }

    fn turn(&mut self) {
        self.turn = (self.turn + 1) % self.nodes.len();
        self.member.node = self.nodes[self.turn].clone();
    }

    /// Comes back to the session, on one instance after the other.
    async fn reconnect(&mut self) {
        loop {
            self.turn();
            if let Ok(member) = self.member.resume(&self.nodes[self.turn]).await {
                self.member = member;
                return;
            }
            sleep(RETRY).await;
        }
    }
}
