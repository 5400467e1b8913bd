//! The partitions of a member.

/// Partitions by topic, as they are in requests, in Kafka's own maps and in what this project's command line reads. In
/// flat lists, so that it takes two allocations and not one for each topic. A topic is told by its place in the list of
/// all topics, which takes as much room as a reference to an object in Java.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Holdings {
    /// The places of topics, each with where in `partitions` its end.
    topics: Vec<(u32, u32)>,
    partitions: Vec<u32>,
}

impl Holdings {
    /// Adds a partition; those of a topic that come one after the other are told together.
    pub(crate) fn push(&mut self, topic: u32, partition: u32) {
        self.partitions.push(partition);
        let end = u32::try_from(self.partitions.len()).expect("partitions are counted in u32");
        match self.topics.last_mut().filter(|(last, _)| *last == topic) {
            Some((_, last_end)) => *last_end = end,
            None => self.topics.push((topic, end)),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.partitions.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.partitions.is_empty()
    }

    /// Topic by topic.
    pub(crate) fn by_topic(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let mut start = 0;
        self.topics.iter().map(move |(topic, end)| {
            let partitions = &self.partitions[start as usize..*end as usize];
            start = *end;
            (*topic, partitions)
        })
    }

    /// Partition by partition.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.by_topic().flat_map(|(topic, partitions)| partitions.iter().map(move |at| (topic, *at)))
    }
}

impl FromIterator<(u32, u32)> for Holdings {
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(partitions: I) -> Self {
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
        let told = [(0, 3), (0, 1), (1, 0), (0, 2)];
        let holdings: Holdings = told.into_iter().collect();
        assert_eq!(holdings.by_topic().collect::<Vec<_>>(), [(0, &[3, 1][..]), (1, &[0]), (0, &[2])]);
        assert_eq!(holdings.iter().collect::<Vec<_>>(), told);
        assert_eq!((holdings.len(), holdings.is_empty()), (4, false));
        assert!(Holdings::default().is_empty());
    }
}
