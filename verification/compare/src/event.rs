//! Events since members last got partitions.

use std::fmt;

use clap::ValueEnum;

/// The event before a strategy is asked. Before a join or a leave members own what the same strategy gave them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Event {
    /// Nobody owns anything yet.
    Fresh,
    /// The last member joined the others.
    Join,
    /// The member in the middle left.
    Leave,
    /// Nothing.
    Unchanged,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fresh => "fresh",
            Self::Join => "join",
            Self::Leave => "leave",
            Self::Unchanged => "unchanged",
        })
    }
}

impl Event {
    pub(crate) const ALL: [Self; 4] = [Self::Fresh, Self::Join, Self::Leave, Self::Unchanged];

    /// The numbers of the members before it, out of `members`; nobody where nobody ever got anything.
    pub(crate) fn before(self, members: usize) -> Vec<usize> {
        match self {
            Self::Fresh => Vec::new(),
            Self::Join => (0..members - 1).collect(),
            Self::Leave | Self::Unchanged => (0..members).collect(),
        }
    }

    /// The numbers of the members after it.
    pub(crate) fn after(self, members: usize) -> Vec<usize> {
        let left = (self == Self::Leave).then_some(members / 2);
        (0..members).filter(|member| Some(*member) != left).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_member_makes_the_difference() {
        let told = Event::ALL.map(|event| (event.before(4), event.after(4)));
        let [fresh, join, leave, unchanged] = told;
        assert_eq!(fresh, (vec![], vec![0, 1, 2, 3]));
        assert_eq!(join, (vec![0, 1, 2], vec![0, 1, 2, 3]));
        assert_eq!(leave, (vec![0, 1, 2, 3], vec![0, 1, 3]));
        assert_eq!(unchanged, (vec![0, 1, 2, 3], vec![0, 1, 2, 3]));
    }
}
