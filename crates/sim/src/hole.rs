//! Known holes that can be switched on, to prove that the checker sees what they break.
//!
//! None of them is in production code: each bends what a part of the simulation passes on to it.

use bytes::Bytes;
use kafka_assigner_core::key::{Key, Layout};
use kafka_assigner_core::kv::{Change, Must, Op, Record, Revision, Txn};
use kafka_assigner_core::record::{Consumer, HandoffRecord, Phase, Taken, decode, encode};

/// One hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Hole {
    /// The network takes the handoff ids out of acks, so they count for whichever handoff there is (I8).
    AcksWithoutId,
    /// The store forgets the leader's fence in every transaction (I7).
    UnfencedLeader,
    /// A completed handoff counts as taken at once, so the old owner stops before the new one works (I4).
    ReleaseBeforeTaken,
    /// An instance learns neither what a client has seen nor how new the store is, so a lagging one answers (I9).
    StaleSnapshot,
    /// Instances see a registration that can't be read as absent (I11).
    UnreadableIsGone,
    /// The store forgets that a new owner must be registered (I10).
    OwnerUnchecked,
    /// Every lease that a leader asks about is said to be gone, so nobody waits for a claim (I1).
    ClaimsIgnored,
}

impl Hole {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::AcksWithoutId,
        Self::UnfencedLeader,
        Self::ReleaseBeforeTaken,
        Self::StaleSnapshot,
        Self::UnreadableIsGone,
        Self::OwnerUnchecked,
        Self::ClaimsIgnored,
    ];

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
            Self::ReleaseBeforeTaken => txn.then.iter_mut().for_each(|op| take_at_once(layout, op)),
            Self::AcksWithoutId | Self::StaleSnapshot | Self::UnreadableIsGone | Self::ClaimsIgnored => {}
        }
        txn
    }

    /// The revision at which an instance believes to have read a record.
    pub(crate) fn date(self, revision: Revision) -> Revision {
        if self == Self::StaleSnapshot { Revision(1) } else { revision }
    }

    /// Whether an instance gets to see `record`.
    pub(crate) fn shows(self, layout: &Layout, record: &Record) -> bool {
        self != Self::UnreadableIsGone || !is_unreadable_consumer(layout, record)
    }

    /// What an instance gets to see of a change.
    pub(crate) fn show(self, layout: &Layout, change: Change) -> Change {
        match change {
            Change::Put(record) if !self.shows(layout, &record) => {
                Change::Delete { key: record.key, revision: record.mod_revision }
            }
            other => other,
        }
    }
}

fn is_unreadable_consumer(layout: &Layout, record: &Record) -> bool {
    matches!(layout.decode(&record.key), Some(Key::Consumer(_))) && decode::<Consumer>(&record.value).is_err()
}

fn take_at_once(layout: &Layout, op: &mut Op) {
    let Op::Put { key, value, .. } = op else { return };
    if let Some(taken) = taken(layout, key, value) {
        *value = taken;
    }
}

fn taken(layout: &Layout, key: &Bytes, value: &Bytes) -> Option<Bytes> {
    let Some(Key::Handoff(_)) = layout.decode(key) else { return None };
    let Ok(HandoffRecord::Lead(mut handoff)) = decode::<HandoffRecord>(value) else { return None };
    let opens = handoff.phase == Phase::Complete && handoff.taken.is_none();
    handoff.taken = Some(Taken::default());
    opens.then(|| encode(&HandoffRecord::Lead(handoff)))
}
