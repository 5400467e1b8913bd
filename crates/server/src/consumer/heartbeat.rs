//! Confirms sessions.

use std::time::Duration;

use kafka_assigner_core::claim;
use kafka_assigner_core::id::{Incarnation, Member};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::kv::LeaseId;
use kafka_assigner_core::name::MemberName;
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::session;
use kafka_assigner_proto::v1::{HeartbeatOutcome, HeartbeatRequest, HeartbeatResponse};
use kafka_assigner_store::Error;
use tokio::time::{Instant, timeout_at};
use tonic::Status;

use super::{ConsumerService, group_name};
use crate::convert::fenced;
use crate::group::Group;
use crate::refusal;

/// The store may take a twentieth of a session's time to live for a heartbeat, within these bounds. That is half of
/// what the client waits: it still hears that the store is silent, and knows that this instance is not.
const SHORTEST_PATIENCE: Duration = Duration::from_millis(100);
const LONGEST_PATIENCE: Duration = Duration::from_secs(1);

/// What the store says of a session.
enum Confirmation {
    Confirmed,
    Over(FenceReason),
    /// The store did not answer: nothing is renewed and nothing is over.
    Silent(Error),
}

impl Confirmation {
    /// A stable word for metrics.
    const fn label(&self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Over(_) => "fenced",
            Self::Silent(_) => "store_unavailable",
        }
    }
}

impl ConsumerService {
    /// Renews a session and takes in the progress that comes with it. Cancel safe.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn heartbeat(&self, request: HeartbeatRequest) -> Result<HeartbeatResponse, Status> {
        let group = self.instance.group(&group_name(&request.group)?).await?;
        let member = Member {
            name: MemberName::new(&request.consumer_name).map_err(|e| refusal::name(&e))?,
            incarnation: Incarnation::new(&request.incarnation).map_err(|e| refusal::name(&e))?,
        };
        let deadline = Instant::now() + Self::patience(&group, &member);
        let confirmation = self.confirm(&group, &member, LeaseId(request.lease), deadline).await;
        self.measure(&group, &member, &confirmation);
        if matches!(confirmation, Confirmation::Confirmed) {
            // What there was no time for is reported again.
            let taken_in = timeout_at(deadline, self.take_progress(&group, &member, &request)).await;
            tracing::trace!(consumer = %member, in_time = taken_in.is_ok(), "progress");
        }
        Ok(self.answer(&group, &member, confirmation))
    }

    /// How long the store may take for a heartbeat of `member`.
    fn patience(group: &Group, member: &Member) -> Duration {
        let ttl_ms = group.read(|state| {
            let registered = state.registration(&member.name).map(|consumer| consumer.ttl_ms);
            registered.unwrap_or_else(|| state.config().unwrap_or_default().session_timeout_ms)
        });
        (Duration::from_millis(ttl_ms) / 20).clamp(SHORTEST_PATIENCE, LONGEST_PATIENCE)
    }

    async fn confirm(
        &self,
        group: &Group,
        member: &Member,
        lease: LeaseId,
        deadline: Instant,
    ) -> Confirmation {
        let late = |_| Confirmation::Silent(Error::Unknown { operation: "heartbeat", source: None });
        timeout_at(deadline, self.renew(group, member, lease)).await.unwrap_or_else(late)
    }

    /// Read, keep alive, read: a session that was over before the lease was kept alive is left to run down, and
    /// the second read makes sure that it was not taken over meanwhile.
    async fn renew(&self, group: &Group, member: &Member, lease: LeaseId) -> Confirmation {
        if let Err(outcome) = self.look(group, member, lease).await {
            return outcome;
        }
        match self.instance.store().keep_alive(lease).await {
            Ok(_) => {}
            Err(Error::LeaseNotFound(_)) => return Confirmation::Over(FenceReason::Gone),
            Err(error) => return Confirmation::Silent(error),
        }
        match self.look(group, member, lease).await {
            Ok(()) => Confirmation::Confirmed,
            Err(outcome) => outcome,
        }
    }

    async fn look(&self, group: &Group, member: &Member, lease: LeaseId) -> Result<(), Confirmation> {
        let key = group.layout().encode(&Key::Consumer(member.name.clone()));
        let (record, _) = self.instance.store().get(&key).await.map_err(Confirmation::Silent)?;
        match session::check(record.as_ref(), &member.incarnation, lease) {
            Ok(_) => Ok(()),
            Err(reason) => Err(Confirmation::Over(reason)),
        }
    }

    fn measure(&self, group: &Group, member: &Member, confirmation: &Confirmation) {
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

    fn answer(&self, group: &Group, member: &Member, confirmation: Confirmation) -> HeartbeatResponse {
        let mut response = HeartbeatResponse {
            cluster_id: self.instance.cluster_id().to_owned(),
            revision: group.view().revision().0,
            concerned_revision: group.hub().told(member).0,
            endpoints: self.instance.peers().addresses(),
            ..HeartbeatResponse::default()
        };
        match confirmation {
            Confirmation::Confirmed => response.set_outcome(HeartbeatOutcome::Confirmed),
            Confirmation::Over(reason) => {
                response.set_outcome(HeartbeatOutcome::Fenced);
                response.fenced = Some(fenced(&reason));
            }
            Confirmation::Silent(error) => {
                tracing::debug!(consumer = %member, %error, "heartbeat without the store");
                response.set_outcome(HeartbeatOutcome::StoreUnavailable);
            }
        }
        response
    }
}
