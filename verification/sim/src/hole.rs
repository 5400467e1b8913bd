//! Known holes that can be switched on, to prove that the checker sees what they break.
//!
//! None of them is in production code: each bends what a part of the simulation passes on to it.

mod history;

pub(crate) use history::IDENTITY;

use bytes::Bytes;
use kafka_assigner_core::key::{Key, Layout};
use kafka_assigner_core::record::{
    Assignment, Consumer, GroupConfig, Handoff, HandoffRecord, Phase, Taken, decode, encode,
};
use kafka_assigner_proto::v1::{HeartbeatOutcome, HeartbeatResponse};
use kafka_assigner_types::id::Offset;
use kafka_assigner_types::kv::{Change, Compare, Must, Op, Record, Txn};
use tonic::Status;

use crate::shape::Shape;

/// One hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Hole {
    /// The network takes the handoff ids out of acks, so they count for whichever handoff there is (I8).
    AcksWithoutId,
    /// The store forgets the leader's fence in every transaction (I7).
    UnfencedLeader,
    /// A completed handoff counts as taken at once, so the old owner stops before the new one works (I4).
    ReleaseBeforeTaken,
    /// The network loses commands of streams that go on (I9).
    CommandsLost,
    /// Instances see a registration that can't be read as absent (I11).
    UnreadableIsGone,
    /// The store forgets that a new owner must be registered (I10).
    OwnerUnchecked,
    /// Every lease that a leader asks about is said to be gone, so nobody waits for a claim (I1).
    ClaimsIgnored,
    /// A router says that a partition is frozen while requests of it are on their way (I5).
    RouterAcksUndrained,
    /// A router goes on sending while a partition is frozen (I5).
    RouterNeverStops,
    /// A handoff that is to freeze is stored as one that drains, so nobody waits for a router (I8).
    RoutersUnawaited,
    /// An owner admits requests that were meant for another epoch (I5).
    EpochIgnored,
    /// An owner executes requests without asking the gate or the claim (I5).
    GateForgotten,
    /// A router takes a refusal for an answer (I5).
    RefusalAnswered,
    /// A router takes a request of which nobody knows for a refused one, and sends it again (I5).
    BrokenIsRefused,
    /// Nobody tells a consumer that its stream hears nothing: neither answers to heartbeats, nor the instance itself (I4).
    DeafUnnoticed,
    /// Nobody removes the mark of a session that is heard (I13).
    MarksKept,
    /// Leaders take the wait before a takeover for none (I13).
    TakenOverEarly,
    /// The store keeps the same epoch for every grant (I2).
    EpochStays,
    /// An owner is told to start one record before the one at which the last one stopped (I3).
    StartMoved,
    /// The store refuses to delete a handoff that is over (I6).
    HandoffsKept,
    /// A handoff that is to freeze does so without the word of the old owner, which may have a record in the works (I8).
    RestUnawaited,
    /// A handler works on records of which the client does not know (I15).
    RecordsUncounted,
    /// A store that was put back keeps epochs as they are, so that those of the lost history are granted again (I2).
    EpochsTakenAgain,
    /// The store refuses another cluster id, so that nobody begins anew after it was put back (I4).
    SameHistory,
    /// Instances renew no session whose client leaves that to them (I4).
    RenewalsForgotten,
}

impl Hole {
    /// All of them.
    pub const ALL: [Self; 25] = [
        Self::AcksWithoutId,
        Self::UnfencedLeader,
        Self::ReleaseBeforeTaken,
        Self::CommandsLost,
        Self::UnreadableIsGone,
        Self::OwnerUnchecked,
        Self::ClaimsIgnored,
        Self::RouterAcksUndrained,
        Self::RouterNeverStops,
        Self::RoutersUnawaited,
        Self::EpochIgnored,
        Self::GateForgotten,
        Self::RefusalAnswered,
        Self::BrokenIsRefused,
        Self::DeafUnnoticed,
        Self::MarksKept,
        Self::TakenOverEarly,
        Self::EpochStays,
        Self::StartMoved,
        Self::HandoffsKept,
        Self::RestUnawaited,
        Self::RecordsUncounted,
        Self::EpochsTakenAgain,
        Self::SameHistory,
        Self::RenewalsForgotten,
    ];

    /// The name of the invariant that it breaks.
    #[must_use]
    pub const fn invariant(self) -> &'static str {
        match self {
            Self::ClaimsIgnored => "I1",
            Self::EpochStays | Self::EpochsTakenAgain => "I2",
            Self::StartMoved => "I3",
            Self::ReleaseBeforeTaken | Self::DeafUnnoticed | Self::RenewalsForgotten | Self::SameHistory => {
                "I4"
            }
            Self::RouterAcksUndrained
            | Self::RouterNeverStops
            | Self::EpochIgnored
            | Self::GateForgotten
            | Self::RefusalAnswered
            | Self::BrokenIsRefused => "I5",
            Self::HandoffsKept => "I6",
            Self::UnfencedLeader => "I7",
            Self::AcksWithoutId | Self::RoutersUnawaited | Self::RestUnawaited => "I8",
            Self::CommandsLost => "I9",
            Self::OwnerUnchecked => "I10",
            Self::UnreadableIsGone => "I11",
            Self::MarksKept | Self::TakenOverEarly => "I13",
            Self::RecordsUncounted => "I15",
        }
    }

    /// True if it can show in a world of that shape: where there are no routers nobody asks for anything.
    pub(crate) fn shows_in(self, shape: &Shape) -> bool {
        match self {
            Self::RouterAcksUndrained
            | Self::RouterNeverStops
            | Self::RoutersUnawaited
            | Self::EpochIgnored
            | Self::GateForgotten
            | Self::RefusalAnswered
            | Self::BrokenIsRefused
            | Self::RestUnawaited
            | Self::RecordsUncounted => shape.routers > 0,
            Self::EpochsTakenAgain | Self::SameHistory => !shape.situations.restores.is_empty(),
            Self::RenewalsForgotten => shape.situations.minimal > 0,
            _ => true,
        }
    }

    /// What the store makes of a transaction.
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
        let is_config = matches!(layout.decode(&record.key), Some(Key::GroupConfig));
        match decode::<GroupConfig>(&record.value) {
            Ok(config) if self == Self::TakenOverEarly && is_config => {
                Record { value: encode(&GroupConfig { takeover_after_ms: 1, ..config }), ..record }
            }
            _ => record,
        }
    }

    /// True if an instance gets to see `record`.
    pub(crate) fn shows(self, layout: &Layout, record: &Record) -> bool {
        self != Self::UnreadableIsGone || !is_unreadable_consumer(layout, record)
    }

    /// What an instance gets to see of a change.
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
