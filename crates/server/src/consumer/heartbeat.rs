//! Confirms sessions.

use std::time::Duration;

use kafka_assigner_core::record::Consumer;
use kafka_assigner_proto::v1::{FencedPartition, HeartbeatRequest, HeartbeatResponse};
use kafka_assigner_types::claim;
use kafka_assigner_types::id::{Epoch, Incarnation, Member, TopicPartition};
use kafka_assigner_types::name::MemberName;
use tokio::time::{Instant, timeout_at};
use tonic::Status;

use super::service::ConsumerService;
use crate::access::CallPermit;
use crate::convert;
use crate::group::ServedGroup;
use crate::group_name::group_name;
use crate::refusal;
use crate::session::{Confirmation, Registered, check_holder, floor};
use crate::stream_state::HeardMember;

impl ConsumerService {
    /// Renews a session and takes in the progress that comes with it. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn heartbeat(
        &self,
        request: HeartbeatRequest,
        permit: &CallPermit,
    ) -> Result<HeartbeatResponse, Status> {
        let lease = super::request::lease(request.lease)?;
        let group = self.instance.group(&group_name(&request.group)?).await?;
        let member = Member {
            name: MemberName::new(&request.consumer_name).map_err(|e| refusal::name(&e))?,
            incarnation: Incarnation::new(&request.incarnation).map_err(|e| refusal::name(&e))?,
        };
        check_holder::<Consumer>(&group, &member, permit)?;
        let registered = Registered::<Consumer>::at(&self.instance, &group, &member);
        let deadline = Instant::now() + registered.patience();
        let seen = request.seen.as_ref().map(|seen| floor(&group, seen)).unwrap_or_default();
        let dropped = dropped(&request);
        let confirmation = registered.confirm(lease, seen, &dropped, deadline).await;
        self.measure(&group, &member, &confirmation);
        let confirmation = match confirmation {
            Confirmation::Confirmed { fenced } => {
                let stream = request.stream.as_ref();
                let heard = HeardMember { group: &group, member: &member, stream, ttl: registered.ttl() };
                let confirmation = self.look_at_stream(&heard, Confirmation::Confirmed { fenced }).await;
                // Progress that there was no time for is reported again.
                let taken_in = timeout_at(deadline, self.take_progress(&group, &member, &request)).await;
                tracing::trace!(consumer = %member, in_time = taken_in.is_ok(), "progress");
                confirmation
            }
            other => other,
        };
        Ok(confirmation.answer(&self.instance, &group, &member, |state| state.concern(&member)))
    }

    async fn look_at_stream(&self, heard: &HeardMember<'_>, confirmation: Confirmation) -> Confirmation {
        let metrics = self.instance.metrics();
        heard.measure(metrics, heard.group.read(|state| state.concern(heard.member)));
        let sessions = heard.group.unattached();
        // An instance that is out of touch refuses streams itself.
        if heard.group.touch().is_lost() {
            return confirmation;
        }
        let confirmation = heard.unless_unattached(metrics, sessions, confirmation);
        if let Confirmation::Over(reason) = &confirmation {
            self.end_session(heard.group, heard.member, reason.clone()).await;
        }
        confirmation
    }

    fn measure(&self, group: &ServedGroup, member: &Member, confirmation: &Confirmation) {
        let metrics = self.instance.metrics();
        metrics.heartbeat(group.name(), confirmation.label());
        let is_late = group.read(|state| {
            let ttl = Duration::from_millis(state.registration(&member.name).map_or(0, |c| c.ttl_ms));
            let since = group.sessions().note_heartbeat(state, member);
            since.is_some_and(|since| since > claim::renewal_interval(ttl) * 3 / 2)
        });
        if is_late {
            metrics.late_heartbeat(group.name());
        }
    }
}

/// The fenced partitions that the client says it has dropped; one that names no partition is passed over.
fn dropped(request: &HeartbeatRequest) -> Vec<(TopicPartition, Epoch)> {
    let named = |item: &FencedPartition| {
        Some((convert::partition(&item.topic, item.partition).ok()?, Epoch(item.epoch)))
    };
    request.dropped.iter().take(Consumer::MOST_FENCED).filter_map(named).collect()
}
