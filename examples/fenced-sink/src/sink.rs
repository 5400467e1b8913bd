//! The database: totals by key, and beside them, for each partition, who may write and how far the records are in it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kafka_assigner_client::{TopicId, TopicPartition};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

/// The longest wait of a write for another process's: many times what a transaction takes, and far less than a session.
const BUSY: Duration = Duration::from_secs(5);

/// Two tables, so that one transaction can hold an effect, its offset and the epoch that it was made under.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS fences (
        topic TEXT NOT NULL,
        partition INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        next_offset INTEGER NOT NULL,
        topic_id TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (topic, partition)
    ) STRICT;
    CREATE TABLE IF NOT EXISTS totals (
        topic TEXT NOT NULL,
        partition INTEGER NOT NULL,
        key TEXT NOT NULL,
        records INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (topic, partition, key)
    ) STRICT;
";

/// The compare-and-set: no row is changed where a higher epoch has been there.
const RAISE_FENCE: &str = "
    INSERT INTO fences (topic, partition, epoch, next_offset) VALUES (?1, ?2, ?3, 0)
    ON CONFLICT DO UPDATE SET epoch = excluded.epoch WHERE fences.epoch <= excluded.epoch
";

/// Offsets begin anew with a topic that was deleted and created again: its id is another one, where both are known.
const NAME_TOPIC: &str = "
    UPDATE fences SET topic_id = ?3, next_offset = CASE WHEN topic_id IN ('', ?3) THEN next_offset ELSE 0 END
    WHERE topic = ?1 AND partition = ?2
";

/// No row is changed where the record is in the totals already. Greater, not equal: offsets have holes.
const ADVANCE: &str = "
    UPDATE fences SET next_offset = ?3 + 1 WHERE topic = ?1 AND partition = ?2 AND next_offset <= ?3
";

const ADD: &str = "
    INSERT INTO totals (topic, partition, key, records, bytes) VALUES (?1, ?2, ?3, 1, ?4)
    ON CONFLICT DO UPDATE SET records = records + 1, bytes = bytes + excluded.bytes
";

/// A database that is written by the owners of partitions, each under the epoch of its grant.
#[derive(Debug)]
pub(crate) struct Sink(Mutex<Connection>);

/// The effect of one record on the totals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) offset: i64,
    pub(crate) key: String,
    pub(crate) bytes: u64,
}

/// The end of the records that are in the totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    /// The first offset that is not; 0 where nothing is.
    pub(crate) next_offset: i64,
    /// The id of the topic of which it is; `None`: not known.
    pub(crate) topic_id: Option<TopicId>,
}

/// The outcome of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is in the totals now.
    Applied,
    /// It was there before.
    Repeated,
}

/// The reasons for which nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SinkError {
    /// The writer is not the owner any more, whatever it believes. Trying again under this epoch can't help.
    #[error("fenced: epoch {offered} is older than {held}, under which the partition was written last")]
    Fenced { offered: u64, held: u64 },
    /// The database could not be used; trying again may help.
    #[error("the database failed")]
    Database(#[from] rusqlite::Error),
}

impl Sink {
    /// Opens the database at `path`, and creates it where it is missing.
    pub(crate) fn open(path: &Path) -> Result<Self, SinkError> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        // Readers then never wait for owners, nor owners for readers. Each commit still reaches the disk.
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self(Mutex::new(connection)))
    }

    /// From now on, nothing is written for the partition under an epoch older than `epoch`, and its offsets are those of the
    /// topic with this id.
    pub(crate) fn take(
        &self,
        at: &TopicPartition,
        epoch: u64,
        topic_id: Option<TopicId>,
    ) -> Result<(), SinkError> {
        self.transact(|transaction| {
            raise_fence(transaction, at, epoch)?;
            if let Some(id) = topic_id {
                transaction.execute(NAME_TOPIC, params![at.topic.as_str(), at.partition, id.to_string()])?;
            }
            Ok(())
        })
    }

    /// Adds one record to the totals: all of it, once, and only under an epoch that is not outdated.
    pub(crate) fn apply(
        &self,
        at: &TopicPartition,
        epoch: u64,
        effect: &Effect,
    ) -> Result<Outcome, SinkError> {
        self.transact(|transaction| {
            raise_fence(transaction, at, epoch)?;
            if transaction.execute(ADVANCE, params![at.topic.as_str(), at.partition, effect.offset])? == 0 {
                return Ok(Outcome::Repeated);
            }
            transaction.execute(ADD, params![at.topic.as_str(), at.partition, effect.key, effect.bytes])?;
            Ok(Outcome::Applied)
        })
    }

    /// The end of the records of a partition that are in the totals.
    pub(crate) fn position(&self, at: &TopicPartition) -> Result<Position, SinkError> {
        let connection = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let position = connection
            .query_row(
                "SELECT next_offset, topic_id FROM fences WHERE topic = ?1 AND partition = ?2",
                params![at.topic.as_str(), at.partition],
                |row| {
                    let topic_id: String = row.get(1)?;
                    Ok(Position { next_offset: row.get(0)?, topic_id: topic_id.parse().ok() })
                },
            )
            .optional()?;
        Ok(position.unwrap_or_default())
    }

    /// Does all of it or, where it fails, nothing. The lock for writing is taken first: what was compared still holds
    /// when it is set.
    fn transact<T>(
        &self,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, SinkError>,
    ) -> Result<T, SinkError> {
        let mut connection = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let written = write(&transaction)?;
        transaction.commit()?;
        Ok(written)
    }
}

fn raise_fence(transaction: &Transaction<'_>, at: &TopicPartition, epoch: u64) -> Result<(), SinkError> {
    if transaction.execute(RAISE_FENCE, params![at.topic.as_str(), at.partition, epoch])? == 1 {
        return Ok(());
    }
    let held = transaction.query_row(
        "SELECT epoch FROM fences WHERE topic = ?1 AND partition = ?2",
        params![at.topic.as_str(), at.partition],
        |row| row.get(0),
    )?;
    Err(SinkError::Fenced { offered: epoch, held })
}

#[cfg(test)]
#[path = "sink_test.rs"]
mod sink_test;
