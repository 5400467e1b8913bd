//! Arbitrary interleavings of requests, routes, answers and time, checked after every step.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::{
    AGE, FirstPoll, LaneCommand, LaneTurn, Lanes, Moment, RequestId, SendOutcome, StashLimits, T0, Unsent,
    at, target,
};

const PARTITIONS: u32 = 2;

#[derive(Debug, Clone)]
enum Move {
    Request(u32),
    Stop(u32),
    Switch(u32, u8),
    /// It is the next one's turn.
    Depart(u32),
    /// The task of one of those that wait for their turns is dropped.
    Drop(u32, usize),
    /// The loop is told that a task has ended that sent nothing.
    End(usize),
    /// The answer of one of those on their way.
    Settle(usize, SendOutcome),
    Cancel(usize),
    /// So many milliseconds pass.
    Pass(u64),
    /// The session is confirmed for so many milliseconds.
    Claim(u64),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let partition = || 0..PARTITIONS;
    let outcome = prop_oneof![
        4 => Just(SendOutcome::Answered),
        2 => Just(SendOutcome::Refused),
        1 => Just(SendOutcome::Failed),
    ];
    let step = prop_oneof![
        6 => partition().prop_map(Move::Request),
        1 => partition().prop_map(Move::Stop),
        2 => (partition(), 0..3_u8).prop_map(|(partition, owner)| Move::Switch(partition, owner)),
        9 => partition().prop_map(Move::Depart),
        1 => (partition(), any::<usize>()).prop_map(|(partition, which)| Move::Drop(partition, which)),
        4 => any::<usize>().prop_map(Move::End),
        6 => (any::<usize>(), outcome).prop_map(|(which, outcome)| Move::Settle(which, outcome)),
        1 => any::<usize>().prop_map(Move::Cancel),
        2 => (0..3_000_u64).prop_map(Move::Pass),
        1 => (0..60_000_u64).prop_map(Move::Claim),
    ];
    prop::collection::vec(step, 1..200)
}

/// A task that waits for its turn.
struct Task {
    id: RequestId,
    turn: LaneTurn,
    before: FirstPoll,
}

/// The expected state, kept beside the lanes by the simplest means.
struct Rig {
    lanes: Lanes,
    limits: StashLimits,
    now: Moment,
    claim: Moment,
    /// The owner of each partition that requests may go to now.
    open: BTreeMap<u32, u64>,
    epoch: u64,
    /// Every request that has no fate yet, by arrival, with its partition.
    held: BTreeMap<RequestId, (u32, Moment)>,
    on_way: BTreeMap<RequestId, (u32, u64)>,
    /// The tasks of each partition, in the order of their turns.
    tasks: BTreeMap<u32, VecDeque<Task>>,
    /// The last task of each partition, if it was dropped: one that begins behind it waits for nobody.
    lost: BTreeMap<u32, LaneTurn>,
    /// Tasks that have ended without sending, as the loop is not told yet.
    ended: Vec<(u32, RequestId, LaneTurn)>,
    refused: BTreeSet<RequestId>,
    /// The last request of each partition that was started for the first time.
    newest: BTreeMap<u32, RequestId>,
    executed: BTreeMap<u32, Vec<RequestId>>,
}

impl Rig {
    fn new(window: usize) -> Self {
        let limits = StashLimits { requests: 6, bytes: 80, age: AGE, window };
        let mut rig = Self {
            lanes: Lanes::new(limits),
            limits,
            now: T0,
            claim: T0,
            open: BTreeMap::new(),
            epoch: 0,
            held: BTreeMap::new(),
            on_way: BTreeMap::new(),
            tasks: (0..PARTITIONS).map(|partition| (partition, VecDeque::new())).collect(),
            lost: BTreeMap::new(),
            ended: Vec::new(),
            refused: BTreeSet::new(),
            newest: BTreeMap::new(),
            executed: BTreeMap::new(),
        };
        (0..PARTITIONS).for_each(|partition| rig.lanes.stop(&at(partition)));
        rig.make(&Move::Claim(60_000));
        rig
    }

