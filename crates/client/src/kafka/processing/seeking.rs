//! Going on at another place of the log.

use kafka_assigner_handler::{Confirm as _, RecordFailures, RecordHandler, StartPosition};
use kafka_assigner_types::id::{Epoch, Offset};
use tokio::time::Instant;
use tracing::info;

use super::failing::Standstill;
use super::{Processing, ProcessingEnded};
use crate::kafka::partition::Partition;
use crate::kafka::seeks::{SeekError, SeekRequest, SeekWay, seek_way};

impl<H: RecordHandler> Processing<H> {
    /// Goes on at another place, or answers why not. An error = the state has to be built anew.
    pub(super) async fn seek(
        &mut self,
        partition: &mut Partition<H::State>,
        request: SeekRequest,
    ) -> Result<(), ProcessingEnded> {
        let SeekRequest { to, epoch, answer } = request;
        let taken = self.take_place(to, epoch).await;
        let place = taken.as_ref().ok().copied();
        // Whoever asked may have given up.
        let _ = answer.send(taken);
        place.map_or(Ok(()), |place| self.go_on_at(partition, place))
    }

    /// Commits the place, so that every other owner goes on there too.
    async fn take_place(&self, to: StartPosition, epoch: Epoch) -> Result<Offset, SeekError> {
        let at = self.context.partition();
        if epoch != self.context.epoch() || !self.context.may_act() {
            return Err(SeekError::NotOwned { partition: at.clone(), epoch });
        }
        // No record keeps it from ending its work, so no place leaves the reason out.
        if self.stands_without_record() {
            return Err(SeekError::Stands(at.clone()));
        }
        let place = self.parts.client.start(at, to).await?;
        self.parts.commits.move_to(&self.parts.client, at, place).await?;
        Ok(place)
    }

    fn go_on_at(
        &mut self,
        partition: &mut Partition<H::State>,
        place: Offset,
    ) -> Result<(), ProcessingEnded> {
        let (at, next) = (self.context.partition(), partition.reader.next());
        info!(partition = %at, from = %next, to = %place, "going on at another place");
        self.parts.watch.stops.end(at);
        // The failure of before may be mended: a seek asks for another try.
        self.parts.watch.forget_failures(at);
        self.parts.watch.failing.end(Instant::now(), at);
        if seek_way(next, place) == SeekWay::Back {
            // A drain that comes before the state is built anew hands over there.
            partition.sought = Some(place);
            self.owned.spoil();
            return Err(ProcessingEnded);
        }
        (self.start, partition.place) = (place, place);
        self.position = self.parts.commits.position(at);
        partition.confirmed.iter().for_each(|confirmed| confirmed.confirm(place));
        if self.standing.is_now() {
            self.standing = Standstill::tried();
            self.owned.wake_driver();
        }
        (self.retry_at, self.failing, partition.failures) = (None, None, RecordFailures::default());
        Ok(())
    }
}
