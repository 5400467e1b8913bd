//! The commit of what is done, before a join.
//!
//! Between a join and the plan that follows brokers take no commits, for as long as the slowest member needs. A member that
//! ends meanwhile could not commit what it has done by then: so that is committed before.

use std::time::Duration;

use kafka_assigner_types::moment::Moment;

use super::{ClassicCommand, ClassicMember};

/// The longest time that a join waits for it. The group waits for the join, so this is short; one try takes far less.
const LONGEST: Duration = Duration::from_secs(5);

/// The commit that a join waits for.
#[derive(Debug, Clone, Copy)]
pub(super) enum LastCommit {
    /// It is under way; the join goes out at this moment, whatever has become of it.
    Until(Moment),
    /// It is made.
    Made,
}

impl LastCommit {
    pub(super) const fn next_step(self) -> Option<Moment> {
        match self {
            Self::Until(end) => Some(end),
            Self::Made => None,
        }
    }
}

impl ClassicMember {
    /// True where what is done is committed, can't be committed, or took too long. Asks for the commit otherwise.
    pub(super) fn has_flushed(&mut self, now: Moment) -> bool {
        if self.commits_as().is_none() || self.owned.partitions.is_empty() {
            return true;
        }
        match self.flush {
            Some(LastCommit::Made) => true,
            Some(LastCommit::Until(end)) => end <= now,
            None => {
                self.flush = Some(LastCommit::Until(now + LONGEST));
                self.commands.push(ClassicCommand::Flush);
                false
            }
        }
    }

    pub(super) const fn flushed(&mut self) {
        if self.flush.is_some() {
            self.flush = Some(LastCommit::Made);
        }
    }
}
