//! The engine against a model that is too simple to be wrong: a list of records and a list of leases.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::test_runner::TestCaseResult;
use proptest::{prop_assert, prop_assert_eq};

use super::*;

/// Keys that are prefixes of each other and neighbours of each other.
const KEYS: [&[u8]; 6] = [b"a", b"a/", b"a/1", b"a\xff", b"a\xff\xff", b"b"];

#[derive(Debug, Clone)]
enum Step {
    Txn(Txn),
    Grant(u64),
    KeepAlive(LeaseId),
    Revoke(LeaseId),
    Wait(u64),
}

fn a_key() -> impl Strategy<Value = Bytes> {
    (0..KEYS.len()).prop_map(|n| Bytes::from_static(KEYS[n]))
}

/// None, one of those that are granted first, or one that never is.
fn a_lease() -> impl Strategy<Value = LeaseId> {
    (0..6_i64).prop_map(LeaseId)
}

fn an_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (a_key(), any::<u8>(), a_lease())
            .prop_map(|(key, value, lease)| Op::Put { key, value: vec![value].into(), lease }),
        2 => a_key().prop_map(|key| Op::Delete { key }),
        1 => a_key().prop_map(|prefix| Op::DeletePrefix { prefix }),
        1 => a_key().prop_map(|key| Op::Get { key }),
    ]
}

fn a_compare() -> impl Strategy<Value = Compare> {
    let must = prop_oneof![
        Just(Must::BeAbsent),
        Just(Must::Exist),
        (0..30_u64).prop_map(|n| Must::HaveModRevision(Revision(n))),
        (0..30_u64).prop_map(|n| Must::HaveCreateRevision(Revision(n))),
        a_lease().prop_map(Must::HaveLease),
        Just(Must::HaveNoKeys),
        (0..20_u64).prop_map(|n| Must::HaveNoChangesSince(Revision(n))),
        any::<u8>().prop_map(|value| Must::HaveValue(vec![value].into())),
    ];
    (a_key(), must).prop_map(|(key, must)| Compare { key, must })
}

fn a_step() -> impl Strategy<Value = Step> {
    let txn = (vec(a_compare(), 0..2), vec(an_op(), 0..4), vec(an_op(), 0..3));
    prop_oneof![
        8 => txn.prop_map(|(compares, then, or_else)| Step::Txn(Txn { compares, then, or_else })),
        2 => (1..10_u64).prop_map(Step::Grant),
        1 => a_lease().prop_map(Step::KeepAlive),
        1 => a_lease().prop_map(Step::Revoke),
        2 => (0..5_u64).prop_map(Step::Wait),
    ]
}

/// A lease of the model: id, time to live, deadline, in seconds.
type Granted = (LeaseId, u64, u64);

#[derive(Debug, Default)]
struct Model {
    records: Vec<Record>,
    leases: Vec<Granted>,
    granted: i64,
    revision: u64,
    now: u64,
}

impl Model {
    fn apply(&mut self, step: &Step) {
        match step {
            Step::Txn(txn) => self.txn(txn),
            Step::Grant(ttl) => {
                self.granted += 1;
                self.leases.push((LeaseId(self.granted), *ttl, self.now + ttl));
            }
            Step::KeepAlive(id) => {
                let now = self.now;
                self.leases.iter_mut().filter(|it| it.0 == *id).for_each(|it| it.2 = now + it.1);
            }
            Step::Revoke(id) => self.end(*id),
            Step::Wait(seconds) => {
                self.now += seconds;
                while let Some(due) =
                    self.leases.iter().min_by_key(|it| (it.2, it.0)).filter(|it| it.2 <= self.now)
                {
                    self.end(due.0);
                }
            }
        }
    }

    fn end(&mut self, id: LeaseId) {
        let lived = self.leases.iter().any(|it| it.0 == id);
        self.leases.retain(|it| it.0 != id);
        let before = self.records.len();
        if lived {
            self.records.retain(|record| record.lease != id);
        }
        self.revision += u64::from(self.records.len() < before);
    }

    fn find(&self, key: &[u8]) -> Option<&Record> {
        self.records.iter().find(|record| record.key == key)
    }

    /// Returns true if the engine has to take the branch: no key is put twice or put and deleted, every lease exists.
    fn admits(&self, txn: &Txn, branch: &[Op]) -> bool {
        let well_formed = |ops: &[Op]| {
            ops.iter().enumerate().all(|(n, op)| match op {
                Op::Put { key, .. } => !ops.iter().enumerate().any(|(m, other)| m != n && writes(other, key)),
                _ => true,
            })
        };
        let lives = |op: &Op| match op {
            Op::Put { lease, .. } => lease.0 == 0 || self.leases.iter().any(|it| it.0 == *lease),
            _ => true,
        };
        well_formed(&txn.then) && well_formed(&txn.or_else) && branch.iter().all(lives)
    }

