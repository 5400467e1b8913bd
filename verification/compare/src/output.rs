//! The answers of strategies, in names.

use std::sync::Arc;

use kafka_assigner_strategies::MemberIndex;

use crate::input::Input;

/// The partitions of each member; refers to the names of the input `'a`.
#[derive(Debug)]
pub(crate) struct Shares<'a>(Vec<Share<'a>>);

/// The partitions of one member.
#[derive(Debug)]
pub(crate) struct Share<'a> {
    pub(crate) member: &'a Arc<str>,
    /// The partitions that it has from now on.
    pub(crate) partitions: Vec<Partition<'a>>,
    /// The partitions that it is to have once their owners have let go of them, and that no member has until then.
    pub(crate) later: Vec<Partition<'a>>,
    /// The partitions that it is to hold as standby.
    pub(crate) standbys: Vec<Partition<'a>>,
}

/// A topic, and the number of one of its partitions.
pub(crate) type Partition<'a> = (&'a Arc<str>, u32);

impl<'a> Shares<'a> {
    /// Nothing yet, with room for as many partitions as `sizes` says by member, in the order of their ids.
    pub(crate) fn with_sizes(input: &'a Input, sizes: impl IntoIterator<Item = usize>) -> Self {
        let mut ids: Vec<_> = input.members.iter().map(|member| &member.id).collect();
        ids.sort_unstable();
        let share = |(member, size)| Share {
            member,
            partitions: Vec::with_capacity(size),
            later: Vec::new(),
            standbys: Vec::new(),
        };
        Self(ids.into_iter().zip(sizes).map(share).collect())
    }

    /// The share of the member that strategies, which number members in the order of their ids, call so.
    pub(crate) fn of(&mut self, member: MemberIndex) -> &mut Share<'a> {
        &mut self.0[member.index()]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Share<'a>> {
        self.0.iter()
    }
}
