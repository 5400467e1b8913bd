//! The file under a store: its whole state as tables, brought up to date by one fsynced write after another.
//!
//! The file keeps the state and not the changes that led to it: it needs no compaction, and stays
//! within a small multiple of what the store holds.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_types::kv::{Change, Lease, LeaseId, Record, Revision};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};

use super::engine::{Effect, Seed};

/// Key to create revision, mod revision, lease and value.
const RECORDS: TableDefinition<&[u8], (u64, u64, i64, &[u8])> = TableDefinition::new("records");

/// Lease to time to live in nanoseconds.
const LEASES: TableDefinition<i64, u64> = TableDefinition::new("leases");

/// Single numbers by name.
const NUMBERS: TableDefinition<&str, u64> = TableDefinition::new("numbers");

/// The tables' layout. Another one needs another number, and a step that leads there.
const FORMAT: u64 = 1;

/// The file is only written while the store is open; the engine holds everything that is read.
const CACHE_BYTES: usize = 16 << 20;

/// Numbers that every write brings along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) revision: Revision,
    pub(crate) next_lease: i64,
}

/// An open file; nobody else can open it meanwhile.
#[derive(Debug)]
pub(crate) struct StateFile {
    database: Database,
}

/// The reasons for which a file can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("it is in use by another process, or opened twice in this one")]
    InUse,
    #[error("it has format {found}, and this version reads format {FORMAT}")]
    Format { found: u64 },
    #[error(transparent)]
    Broken(#[from] redb::Error),
}

impl StateFile {
    /// Opens or creates the file, and reads what it holds. Blocks.
    pub(crate) fn open(path: &Path) -> Result<(Self, Seed), OpenError> {
        let database = Database::builder().set_cache_size(CACHE_BYTES).create(path);
        let database = database.map_err(|error| match error {
            redb::DatabaseError::DatabaseAlreadyOpen => OpenError::InUse,
            other => OpenError::Broken(other.into()),
        })?;
        Self::on(database)
    }

    /// Uses an open database.
    pub(crate) fn on(database: Database) -> Result<(Self, Seed), OpenError> {
        lay_out(&database)?;
        let seed = read(&database)?;
        Ok((Self { database }, seed))
    }

    /// Writes effects in their order, and returns once they are safe. Blocks.
    pub(crate) fn write(&self, effects: &[Effect], mark: Mark) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        apply(&transaction, effects)?;
        set_mark(&transaction, mark)?;
        Ok(transaction.commit()?)
    }
}

/// Creates what is missing in a new file, and refuses a file of another format.
fn lay_out(database: &Database) -> Result<(), OpenError> {
    let lay_out = || -> Result<u64, redb::Error> {
        let transaction = database.begin_write()?;
        transaction.open_table(RECORDS)?;
        transaction.open_table(LEASES)?;
        let format = {
            let mut numbers = transaction.open_table(NUMBERS)?;
            let found = numbers.get("format")?.map(|found| found.value());
            numbers.insert("format", found.unwrap_or(FORMAT))?;
            found.unwrap_or(FORMAT)
        };
        transaction.commit()?;
        Ok(format)
    };
    match lay_out()? {
        FORMAT => Ok(()),
        found => Err(OpenError::Format { found }),
    }
}

fn read(database: &Database) -> Result<Seed, redb::Error> {
    let transaction = database.begin_read()?;
    let numbers = transaction.open_table(NUMBERS)?;
    let number = |name| -> Result<u64, redb::Error> { Ok(numbers.get(name)?.map_or(0, |it| it.value())) };
    let mut seed = Seed {
        revision: Revision(number("revision")?),
        next_lease: number("next_lease")?.cast_signed(),
        ..Seed::default()
    };
    for entry in transaction.open_table(LEASES)?.iter()? {
        let (id, ttl) = entry?;
        seed.leases.push(Lease { id: LeaseId(id.value()), ttl: Duration::from_nanos(ttl.value()) });
    }
    for entry in transaction.open_table(RECORDS)?.iter()? {
        let (key, value) = entry?;
        seed.records.push(record(key.value(), value.value()));
    }
    Ok(seed)
}

fn record(key: &[u8], (create, modified, lease, value): (u64, u64, i64, &[u8])) -> Record {
    Record {
        key: Bytes::copy_from_slice(key),
        value: Bytes::copy_from_slice(value),
        create_revision: Revision(create),
        mod_revision: Revision(modified),
        lease: LeaseId(lease),
    }
}

fn apply(transaction: &WriteTransaction, effects: &[Effect]) -> Result<(), redb::Error> {
    let mut records = transaction.open_table(RECORDS)?;
    let mut leases = transaction.open_table(LEASES)?;
    for effect in effects {
        match effect {
            Effect::Changed(Change::Put(put)) => {
                let row = (put.create_revision.0, put.mod_revision.0, put.lease.0, &put.value[..]);
                records.insert(&put.key[..], row)?;
            }
            Effect::Changed(Change::Delete { key, .. }) => drop(records.remove(&key[..])?),
            Effect::Granted(lease) => {
                let ttl = u64::try_from(lease.ttl.as_nanos()).unwrap_or(u64::MAX);
                leases.insert(lease.id.0, ttl)?;
            }
            Effect::Ended(lease) => drop(leases.remove(lease.0)?),
        }
    }
    Ok(())
}

fn set_mark(transaction: &WriteTransaction, mark: Mark) -> Result<(), redb::Error> {
    let mut numbers = transaction.open_table(NUMBERS)?;
    numbers.insert("revision", mark.revision.0)?;
    numbers.insert("next_lease", mark.next_lease.cast_unsigned())?;
    Ok(())
}