    fn make(&mut self, step: &Move) {
        match *step {
            Move::Request(partition) => self.request(partition),
            Move::Stop(partition) => {
                self.open.remove(&partition);
                self.lanes.stop(&at(partition));
            }
            Move::Switch(partition, owner) => {
                self.epoch += 1;
                self.open.insert(partition, self.epoch);
                self.lanes.switch(&at(partition), target(&format!("owner-{owner}"), self.epoch));
            }
            Move::Depart(partition) => self.depart(partition),
            Move::Drop(partition, which) => self.drop_task(partition, which),
            Move::End(which) => self.end(which),
            Move::Settle(which, outcome) => self.settle(which, outcome),
            Move::Cancel(which) => self.cancel(which),
            Move::Pass(millis) => self.now = self.now + std::time::Duration::from_millis(millis),
            Move::Claim(millis) => {
                self.claim = self.now + std::time::Duration::from_millis(millis);
                self.lanes.claim(Some(self.claim));
            }
        }
        self.drain_orders();
        self.check();
    }

    fn request(&mut self, partition: u32) {
        let of_it = self.held.values().filter(|(of, _)| *of == partition).count();
        let expected = if self.now >= self.claim {
            Some(Unsent::Closed)
        } else if of_it >= self.limits.requests {
            Some(Unsent::TooMany)
        } else if (self.held.len() + 1) * 10 > self.limits.bytes {
            Some(Unsent::TooLarge)
        } else {
            None
        };
        let admitted = self.lanes.admit(self.now, &at(partition), 10);
        assert_eq!(admitted.err(), expected);
        if let Ok(id) = admitted {
            assert!(self.held.last_key_value().is_none_or(|(last, _)| *last < id));
            self.held.insert(id, (partition, self.now));
        }
    }

    fn settle(&mut self, which: usize, outcome: SendOutcome) {
        let Some(id) = pick(&self.on_way, which) else { return };
        let (partition, _) = self.on_way.remove(&id).expect("picked from it");
        self.lanes.settle(self.now, id, outcome);
        match outcome {
            SendOutcome::Refused => {
                self.refused.insert(id);
            }
            SendOutcome::Answered | SendOutcome::Failed => {
                self.held.remove(&id);
                self.executed.entry(partition).or_default().push(id);
            }
        }
    }

    fn cancel(&mut self, which: usize) {
        let Some(id) = pick(&self.held, which) else { return };
        self.lanes.cancel(id);
        if !self.on_way.contains_key(&id) {
            self.held.remove(&id);
        }
    }

    fn drain_orders(&mut self) {
        while let Some(order) = self.lanes.next(self.now) {
            match order {
                LaneCommand::Start { id, turn } => self.start(id, turn),
                LaneCommand::Fail { id, why } => {
                    let (_, arrived) = self.held.remove(&id).expect("only what is held fails");
                    assert!([Unsent::TooOld, Unsent::NoTurn(AGE)].contains(&why), "{why:?}");
                    assert!(arrived + AGE <= self.now && !self.on_way.contains_key(&id), "too early");
                }
            }
        }
    }

    fn start(&mut self, id: RequestId, turn: LaneTurn) {
        let (partition, _) = self.held[&id];
        let lost = self.lost.remove(&partition);
        let before = if lost.is_some() { FirstPoll::Lost } else { FirstPoll::Made };
        self.tasks.entry(partition).or_default().push_back(Task { id, turn, before });
        let on_way = self.on_way.values().filter(|(of, _)| *of == partition).count();
        let ended = self.ended.iter().filter(|(of, ..)| *of == partition).count();
        assert!(self.tasks[&partition].len() + on_way + ended <= self.limits.window, "too many tasks");
    }

    fn depart(&mut self, partition: u32) {
        let tasks = self.tasks.get_mut(&partition).expect("one of the partitions");
        let Some(Task { id, turn, before }) = tasks.pop_front() else { return };
        match self.lanes.depart(self.now, id, turn, before) {
            Some(target) => {
                assert_eq!(before, FirstPoll::Made, "sent although the one before it was not");
                self.sent(id, target.epoch.0);
            }
            None => self.ended.push((partition, id, turn)),
        }
    }

