//! Members, the owners of partitions.

use std::sync::Arc;

use crate::{Capacity, RackHandle, RackIndex, TopicHandle, TopicIndex};

/// The topics that a member is willing to own partitions of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subscription<T> {
    /// Every topic of the problem.
    All,
    /// These topics. In a [`Problem`](crate::Problem) they are sorted and distinct, and never all
    /// there are (that is [`All`](Self::All)); in a [`MemberSpec`] any order will do. Clones share the list, and
    /// what many members share is looked at once.
    Topics(Arc<[T]>),
}

impl<T> FromIterator<T> for Subscription<T> {
    /// The subscription to these topics.
    fn from_iter<I: IntoIterator<Item = T>>(topics: I) -> Self {
        Self::Topics(topics.into_iter().collect())
    }
}

impl Subscription<TopicIndex> {
    /// The subscription to `sorted` topics of `all` there are.
    pub(super) fn of(sorted: Vec<TopicIndex>, all: usize) -> Self {
        if sorted.len() == all { Self::All } else { Self::Topics(sorted.into()) }
    }
}

/// The member's present dealing with partitions: it takes, keeps or gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemberState {
    /// Takes and gives.
    #[default]
    Active,
    /// Keeps what it has and may own, even above its limit, and takes nothing.
    Hold,
    /// Gives everything that another member can take, and takes nothing.
    Draining,
}

/// A member of a [`Problem`](crate::Problem): a consumer, seen by a strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemMember {
    /// The id; unique within a problem.
    pub id: Arc<str>,
    /// The topics it is willing to own partitions of.
    pub subscription: Subscription<TopicIndex>,
    /// The most units it should own; `None` means no limit, zero that it wants none. A unit that
    /// no other member can take stays with its owner even above the limit.
    pub max_partitions: Option<u32>,
    /// Its present dealing with partitions: it takes, keeps or gives them.
    pub state: MemberState,
    /// Its strength compared with the others.
    pub capacity: Capacity,
    /// Its rack, if that is known.
    pub rack: Option<RackIndex>,
    /// The rank of its deployment by age: members with the same label have the same number, newer ones a larger one,
    /// and those without a label zero.
    pub generation: u32,
}

impl ProblemMember {
    /// The most units it should own: [`max_partitions`](Self::max_partitions), or any number.
    pub(crate) fn limit(&self) -> u32 {
        self.max_partitions.unwrap_or(u32::MAX)
    }

    /// The most units it may come to own: [`max_partitions`](Self::max_partitions) while it is
    /// active, otherwise none.
    pub(crate) fn room(&self) -> u32 {
        match self.state {
            MemberState::Active => self.limit(),
            MemberState::Hold | MemberState::Draining => 0,
        }
    }
}

/// A member as a [`ProblemBuilder`](crate::ProblemBuilder) is told of it.
///
/// ```
/// use kafka_assigner_strategies::{MemberSpec, MemberState};
///
/// let spec = MemberSpec { state: MemberState::Draining, ..MemberSpec::new("consumer-7") };
/// assert_eq!(spec.max_partitions, None);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MemberSpec {
    /// The id; unique within a problem.
    pub id: Arc<str>,
    /// The topics it is willing to own partitions of;
    /// [`ProblemBuilder::subscription`](crate::ProblemBuilder::subscription) makes one of names.
    pub subscription: Subscription<TopicHandle>,
    /// The most units it should own; `None` means no limit.
    pub max_partitions: Option<u32>,
    /// Its present dealing with partitions: it takes, keeps or gives them.
    pub state: MemberState,
    /// Its strength compared with the others; 1 by default. From [`Capacity::MIN`] to [`Capacity::MAX`].
    pub capacity: f64,
    /// Its rack; `None`, the default, if that is unknown.
    pub rack: Option<RackHandle>,
    /// A label of its deployment, such as a version; `None` by default. Labels are ordered as people
    /// count: `v9` is older than `v10`, and no label is oldest.
    pub generation: Option<Arc<str>>,
}

impl MemberSpec {
    /// An active member without a limit that is subscribed to every topic.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self {
            id: id.into(),
            subscription: Subscription::All,
            max_partitions: None,
            state: MemberState::Active,
            capacity: 1.0,
            rack: None,
            generation: None,
        }
    }
}
