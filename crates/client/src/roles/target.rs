//! What the service wants this member to be for a partition.

use kafka_assigner_proto::v1;
use tracing::error;

/// The role that the service gave this member for one partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Target {
    /// No role.
    #[default]
    None,
    /// Prepare to own it.
    Warming(Warming),
    /// Be about to own it: take its fences, and read what is left.
    CatchingUp(Reserved),
    /// Own it.
    Owner(Grant),
    /// Stop, say where, and keep the state for now.
    Draining(Draining),
    /// Give it up.
    Releasing(Leave),
}

/// A preparation that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warming {
    /// The handoff that it is for.
    pub handoff_id: String,
    /// Who owns the partition now; `None` = nobody.
    pub current_owner: Option<String>,
}

/// A partition that is kept for this member until it has caught up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserved {
    /// The handoff that it is for.
    pub handoff_id: String,
    /// The epoch that is reserved.
    pub epoch: u64,
    /// Where the old owner stopped; `None` = it did not say.
    pub until_offset: Option<i64>,
}

/// A grant of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The fencing token.
    pub epoch: u64,
    /// The epoch of the first grant of this unbroken run.
    pub run: u64,
    /// Where to start reading; `None` = at the committed offset. Only for one who has started no epoch of the run.
    pub start_offset: Option<i64>,
    /// Whether the mode promises one owner at a time: such an owner stops by its own clock.
    pub strict: bool,
    /// The handoff whose `PartitionTaken` the service waits for; `None` = it does not wait.
    pub taken_for: Option<String>,
    /// The handoff whose preparation counts for this grant; `None` = only one made for the run itself counts.
    pub prepared_by: Option<String>,
}

/// A partition to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draining {
    /// The handoff to acknowledge.
    pub handoff_id: String,
    /// The epoch of the first grant of its run.
    pub run: u64,
    /// Where its grant told it to start: what a member answers that has started no epoch of the run.
    pub start_offset: Option<i64>,
}

/// A partition to give up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leave {
    /// The handoff to acknowledge; `None` = leave without telling (a local stop).
    pub handoff_id: Option<String>,
    /// Who owns it now; `None` = not known.
    pub new_owner: Option<String>,
}

/// What a preparation was made for, so that a stale one is never used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provenance {
    /// For a handoff.
    Handoff(String),
    /// For a direct grant: the epoch of the run's first grant.
    Run(u64),
}

impl Grant {
    /// Whether a preparation made for `provenance` may be used for this grant.
    pub(crate) fn accepts(&self, provenance: &Provenance) -> bool {
        match provenance {
            Provenance::Handoff(id) => self.prepared_by.as_ref() == Some(id),
            Provenance::Run(run) => *run == self.run,
        }
    }

    /// What a preparation that is begun for this grant is for.
    pub(crate) fn provenance(&self) -> Provenance {
        self.prepared_by.clone().map_or(Provenance::Run(self.run), Provenance::Handoff)
    }

    /// Carries over, from the target before, which preparation counts.
    ///
    /// A member that is granted a partition while it prepares for it keeps its preparation, even when the
    /// handoff is gone because the old owner died. Only a change on an unbroken stream shows that; after a
    /// snapshot, handoffs in between may have been missed, and only the handoff's own id counts.
    pub(crate) fn follow(&mut self, before: &Target, unbroken: bool) {
        if self.prepared_by.is_some() {
            return;
        }
        self.prepared_by = match before {
            Target::Warming(Warming { handoff_id, .. }) | Target::CatchingUp(Reserved { handoff_id, .. })
                if unbroken =>
            {
                Some(handoff_id.clone())
            }
            Target::Owner(grant) if grant.run == self.run => grant.prepared_by.clone(),
            _ => None,
        };
    }
}

impl From<v1::AssignedPartition> for Grant {
    fn from(wire: v1::AssignedPartition) -> Self {
        let strict = wire.mode() != v1::Mode::Overlap;
        let handoff = non_empty(wire.handoff_id);
        Self {
            strict,
            epoch: wire.epoch,
            run: wire.run,
            start_offset: known("start_offset", wire.start_offset),
            taken_for: handoff.clone(),
            prepared_by: handoff,
        }
    }
}

impl From<v1::WarmPartition> for Warming {
    fn from(wire: v1::WarmPartition) -> Self {
        Self { handoff_id: wire.handoff_id, current_owner: non_empty(wire.current_owner) }
    }
}

impl From<v1::CatchUpPartition> for Reserved {
    fn from(wire: v1::CatchUpPartition) -> Self {
        Self {
            handoff_id: wire.handoff_id,
            epoch: wire.epoch,
            until_offset: known("until_offset", wire.until_offset),
        }
    }
}

impl From<v1::DrainPartition> for Draining {
    fn from(wire: v1::DrainPartition) -> Self {
        Self {
            handoff_id: wire.handoff_id,
            run: wire.run,
            start_offset: known("start_offset", wire.start_offset),
        }
    }
}

impl From<v1::ReleasePartition> for Leave {
    fn from(wire: v1::ReleasePartition) -> Self {
        Self { handoff_id: non_empty(wire.handoff_id), new_owner: non_empty(wire.new_owner) }
    }
}

/// An offset of the service; a negative one counts as not known, so that the committed offset counts. It can't be refused:
/// the partition would have no owner.
fn known(field: &str, offset: Option<i64>) -> Option<i64> {
    let known = offset.filter(|offset| *offset >= 0);
    if known != offset {
        error!(field, offset, "an offset of the service is negative, and counts as not known");
    }
    known
}

fn non_empty(text: String) -> Option<String> {
    if text.is_empty() { None } else { Some(text) }
}