    fn drop_task(&mut self, partition: u32, which: usize) {
        let tasks = self.tasks.get_mut(&partition).expect("one of the partitions");
        let Some(which) = which.checked_rem(tasks.len()) else { return };
        let task = tasks.remove(which).expect("it is within");
        match tasks.get_mut(which) {
            Some(next) => next.before = FirstPoll::Lost,
            None => _ = self.lost.insert(partition, task.turn),
        }
        self.ended.push((partition, task.id, task.turn));
    }

    fn end(&mut self, which: usize) {
        if let Some(which) = which.checked_rem(self.ended.len()) {
            let (partition, id, turn) = self.ended.swap_remove(which);
            self.lanes.ended(&at(partition), id, turn);
            self.lost.retain(|_, lost| *lost != turn);
        }
    }

    fn sent(&mut self, id: RequestId, epoch: u64) {
        assert!(self.now < self.claim, "sent without a claim");
        let (partition, _) = self.held[&id];
        assert_eq!(self.open.get(&partition), Some(&epoch), "sent after a stop, or to another owner");
        let others = self.on_way.values().filter(|(of, _)| *of == partition);
        let others: Vec<_> = others.map(|(_, epoch)| *epoch).collect();
        assert!(others.iter().all(|other| *other == epoch), "two owners at once");
        assert!(others.len() < self.limits.window, "too many at once");
        let waits_before = |other: &RequestId| self.held[other].0 == partition && *other < id;
        let overtaken =
            self.held.keys().find(|other| !self.on_way.contains_key(other) && waits_before(other));
        assert_eq!(overtaken, None, "{id:?} overtook");
        if !self.refused.contains(&id) {
            let newest = self.newest.insert(partition, id);
            assert!(newest < Some(id), "started out of order");
        }
        self.on_way.insert(id, (partition, epoch));
    }

    fn check(&self) {
        assert_eq!(self.lanes.counts(), (self.held.len() - self.on_way.len(), self.on_way.len()));
        for partition in 0..PARTITIONS {
            let is_drained = self.on_way.values().all(|(of, _)| *of != partition);
            let says_so = self.lanes.is_drained(&at(partition));
            assert!(!says_so || is_drained, "drained with a request in flight");
            assert!(says_so || !is_drained || self.open.contains_key(&partition), "stopped, and not drained");
        }
    }

    /// Heals: owners answer, the session is confirmed. Nothing may be left but what was too old.
    fn settle_all(&mut self) {
        for partition in 0..PARTITIONS {
            self.make(&Move::Switch(partition, 0));
        }
        for _ in 0..1_000 {
            self.make(&Move::Claim(60_000));
            (0..PARTITIONS).for_each(|partition| self.make(&Move::Depart(partition)));
            self.make(&Move::End(0));
            self.make(&Move::Settle(0, SendOutcome::Answered));
            if self.held.is_empty() {
                return;
            }
            self.make(&Move::Pass(5));
        }
        panic!("left behind: {:?}", self.held);
    }
}

fn pick<V>(from: &BTreeMap<RequestId, V>, which: usize) -> Option<RequestId> {
    from.keys().nth(which.checked_rem(from.len())?).copied()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn order_owners_and_bounds_hold_and_nothing_is_lost(moves in moves(), window in 1..5_usize) {
        let mut rig = Rig::new(window);
        moves.iter().for_each(|step| rig.make(step));
        rig.settle_all();
    }

    // With one at a time, what owners execute is exactly the order of arrival, whatever they refuse.
    #[test]
    fn a_window_of_one_keeps_the_order_strictly(moves in moves()) {
        let mut rig = Rig::new(1);
        moves.iter().for_each(|step| rig.make(step));
        rig.settle_all();
        for executed in rig.executed.values() {
            prop_assert!(executed.is_sorted(), "{executed:?}");
        }
    }
}
