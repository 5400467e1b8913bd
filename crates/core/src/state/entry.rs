//! One record in the state: readable, or known to be there and no more.

use std::ops::Deref;

use serde::de::DeserializeOwned;

use super::SharedMap;
use crate::record::{Unreadable, decode};
use kafka_assigner_types::kv::{LeaseId, Record, Revision};

/// A record that can be read, with what the store knows about it. It reads as its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Versioned<T> {
    value: T,
    /// The revision of its last change.
    pub mod_revision: Revision,
    /// The revision in which its key came into being.
    pub create_revision: Revision,
    /// The lease it hangs on.
    pub lease: LeaseId,
}

impl<T> Deref for Versioned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A record whose value can't be understood now.
#[derive(Debug, Clone, PartialEq)]
pub struct Broken<T> {
    error: String,
    mod_revision: Revision,
    last_good: Option<T>,
}

/// A record that exists, readable or not.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry<T> {
    /// Its value is understood.
    Readable(Versioned<T>),
    /// It is there, and what it says is unknown.
    Unreadable(Broken<T>),
}

impl<T> Entry<T> {
    /// The value as it was last readable.
    pub const fn last_good(&self) -> Option<&T> {
        match self {
            Self::Readable(versioned) => Some(&versioned.value),
            Self::Unreadable(broken) => broken.last_good.as_ref(),
        }
    }

    /// The record, where it can be read now.
    pub const fn readable(&self) -> Option<&Versioned<T>> {
        match self {
            Self::Readable(versioned) => Some(versioned),
            Self::Unreadable(_) => None,
        }
    }

    /// The error, where it can't be read.
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Readable(_) => None,
            Self::Unreadable(broken) => Some(&broken.error),
        }
    }

    /// The revision of its last change.
    pub const fn mod_revision(&self) -> Revision {
        match self {
            Self::Readable(versioned) => versioned.mod_revision,
            Self::Unreadable(broken) => broken.mod_revision,
        }
    }

    fn into_last_good(self) -> Option<T> {
        match self {
            Self::Readable(versioned) => Some(versioned.value),
            Self::Unreadable(broken) => broken.last_good,
        }
    }
}

impl<T: DeserializeOwned> Entry<T> {
    /// Reads `record` by `understand`; what can't be understood keeps the value that `before` had.
    fn read(
        record: &Record,
        before: Option<Self>,
        understand: impl FnOnce(&Record) -> Result<T, Unreadable>,
    ) -> Self {
        match understand(record) {
            Ok(value) => Self::Readable(Versioned {
                value,
                mod_revision: record.mod_revision,
                create_revision: record.create_revision,
                lease: record.lease,
            }),
            Err(error) => Self::Unreadable(Broken {
                error: error.to_string(),
                mod_revision: record.mod_revision,
                last_good: before.and_then(Self::into_last_good),
            }),
        }
    }
}

fn by_itself<T: DeserializeOwned>(record: &Record) -> Result<T, Unreadable> {
    decode(&record.value)
}

/// Puts a record into a map of entries, or takes it out.
pub(super) fn set<K: Ord + Clone, T: DeserializeOwned + Clone>(
    entries: &mut SharedMap<K, Entry<T>>,
    key: K,
    record: Option<&Record>,
) {
    set_by(entries, key, record, by_itself);
}

/// [`set`] for records that can only be understood together with where they lie.
pub(super) fn set_by<K: Ord + Clone, T: DeserializeOwned + Clone>(
    entries: &mut SharedMap<K, Entry<T>>,
    key: K,
    record: Option<&Record>,
    understand: impl FnOnce(&Record) -> Result<T, Unreadable>,
) {
    let before = entries.remove(&key);
    if let Some(record) = record {
        entries.insert(key, Entry::read(record, before, understand));
    }
}

/// Puts a record into the place for one, or takes it out.
pub(super) fn set_one<T: DeserializeOwned>(entry: &mut Option<Entry<T>>, record: Option<&Record>) {
    let before = entry.take();
    *entry = record.map(|record| Entry::read(record, before, by_itself));
}
