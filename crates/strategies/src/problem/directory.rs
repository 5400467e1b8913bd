//! Names that are known already: [`Directory`].

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{ProblemMember, ProblemTopic};

/// Something with a name that nothing else in its list has.
pub(crate) trait Named {
    fn name(&self) -> &Arc<str>;
}

impl Named for ProblemTopic {
    fn name(&self) -> &Arc<str> {
        &self.name
    }
}

impl Named for ProblemMember {
    fn name(&self) -> &Arc<str> {
        &self.id
    }
}

/// Positions of names in a list that only grows. As long as names come in order, as they do from callers that keep them
/// sorted, nothing is hashed: that would take longer than all else there is to do for a member.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    /// From the first name on that did not come in order.
    by_hash: Option<FxHashMap<Arc<str>, usize>>,
}

impl Directory {
    /// The position of `name` in `list`, each of whose names was [admitted](Self::admit).
    pub(crate) fn find<T: Named>(&self, list: &[T], name: &str) -> Option<usize> {
        if list.last().is_none_or(|last| **last.name() < *name) && self.by_hash.is_none() {
            return None;
        }
        match &self.by_hash {
            Some(by_hash) => by_hash.get(name).copied(),
            None => list.binary_search_by(|item| (**item.name()).cmp(name)).ok(),
        }
    }

    /// Notes `name`, which comes next in `list`, unless it is in it already: then the error is where.
    #[inline]
    pub(crate) fn admit<T: Named>(&mut self, list: &[T], name: &Arc<str>) -> Result<(), usize> {
        if self.by_hash.is_none() && list.last().is_none_or(|last| **last.name() < **name) {
            return Ok(());
        }
        if let Some(known) = self.find(list, name) {
            return Err(known);
        }
        let by_hash =
            self.by_hash.get_or_insert_with(|| list.iter().map(Named::name).cloned().zip(0..).collect());
        by_hash.insert(name.clone(), list.len());
        Ok(())
    }

    /// True if all names came in order.
    pub(crate) fn is_sorted(&self) -> bool {
        self.by_hash.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(names: &[&str]) -> (Directory, Vec<ProblemTopic>) {
        let (mut directory, mut list) = (Directory::default(), Vec::new());
        for name in names {
            let topic = ProblemTopic { name: (*name).into(), partitions: 1, standbys: 0 };
            assert_eq!(directory.admit(&list, &topic.name), Ok(()));
            list.push(topic);
        }
        (directory, list)
    }

    #[test]
    fn names_are_found_in_whatever_order_they_came() {
        for names in
            [&["a", "b", "d", "e"][..], &["b", "a", "e", "d"], &["a", "b", "e", "d"], &["e", "d", "b", "a"]]
        {
            let (mut directory, list) = told(names);
            for (at, name) in names.iter().enumerate() {
                assert_eq!(directory.admit(&list, &(*name).into()), Err(at), "{name} of {names:?}");
                assert_eq!(directory.find(&list, name), Some(at), "{name} of {names:?}");
            }
            for name in ["", "c", "f"] {
                assert_eq!(directory.find(&list, name), None, "{name} of {names:?}");
            }
        }
    }

    #[test]
    fn nothing_is_hashed_while_names_come_in_order() {
        assert!(told(&["a", "b", "c"]).0.is_sorted());
        assert!(!told(&["a", "c", "b"]).0.is_sorted());
    }
}
