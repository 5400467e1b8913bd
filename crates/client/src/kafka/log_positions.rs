//! Positions in the log of a partition: where processing starts, and how far a reader is.

use kafka_assigner_handler::StartPosition;
use kafka_assigner_types::id::{Offset, TopicPartition};
use rdkafka::consumer::Consumer as _;

use super::blocking::{KAFKA_BOUND, blocking};
use super::client::{Client, checked, list};
use super::error::KafkaRunnerError;

impl Client {
    /// The offset of a start position in the log as it is now.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// [`KafkaRunnerError::NothingCommitted`] for [`StartPosition::Refuse`]; else the broker can't be asked.
    pub(super) async fn start(
        &self,
        partition: &TopicPartition,
        position: StartPosition,
    ) -> Result<Offset, KafkaRunnerError> {
        match position {
            StartPosition::Earliest => self.beginning(partition).await,
            StartPosition::Latest => self.end(partition).await,
            StartPosition::At(offset) => Ok(offset.min(self.end(partition).await?)),
            StartPosition::Timestamp(millis) => match self.offset_at(partition, millis).await? {
                Some(offset) => Ok(offset),
                None => self.end(partition).await,
            },
            StartPosition::Refuse => Err(KafkaRunnerError::NothingCommitted(partition.clone())),
        }
    }

    /// The offset of the first record that is as new as `millis` after 1970; `None` = there is none.
    async fn offset_at(
        &self,
        partition: &TopicPartition,
        millis: i64,
    ) -> Result<Option<Offset>, KafkaRunnerError> {
        let (client, at) = (self.clone(), partition.clone());
        let asked = move || {
            // Negative numbers stand for something else than a time.
            let times = list([(&at, rdkafka::Offset::Offset(millis.max(0)))])?;
            let found = client.asking().offsets_for_times(times, KAFKA_BOUND)?;
            Ok(found.elements().first().map(rdkafka::topic_partition_list::TopicPartitionListElem::offset))
        };
        let failed = |source| KafkaRunnerError::Read { partition: partition.clone(), source };
        match blocking(asked).await.map_err(failed)? {
            Some(rdkafka::Offset::Offset(offset)) => {
                checked("the offset of a time", partition, offset).map(Some)
            }
            _ => Ok(None),
        }
    }
}
