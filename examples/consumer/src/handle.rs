//! All that this consumer does with records.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use kafka_assigner_audit::{FinalState, Handled, KeyState};
use kafka_assigner_client::TopicPartition;
use kafka_assigner_client::kafka::{
    OpenedState, OrUnchanged as _, PartitionContext, Preparation, Record, RecordError, RecordHandler,
    StateSnapshot,
};

use crate::journal::Journal;

/// Counts records by key, and writes down what it handled and what it had when it gave a partition up.
#[derive(Debug)]
pub(crate) struct Counting {
    process: String,
    handled: Journal,
    states: Option<Journal>,
}

/// The state of one partition: what was seen of each key.
pub(crate) type Counts = BTreeMap<String, KeyState>;

fn add(counts: &mut Counts, record: &Record) {
    let key = String::from_utf8_lossy(record.key().unwrap_or_default()).into_owned();
    counts.entry(key).or_default().fold(id(record));
}

/// The first word of the payload; a record that begins with no number is known by its offset.
fn id(record: &Record) -> u64 {
    let payload = String::from_utf8_lossy(record.value().unwrap_or_default());
    let first = payload.split(' ').next().and_then(|word| word.parse().ok());
    first.unwrap_or_else(|| record.offset().get().cast_unsigned())
}

impl Counting {
    /// `process` names this process in what is written; without `states` the counts are not written.
    pub(crate) const fn new(process: String, handled: Journal, states: Option<Journal>) -> Self {
        Self { process, handled, states }
    }
}

impl RecordHandler for Counting {
    type State = Counts;

    /// Nothing is stored between processes: the counts are built from the partition's beginning.
    async fn open(
        &self,
        _: &Preparation,
        _: Option<StateSnapshot>,
    ) -> Result<OpenedState<Counts>, RecordError> {
        Ok(OpenedState::empty(Counts::new()))
    }

    async fn catch_up(
        &self,
        _: &TopicPartition,
        counts: &mut Counts,
        record: &Record,
    ) -> Result<(), RecordError> {
        add(counts, record);
        Ok(())
    }

    async fn process(
        &self,
        context: &PartitionContext,
        counts: &mut Counts,
        record: &Record,
    ) -> Result<(), RecordError> {
        let written = self.handled.write(&Handled {
            slot: context.partition().clone(),
            offset: record.offset(),
            id: id(record),
            epoch: context.epoch(),
            process: self.process.clone(),
            at: u64::try_from(UNIX_EPOCH.elapsed().unchanged()?.as_micros()).unchanged()?,
        });
        written.unchanged()?;
        add(counts, record);
        Ok(())
    }

    /// The last record was handled: the counts are final, unless the partition comes back.
    async fn drained(&self, context: &PartitionContext, counts: &mut Counts) -> Result<(), RecordError> {
        let Some(states) = &self.states else { return Ok(()) };
        let written = states.write(&FinalState {
            slot: context.partition().clone(),
            epoch: context.epoch(),
            process: self.process.clone(),
            keys: counts.clone(),
        });
        written.unchanged()
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_handler::testing::SimulatedPartition;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn counts_survive_a_failure_a_move_and_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let handler = move || Counting::new("p".to_owned(), Journal::open(&log).unwrap(), None);
        let mut orders = SimulatedPartition::new("orders", 0, handler);
        ["1", "2"].iter().for_each(|id| _ = orders.produce("a", id));
        let failing = orders.produce("a", "3");
        orders.fail(failing, 2);
        orders.run().await;
        orders.move_owner().await;
        orders.produce("a", "4");
        orders.crash();
        orders.run().await;
        assert_eq!(orders.state().unwrap()["a"].count, 4);
    }
}
