//! The store and the network bend what passes where a hole is on.

use bytes::Bytes;
use kafka_assigner_core::key::{Key, Layout};
use kafka_assigner_core::record::{
    Assignment, Consumer, DeathSign, GroupConfig, Handoff, HandoffRecord, Phase, Suspicion, Taken, decode,
    encode,
};
use kafka_assigner_proto::v1::{HeartbeatOutcome, HeartbeatResponse};
use kafka_assigner_types::id::Offset;
use kafka_assigner_types::kv::{Change, Compare, Must, Op, Record, Txn};
use tonic::Status;

use super::{Hole, deletion, history};

/// The time, in milliseconds, for which strict grants wait where that is far too long: no world lasts longer by much.
const FAR_TOO_LONG_MS: u64 = 300_000;

impl Hole {
    /// The transaction that the store carries out in place of `txn`.
    pub(crate) fn bend(self, layout: &Layout, mut txn: Txn) -> Txn {
        match self {
            Self::UnfencedLeader => {
                let leader = layout.encode(&Key::Leader);
                txn.compares.retain(|compare| compare.key != leader);
            }
            Self::OwnerUnchecked => {
                txn.compares.retain(|compare| !matches!(compare.must, Must::HaveLease(_)));
            }
            Self::ReleaseBeforeTaken => rewrite(layout, &mut txn, taken),
            Self::MarksKept if unmarks(layout, &txn) => refuse(&mut txn),
            Self::HandoffsKept if clears(layout, &txn) => refuse(&mut txn),
            Self::EpochStays => regrant(layout, &mut txn, in_first_epoch),
            Self::StartMoved => regrant(layout, &mut txn, one_before),
            Self::RoutersUnawaited => rewrite(layout, &mut txn, draining),
            Self::RestUnawaited => rewrite(layout, &mut txn, rested),
            Self::EpochsTakenAgain => history::keep_epochs(&mut txn),
            Self::TombstoneForgotten => deletion::forget_claims(layout, &mut txn),
            Self::SameHistory if history::begins(&txn) => refuse(&mut txn),
            _ => {}
        }
        txn
    }

    /// The answer to its heartbeat as a consumer gets to hear it.
    pub(crate) fn answer(self, response: HeartbeatResponse) -> Result<HeartbeatResponse, Status> {
        if self != Self::DeafUnnoticed {
            return Ok(response);
        }
        if response.outcome() == HeartbeatOutcome::StoreUnavailable {
            return Err(Status::unavailable("nothing is known"));
        }
        Ok(HeartbeatResponse { concerned_revision: 0, digest: None, ..response })
    }

    /// The record that an instance reads in place of `record`.
    pub(crate) fn read(self, layout: &Layout, record: Record) -> Record {
        let config = matches!(layout.decode(&record.key), Some(Key::GroupConfig));
        let config = config.then(|| decode::<GroupConfig>(&record.value).ok()).flatten();
        let consumer = matches!(layout.decode(&record.key), Some(Key::Consumer(_)));
        let consumer = consumer.then(|| decode::<Consumer>(&record.value).ok()).flatten();
        let config = config.and_then(|config| self.configured(config)).map(|config| encode(&config));
        let consumer = consumer.and_then(|consumer| self.registered(consumer)).map(|c| encode(&c));
        match config.or(consumer) {
            Some(value) => Record { value, ..record },
            None => record,
        }
    }

    /// The configuration that an instance reads in place of `config`; `None`: that one.
    fn configured(self, config: GroupConfig) -> Option<GroupConfig> {
        match self {
            Self::TakenOverEarly => Some(GroupConfig { takeover_after_ms: 1, ..config }),
            Self::RestoreWaitedLong => {
                Some(GroupConfig { max_session_timeout_ms: FAR_TOO_LONG_MS, ..config })
            }
            _ => None,
        }
    }

    /// The registration that an instance reads in place of `consumer`; `None`: that one.
    fn registered(self, consumer: Consumer) -> Option<Consumer> {
        let is_silent = |mark: &Suspicion| mark.sign == DeathSign::Silent;
        let hurries = self == Self::SilenceHurried && consumer.suspected.as_ref().is_some_and(is_silent);
        // The mark has to stand for two thirds of that.
        hurries.then_some(Consumer { ttl_ms: 1, ..consumer })
    }

    /// True if an instance gets to see `record`.
    pub(crate) fn shows(self, layout: &Layout, record: &Record) -> bool {
        self != Self::UnreadableIsGone || !is_unreadable_consumer(layout, record)
    }