    fn branch<'a>(&self, txn: &'a Txn) -> &'a [Op] {
        let below =
            |prefix: &Bytes| self.records.iter().filter(|it| it.key.starts_with(prefix)).collect::<Vec<_>>();
        let holds = |compare: &Compare| match (self.find(&compare.key), &compare.must) {
            (_, Must::HaveNoKeys) => below(&compare.key).is_empty(),
            (_, Must::HaveNoChangesSince(since)) => {
                below(&compare.key).iter().all(|record| record.mod_revision <= *since)
            }
            (None, must) => *must == Must::BeAbsent,
            (Some(_), Must::BeAbsent) => false,
            (Some(_), Must::Exist) => true,
            (Some(record), Must::HaveModRevision(revision)) => record.mod_revision == *revision,
            (Some(record), Must::HaveCreateRevision(revision)) => record.create_revision == *revision,
            (Some(record), Must::HaveLease(lease)) => record.lease == *lease,
            (Some(record), Must::HaveValue(value)) => record.value == *value,
        };
        if txn.compares.iter().all(holds) { &txn.then } else { &txn.or_else }
    }

    fn txn(&mut self, txn: &Txn) {
        let branch = self.branch(txn);
        if !self.admits(txn, branch) {
            return;
        }
        let revision = Revision(self.revision + 1);
        let mut changed = false;
        for op in branch {
            let before = self.records.len();
            match op {
                Op::Put { key, value, lease } => {
                    let create_revision = self.find(key).map_or(revision, |record| record.create_revision);
                    self.records.retain(|record| record.key != key);
                    let (key, value) = (key.clone(), value.clone());
                    self.records.push(Record {
                        key,
                        value,
                        create_revision,
                        mod_revision: revision,
                        lease: *lease,
                    });
                    changed = true;
                }
                Op::Delete { key } => self.records.retain(|record| record.key != key),
                Op::DeletePrefix { prefix } => self.records.retain(|record| !record.key.starts_with(prefix)),
                Op::Get { .. } => {}
            }
            changed |= self.records.len() < before;
        }
        self.revision += u64::from(changed);
    }
}

fn writes(op: &Op, key: &Bytes) -> bool {
    match op {
        Op::Put { key: other, .. } | Op::Delete { key: other } => other == key,
        Op::DeletePrefix { prefix } => key.starts_with(prefix),
        Op::Get { .. } => false,
    }
}

/// Does a step to the engine; whether it is refused is for the model to say.
fn perform(engine: &mut Engine, step: &Step, now: Instant) {
    engine.expire(now);
    match step {
        Step::Txn(txn) => drop(engine.txn(txn)),
        Step::Grant(ttl) => drop(engine.grant(Duration::from_secs(*ttl), now)),
        Step::KeepAlive(lease) => drop(engine.keep_alive(*lease, now)),
        Step::Revoke(lease) => engine.revoke(*lease),
        Step::Wait(_) => {}
    }
}

/// The records that the history leads to, which must be those that are there.
fn replayed(engine: &Engine) -> Vec<Record> {
    let mut records = BTreeMap::new();
    let all = engine.history().between(Revision(1), engine.revision()).expect("nothing was compacted");
    for change in all.flat_map(|commit| commit.iter()) {
        match change {
            Change::Put(record) => records.insert(record.key.clone(), record.clone()),
            Change::Delete { key, .. } => records.remove(key),
        };
    }
    records.into_values().collect()
}

fn compare(engine: &Engine, model: &Model, now: Instant) -> TestCaseResult {
    let mut expected = model.records.clone();
    expected.sort_by(|a, b| a.key.cmp(&b.key));
    prop_assert_eq!(engine.revision().0, model.revision);
    prop_assert_eq!(&engine.range(b"").records, &expected);
    for prefix in KEYS {
        let under =
            expected.iter().filter(|record| record.key.starts_with(prefix)).cloned().collect::<Vec<_>>();
        prop_assert_eq!(engine.range(prefix).records, under);
    }
    for id in (1..=model.granted).map(LeaseId) {
        let left = model.leases.iter().find(|it| it.0 == id).map(|it| Duration::from_secs(it.2 - model.now));
        prop_assert_eq!(engine.time_to_live(id, now), left);
    }
    prop_assert_eq!(replayed(engine), expected);
    Ok(())
}

proptest! {
    #[test]
    fn the_engine_does_what_the_model_does(steps in vec(a_step(), 1..60)) {
        let start = Instant::now();
        let mut engine = Engine::new(Seed::default(), Retention::default(), start);
        let mut model = Model::default();
        for step in steps {
            model.apply(&step);
            let now = start + Duration::from_secs(model.now);
            perform(&mut engine, &step, now);
            engine.expire(now);
            compare(&engine, &model, now)?;
        }
    }

    #[test]
    fn a_history_keeps_its_bound_and_never_shows_a_hole(
        sizes in vec(1..5_usize, 1..40),
        changes in 1..20_usize,
    ) {
        let mut engine = Engine::new(Seed::default(), Retention { changes, ..Retention::default() }, Instant::now());
        for size in sizes {
            let ops = (0..size).map(|n| Op::put(format!("{n}"), "")).collect();
            engine.txn(&Txn::guarded(Vec::new(), ops)).expect("it is well-formed");
        }
        let last = engine.revision();
        let kept: Vec<_> = (1..=last.0).filter(|n| engine.history().check(Revision(*n)).is_ok()).collect();
        prop_assert!(kept.windows(2).all(|two| two[0] + 1 == two[1]) && kept.last().is_none_or(|n| *n == last.0));
        let held: usize = kept.first().map_or(0, |first| {
            engine.history().between(Revision(*first), last).expect("it is kept").map(|commit| commit.len()).sum()
        });
        prop_assert!(held <= changes);
        prop_assert!(engine.history().check(last.next()).is_ok(), "the future can always be watched");
    }
}
