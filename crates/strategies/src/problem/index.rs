//! The small numbers that stand for names inside a [`Problem`](crate::Problem).

use std::fmt;
use std::num::NonZeroU32;

/// Declares a dense index. It is stored plus one, so that `Option` of it needs no room of its own:
/// a placement of a million units takes four megabytes.
macro_rules! dense_index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The index that stands for position `index`, counted from zero.
            ///
            /// # Panics
            ///
            /// If `index` is `u32::MAX` or more; no valid problem has that many of anything.
            #[inline]
            pub fn new(index: usize) -> Self {
                let stored = u32::try_from(index).ok().and_then(|i| NonZeroU32::MIN.checked_add(i));
                Self(stored.expect("a problem has fewer than u32::MAX of anything"))
            }

            /// The position it stands for, counted from zero.
            #[inline]
            pub fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.index())
            }
        }
    };
}

dense_index! {
    /// A topic of a [`Problem`](crate::Problem); ascending in the order of the topics' names.
    TopicIndex
}

dense_index! {
    /// A member of a [`Problem`](crate::Problem); ascending in the order of the members' ids.
    MemberIndex
}

impl MemberIndex {
    /// A number that stands for nothing else: zero for no member.
    pub(crate) fn bits(member: Option<Self>) -> u32 {
        member.map_or(0, |member| member.0.get())
    }

    /// The member that was told as `handle`, where all were told in the order of their ids.
    pub(crate) fn told_in_order(handle: MemberHandle) -> Self {
        Self(handle.0)
    }
}

dense_index! {
    /// A unit of a [`Problem`](crate::Problem): topic after topic, and within one by partition.
    UnitIndex
}

dense_index! {
    /// A rack of a [`Problem`](crate::Problem); ascending in the order of the racks' names.
    RackIndex
}

dense_index! {
    /// A topic as a [`ProblemBuilder`](crate::ProblemBuilder) knows it: numbered as they came.
    TopicHandle
}

dense_index! {
    /// A member as a [`ProblemBuilder`](crate::ProblemBuilder) knows it: numbered as they came.
    MemberHandle
}

dense_index! {
    /// A rack as a [`ProblemBuilder`](crate::ProblemBuilder) knows it: numbered as they came.
    RackHandle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_optional_index_is_as_small_as_a_number() {
        assert_eq!(size_of::<Option<MemberIndex>>(), 4);
    }

    #[test]
    fn an_index_stands_for_its_position() {
        assert_eq!(UnitIndex::new(0).index(), 0);
        assert_eq!(format!("{:?}", UnitIndex::new(7)), "UnitIndex(7)");
        assert!(TopicIndex::new(1) < TopicIndex::new(2));
    }
}
