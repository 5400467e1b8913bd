//! Lists in pages.

use std::ops::Bound;

use kafka_assigner_types::id::TopicPartition;
use prost::Message;
use tonic::Status;

use crate::refusal;

/// The size of a page where the request does not say.
const DEFAULT: usize = 1_000;

/// The most entries of a page, and of each list in an answer without pages.
pub(super) const MOST: usize = 10_000;

/// The most bytes of one list, unless its first entry alone is larger: two of them stay below gRPC's usual 4 MiB.
const MOST_BYTES: usize = 3 * 512 * 1024;

/// The longest token: a topic's longest name with the largest partition number.
const MOST_TOKEN: usize = 300;

/// The page that a request asks for. A token is the name of the last entry before the page.
#[derive(Debug)]
pub(super) struct PageRequest {
    size: usize,
    after: String,
}

/// Entries of a page with what they are called in tokens.
pub(super) type NamedEntry<T> = (String, T);

impl PageRequest {
    pub(super) fn new(size: u32, token: String) -> Result<Self, Status> {
        if token.len() > MOST_TOKEN {
            return Err(refusal::field("page_token is not one that this service gave"));
        }
        let size = match size {
            0 => DEFAULT,
            size => usize::try_from(size).unwrap_or(MOST).min(MOST),
        };
        Ok(Self { size, after: token })
    }

    /// The page of a list in the order of its names.
    pub(super) fn bounds(&self) -> (Bound<&str>, Bound<&str>) {
        let start = if self.after.is_empty() { Bound::Unbounded } else { Bound::Excluded(&*self.after) };
        (start, Bound::Unbounded)
    }

    /// The number of entries that tell the page and whether there is a next one.
    pub(super) const fn reach(&self) -> usize {
        self.size + 1
    }

    /// The page of a list of partitions.
    pub(super) fn partitions(&self) -> Result<Option<TopicPartition>, Status> {
        if self.after.is_empty() {
            return Ok(None);
        }
        let last = self.after.rsplit_once('/').and_then(|(topic, number)| {
            Some(TopicPartition::new(topic.parse().ok()?, number.parse::<u32>().ok()?.checked_add(1)?))
        });
        last.map(Some).ok_or_else(|| refusal::field("page_token is not one that this service gave"))
    }

    /// The page of `entries`, which begin after the token, and the token of the next one. A page ends early where its
    /// entries are large.
    pub(super) fn cut<T: Message>(&self, entries: impl Iterator<Item = NamedEntry<T>>) -> (Vec<T>, String) {
        let mut entries = entries.peekable();
        let mut room = Room::default();
        let (mut page, mut last) = (Vec::new(), String::new());
        while page.len() < self.size
            && let Some((name, entry)) = entries.next_if(|(_, entry)| room.takes(entry))
        {
            page.push(entry);
            last = name;
        }
        let next = if entries.peek().is_some() { last } else { String::new() };
        (page, next)
    }
}

/// The first of `entries` that fit into one answer.
pub(super) fn fitting<T: Message>(entries: impl Iterator<Item = T>) -> Vec<T> {
    let mut room = Room::default();
    entries.take(MOST).take_while(|entry| room.takes(entry)).collect()
}

/// The bytes of a list so far.
#[derive(Default)]
struct Room {
    used: usize,
}

impl Room {
    /// True if `entry` still fits; the first one always does, or a list would never get past it.
    fn takes(&mut self, entry: &impl Message) -> bool {
        let is_first = self.used == 0;
        // A tag and a length precede each entry.
        self.used += entry.encoded_len() + 6;
        is_first || self.used <= MOST_BYTES
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn page(size: u32, token: &str) -> (Vec<u32>, String) {
        let page = PageRequest::new(size, token.to_owned()).unwrap();
        let names: BTreeMap<String, u32> = (0..5).map(|number| (format!("n{number}"), number)).collect();
        let after = names.range::<str, _>(page.bounds());
        page.cut(after.map(|(name, number)| (name.clone(), *number)))
    }

    #[test]
    fn pages_follow_each_other_until_an_empty_token() {
        assert_eq!(page(2, ""), (vec![0, 1], "n1".to_owned()));
        assert_eq!(page(2, "n1"), (vec![2, 3], "n3".to_owned()));
        assert_eq!(page(2, "n3"), (vec![4], String::new()));
        assert_eq!(page(5, ""), (vec![0, 1, 2, 3, 4], String::new()));
    }

    #[test]
    fn a_page_of_large_entries_ends_early_and_the_next_goes_on_there() {
        let large = "x".repeat(MOST_BYTES / 2);
        let entries = || ["a", "b", "c"].iter().map(|name| ((*name).to_owned(), large.clone()));
        let page = |token: &str| PageRequest::new(3, token.to_owned()).unwrap();
        let (first, next) = page("").cut(entries());
        assert_eq!((first.len(), &*next), (1, "a"));
        let (last, next) = page("b").cut(entries().skip(2));
        assert_eq!((last.len(), &*next), (1, ""));
        assert_eq!(fitting(entries().map(|(_, entry)| entry)).len(), 1);
    }

    #[test]
    fn a_page_is_never_larger_than_the_most() {
        assert_eq!(PageRequest::new(u32::MAX, String::new()).unwrap().size, MOST);
        assert_eq!(PageRequest::new(0, String::new()).unwrap().size, DEFAULT);
    }

    #[test]
    fn a_foreign_token_is_refused() {
        for token in ["t", "t/x", "/1", &"x".repeat(301)] {
            let refused = PageRequest::new(1, token.to_owned()).and_then(|page| page.partitions());
            assert_eq!(refused.unwrap_err().code(), tonic::Code::InvalidArgument, "{token}");
        }
    }
}