    /// The change that an instance gets to see.
    pub(crate) fn show(self, layout: &Layout, change: Change) -> Change {
        match change {
            Change::Put(record) if !self.shows(layout, &record) => {
                Change::Delete { key: record.key, revision: record.mod_revision }
            }
            Change::Put(record) => Change::Put(self.read(layout, record)),
            other @ Change::Delete { .. } => other,
        }
    }
}

fn is_unreadable_consumer(layout: &Layout, record: &Record) -> bool {
    matches!(layout.decode(&record.key), Some(Key::Consumer(_))) && decode::<Consumer>(&record.value).is_err()
}

/// True if `txn` may take a mark out of a registration, and does nothing else.
fn unmarks(layout: &Layout, txn: &Txn) -> bool {
    let [Op::Put { key, value, .. }] = &txn.then[..] else { return false };
    let is_rewrite = txn.compares.iter().any(|compare| matches!(compare.must, Must::HaveModRevision(_)));
    let consumer =
        matches!(layout.decode(key), Some(Key::Consumer(_))).then(|| decode::<Consumer>(value).ok());
    let is_open = |consumer: &Consumer| consumer.suspected.is_none() && !consumer.is_ending();
    is_rewrite && consumer.flatten().is_some_and(|consumer| is_open(&consumer))
}

/// True if `txn` deletes the record of a handoff.
fn clears(layout: &Layout, txn: &Txn) -> bool {
    let is_handoff =
        |op: &Op| matches!(op, Op::Delete { key } if matches!(layout.decode(key), Some(Key::Handoff(_))));
    txn.then.iter().any(is_handoff)
}

/// Lets `txn` fail by its guards, as if another write had been first: what it changes is there.
fn refuse(txn: &mut Txn) {
    let changed: Vec<Bytes> = txn.then.iter().filter_map(key_of).cloned().collect();
    txn.compares.extend(changed.into_iter().map(|key| Compare::new(key, Must::BeAbsent)));
}

const fn key_of(op: &Op) -> Option<&Bytes> {
    match op {
        Op::Put { key, .. } | Op::Delete { key } => Some(key),
        Op::DeletePrefix { .. } | Op::Get { .. } => None,
    }
}

/// Replaces every assignment that is written.
fn regrant(layout: &Layout, txn: &mut Txn, bend: fn(Assignment) -> Bytes) {
    for op in &mut txn.then {
        let Op::Put { key, value, .. } = op else { continue };
        if let (Some(Key::Assignment(_)), Ok(written)) = (layout.decode(key), decode::<Assignment>(value)) {
            *value = bend(written);
        }
    }
}

/// As the first grant of all.
fn in_first_epoch(mut written: Assignment) -> Bytes {
    written.epochs = Default::default();
    encode(&written)
}

fn one_before(mut written: Assignment) -> Bytes {
    written.start = written.start.and_then(|start| Offset::new(start.get() - 1).ok());
    encode(&written)
}

/// Replaces every handoff that is written and that `bend` has something to put in the place of.
fn rewrite(layout: &Layout, txn: &mut Txn, bend: fn(&Handoff) -> Option<Handoff>) {
    for op in &mut txn.then {
        let Op::Put { key, value, .. } = op else { continue };
        if let Some(bent) = written(layout, key, value).and_then(|handoff| bend(&handoff)) {
            *value = encode(&HandoffRecord::Lead(Box::new(bent)));
        }
    }
}

fn written(layout: &Layout, key: &Bytes, value: &Bytes) -> Option<Handoff> {
    let Some(Key::Handoff(_)) = layout.decode(key) else { return None };
    let Ok(HandoffRecord::Lead(handoff)) = decode::<HandoffRecord>(value) else { return None };
    Some(*handoff)
}

fn taken(handoff: &Handoff) -> Option<Handoff> {
    let opens = handoff.phase == Phase::Complete && handoff.taken.is_none();
    opens.then(|| Handoff { taken: Some(Taken::default()), ..handoff.clone() })
}

fn draining(handoff: &Handoff) -> Option<Handoff> {
    let freezes = handoff.phase == Phase::Freezing;
    freezes.then(|| handoff.in_phase(Phase::Draining))
}

fn rested(handoff: &Handoff) -> Option<Handoff> {
    let waits = handoff.phase == Phase::Ready && handoff.asks_for_rest();
    waits.then(|| Handoff { old_said: handoff.unit.iter().cloned().collect(), ..handoff.clone() })
}
