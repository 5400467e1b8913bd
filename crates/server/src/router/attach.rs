//! Opens and resumes routers' sessions.

use std::time::Duration;

use kafka_assigner_core::leader::{freeze_bound, hold_deadline, router_session};
use kafka_assigner_core::record::Router;
use kafka_assigner_core::session::Opening;
use kafka_assigner_proto::v1::AttachRequest;
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::moment::millis;
use tonic::Status;

use super::request::Attachment;
use super::service::RouterService;
use super::stream::{RouterSession, Routes, fenced_stream};
use crate::access::{CallPermit, StreamPermit};
use crate::group::ServedGroup;
use crate::quota;
use crate::refusal;
use crate::session::{Entrance, Opened, Over, Registered, in_touch, reach, room_for_a_stream};

/// The time to live of a router's session: what it `asked` for, or the group's default for routers.
///
/// A router that dies must be over before a freeze that waits for it is cancelled, or no move would end that begins
/// meanwhile.
fn session(group: &ServedGroup, asked: Option<Duration>) -> Result<Duration, Status> {
    let (default, most) = group.read(|state| (router_session(state), freeze_bound(state)));
    let asked = asked.unwrap_or(default);
    if asked <= most {
        return Ok(asked);
    }
    let (asked, most) = (millis(asked), millis(most));
    Err(refusal::field(format!(
        "session_timeout_ms = {asked} is refused: a router may ask for at most {most} here, the time that a freeze waits \
         for routers (seven tenths of the group's hold_deadline_ms)"
    )))
}

/// Refuses a router whose requests are too old before a move that holds them back has to be over.
fn outlasts_a_move(group: &ServedGroup, stash_age: Option<Duration>) -> Result<(), Status> {
    let held = group.read(hold_deadline);
    let Some(age) = stash_age.filter(|age| *age <= held) else { return Ok(()) };
    let (age, held) = (millis(age), millis(held));
    let message = format!(
        "stash_age_ms = {age} is refused: requests have to be kept for above {held} here, the time for which a move may hold \
         them back (the group's hold_deadline_ms)"
    );
    // No refusal for good: an operator who set the deadline too high puts it back.
    Err(status(Reason::StashTooShort, message))
}

impl RouterService {
    /// Opens, takes over or resumes a router's session, and attaches a stream to it.
    ///
    /// A dropped call may leave a registration behind whose lease runs out by itself.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn attach(&self, request: AttachRequest, permit: StreamPermit) -> Result<Routes, Status> {
        let attachment = Attachment::check(request)?;
        room_for_a_stream(&self.instance)?;
        let group = self.instance.group(&attachment.group).await?;
        in_touch(&self.instance, &group)?;
        match self.admit(&group, &attachment, permit.call()).await? {
            Ok(opened) => self.start(group, attachment, &opened, permit).await,
            Err(over) => Ok(fenced_stream(group.cluster_id(), over.revision, &over.reason)),
        }
    }

    async fn admit(
        &self,
        group: &ServedGroup,
        attachment: &Attachment,
        permit: &CallPermit,
    ) -> Result<Result<Opened, Over>, Status> {
        let registered = Registered::at(&self.instance, group, &attachment.router);
        match registered.enter(&attachment.opening, &attachment.seen, permit).await? {
            Entrance::Resumed(opened) => Ok(Ok(opened)),
            Entrance::Over(over) => Ok(Err(over)),
            Entrance::Create { takes_over } => {
                outlasts_a_move(group, attachment.stash_age)?;
                let caller = permit.caller().unwrap_or_default().to_owned();
                let record = self.record(attachment, session(group, attachment.timeout)?);
                let record = Router { caller, ..record };
                let quotas = self.instance.options().quotas;
                quota::check_registration(quotas, group, (&attachment.router.name, &record))?;
                let opened = registered.open(record, takes_over).await?;
                tracing::info!(group = %group.name(), router = %attachment.router,
                    took_over = takes_over.is_some(), "router's session opened");
                Ok(Ok(opened))
            }
        }
    }

    fn record(&self, attachment: &Attachment, ttl: Duration) -> Router {
        let options = self.instance.options();
        let ttl_ms = millis(ttl);
        Router {
            instance: options.id.clone(),
            client: attachment.client.clone(),
            ..Router::new(attachment.router.incarnation.clone(), ttl_ms, options.wall.now())
        }
    }

    /// Starts a stream. The first table is not older than the session: it shows every freeze that does not wait for it.
    async fn start(
        &self,
        group: ServedGroup,
        attachment: Attachment,
        opened: &Opened,
        permit: StreamPermit,
    ) -> Result<Routes, Status> {
        reach(&self.instance, &group, opened, &attachment.seen).await?;
        self.instance.metrics().route_stream(group.name(), attachment.opening != Opening::New);
        Ok(self.start_stream(RouterSession { group, router: attachment.router, lease: opened.lease, permit }))
    }
}
