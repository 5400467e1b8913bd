//! The partitions that heartbeats report as standing.

use kafka_assigner_core::stops::{self, StopReport};
use kafka_assigner_core::write::chunk_unfenced;
use kafka_assigner_proto::v1::{HeartbeatRequest, StoppedPartition};
use kafka_assigner_types::id::{Epoch, Member, Offset};
use kafka_assigner_types::stops::MOST_STOPPED;

use super::service::ConsumerService;
use crate::convert;
use crate::group::ServedGroup;

impl ConsumerService {
    /// Records what a confirmed heartbeat says of partitions that stand, where it is news. What is not written is reported
    /// again with the next heartbeat.
    pub(super) async fn take_stops(&self, group: &ServedGroup, member: &Member, request: &HeartbeatRequest) {
        let told = &request.stopped;
        let reports: Vec<StopReport> = told.iter().take(MOST_STOPPED).filter_map(stop_report).collect();
        let wall = self.instance.options().wall.now();
        let writes = group.read(|state| match reports.len() == told.len() {
            true => stops::report(state, member, &reports, wall),
            // A partition that was passed over stands as well, and is not known by its name.
            false => stops::report_in_part(state, member, &reports, wall),
        });
        for chunk in chunk_unfenced(&writes, self.instance.store().limits()) {
            match self.instance.store().txn(chunk.txn).await {
                Ok(outcome) if outcome.succeeded => {
                    let (group, stopped) = (group.name(), reports.len());
                    tracing::warn!(%group, consumer = %member, stopped, "marks of partitions that stand changed");
                }
                Ok(_) => {
                    tracing::debug!(consumer = %member, "marks of partitions that stand changed meanwhile");
                }
                Err(error) => {
                    tracing::debug!(consumer = %member, %error, "marks of partitions that stand not written");
                    return;
                }
            }
        }
    }
}

/// A report of the wire; one that names no partition or no offset is passed over.
fn stop_report(item: &StoppedPartition) -> Option<StopReport> {
    Some(StopReport {
        at: convert::partition(&item.topic, item.partition).ok()?,
        epoch: Epoch(item.epoch),
        offset: Offset::new(item.offset).ok()?,
        reason: item.reason.clone(),
        is_of_drain: item.is_of_drain,
    })
}
