//! The partitions of a member, in names.

use std::sync::Arc;

/// Partitions by topic, as they are in requests, in Kafka's own maps and in what this project's command line reads. In
/// flat lists, so that it takes two allocations and not one for each topic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Holdings {
    /// The topics, each with where in `partitions` its end.
    topics: Vec<(Arc<str>, usize)>,
    partitions: Vec<u32>,
}

impl Holdings {
    /// Adds a partition; those of a topic that come one after the other are told together.
    pub(crate) fn push(&mut self, topic: &Arc<str>, partition: u32) {
        self.partitions.push(partition);
        let end = self.partitions.len();
        match self.topics.last_mut().filter(|(last, _)| Arc::ptr_eq(last, topic)) {
            Some((_, last_end)) => *last_end = end,
            None => self.topics.push((topic.clone(), end)),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.partitions.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.partitions.is_empty()
    }

    /// Topic by topic.
    pub(crate) fn by_topic(&self) -> impl Iterator<Item = (&Arc<str>, &[u32])> {
        let mut start = 0;
        self.topics.iter().map(move |(topic, end)| {
            let partitions = &self.partitions[start..*end];
            start = *end;
            (topic, partitions)
        })
    }

    /// Partition by partition.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, u32)> {
        self.by_topic().flat_map(|(topic, partitions)| partitions.iter().map(move |at| (topic, *at)))
    }
}

impl<'a> FromIterator<(&'a Arc<str>, u32)> for Holdings {
    fn from_iter<I: IntoIterator<Item = (&'a Arc<str>, u32)>>(partitions: I) -> Self {
        let mut holdings = Self::default();
        partitions.into_iter().for_each(|(topic, partition)| holdings.push(topic, partition));
        holdings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_comes_back_topic_by_topic() {
        let (t, u): (Arc<str>, Arc<str>) = ("t".into(), "u".into());
        let told = [(&t, 3), (&t, 1), (&u, 0), (&t, 2)];
        let holdings: Holdings = told.into_iter().collect();
        assert_eq!(holdings.by_topic().collect::<Vec<_>>(), [(&t, &[3, 1][..]), (&u, &[0]), (&t, &[2])]);
        assert_eq!(holdings.iter().collect::<Vec<_>>(), told);
        assert_eq!((holdings.len(), holdings.is_empty()), (4, false));
        assert!(Holdings::default().is_empty());
    }
}
