//! What has been told already, by name: [`Directory`].

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{MemberSpec, Topic};

/// Something with a name that nothing else in its list has.
pub(crate) trait Named {
    fn name(&self) -> &Arc<str>;
}

impl Named for Topic {
    fn name(&self) -> &Arc<str> {
        &self.name
    }
}

impl Named for MemberSpec {
    fn name(&self) -> &Arc<str> {
        &self.id
    }
}

/// Where in a list that only grows a name is. As long as names come in order, which they do from whoever keeps them
/// sorted, nothing is hashed: that would take longer than all else there is to do for a member.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    /// From the first name on that did not come in order.
    by_hash: Option<FxHashMap<Arc<str>, usize>>,
}

impl Directory {
    /// The position of `name` in `list`, each of whose names was [added](Self::add).
    pub(crate) fn find<T: Named>(&self, list: &[T], name: &str) -> Option<usize> {
        if list.last().is_none_or(|last| **last.name() < *name) && self.by_hash.is_none() {
            return None;
        }
        match &self.by_hash {
            Some(by_hash) => by_hash.get(name).copied(),
            None => list.binary_search_by(|item| (**item.name()).cmp(name)).ok(),
        }
    }

    /// Notes `name`, which is not in `list` yet and comes next in it.
    pub(crate) fn add<T: Named>(&mut self, list: &[T], name: &Arc<str>) {
        if self.by_hash.is_none() && list.last().is_some_and(|last| **last.name() > **name) {
            self.by_hash = Some(list.iter().map(Named::name).cloned().zip(0..).collect());
        }
        if let Some(by_hash) = &mut self.by_hash {
            by_hash.insert(name.clone(), list.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(names: &[&str]) -> (Directory, Vec<MemberSpec>) {
        let (mut directory, mut list) = (Directory::default(), Vec::new());
        for name in names {
            let spec = MemberSpec::new(*name);
            directory.add(&list, &spec.id);
            list.push(spec);
        }
        (directory, list)
    }

    #[test]
    fn names_are_found_in_whatever_order_they_came() {
        for names in
            [&["a", "b", "d", "e"][..], &["b", "a", "e", "d"], &["a", "b", "e", "d"], &["e", "d", "b", "a"]]
        {
            let (directory, list) = told(names);
            for (at, name) in names.iter().enumerate() {
                assert_eq!(directory.find(&list, name), Some(at), "{name} of {names:?}");
            }
            for name in ["", "c", "f"] {
                assert_eq!(directory.find(&list, name), None, "{name} of {names:?}");
            }
        }
    }

    #[test]
    fn nothing_is_hashed_while_names_come_in_order() {
        assert!(told(&["a", "b", "c"]).0.by_hash.is_none());
        assert!(told(&["a", "c", "b"]).0.by_hash.is_some());
    }
}
