//! The part of one member's view that a change may concern.

use std::collections::BTreeSet;

use kafka_assigner_types::id::TopicPartition;

/// The most partitions that are named one by one. Some 20 KB for a member whose stream does not read; and a member
/// that is touched in more at once is about to be told much, beside which a look at everything it has is cheap.
const MOST_NAMED: usize = 512;

/// The part of a member's view that may differ. It may name too much and never too little: what is not in it is as it
/// was when it was last looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// These partitions; none, where nothing differs.
    Partitions(BTreeSet<TopicPartition>),
    /// All partitions that it has.
    Everything,
}

impl Default for Scope {
    fn default() -> Self {
        Self::Partitions(BTreeSet::new())
    }
}

impl Extend<TopicPartition> for Scope {
    fn extend<I: IntoIterator<Item = TopicPartition>>(&mut self, partitions: I) {
        for at in partitions {
            let Self::Partitions(named) = self else { return };
            named.insert(at);
            if named.len() > MOST_NAMED {
                *self = Self::Everything;
            }
        }
    }
}

impl Scope {
    /// Adds what `other` reaches. Past a bound it reaches everything.
    pub fn merge(&mut self, other: Self) {
        match other {
            Self::Partitions(named) => self.extend(named),
            Self::Everything => *self = Self::Everything,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_group::tp;

    fn first(count: u32) -> Scope {
        let mut scope = Scope::default();
        scope.extend((0..count).map(|number| tp("t", number)));
        scope
    }

    #[test]
    fn what_names_too_much_reaches_everything_and_stays_so() {
        let most = u32::try_from(MOST_NAMED).unwrap();
        assert!(matches!(first(most), Scope::Partitions(named) if named.len() == MOST_NAMED));
        let mut scope = first(most + 1);
        assert_eq!(scope, Scope::Everything);
        scope.merge(first(1));
        assert_eq!(scope, Scope::Everything);
    }

    #[test]
    fn merging_reaches_what_either_did() {
        let mut scope = first(2);
        scope.merge(first(3));
        assert_eq!(scope, first(3));
        scope.merge(Scope::Everything);
        assert_eq!(scope, Scope::Everything);
    }
}
