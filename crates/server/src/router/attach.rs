//! Opens and resumes routers' sessions.

use std::time::Duration;

use kafka_assigner_core::kv::{Lease, Revision};
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::Router;
use kafka_assigner_core::session::{self, Admission, Opening};
use kafka_assigner_proto::v1::AttachRequest;
use kafka_assigner_proto::{Reason, status};
use tonic::Status;

use super::request::Attachment;
use super::stream::{Session, fenced_stream};
use super::{RouterService, Routes};
use crate::group::Group;
use crate::refusal;
use crate::session::{Opened, Over, floor, room_for_a_stream};

impl RouterService {
    /// Opens, takes over or resumes a router's session, and attaches a stream to it.
    ///
    /// A dropped call may leave a registration behind whose lease runs out by itself.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn attach(&self, request: AttachRequest) -> Result<Routes, Status> {
        let attachment = Attachment::check(request)?;
        room_for_a_stream(&self.instance)?;
        let group = self.instance.group(&attachment.group).await?;
        match self.admit(&group, &attachment).await? {
            Ok(opened) => self.start(group, attachment, &opened).await,
            Err(over) => Ok(fenced_stream(self.instance.cluster_id(), over.revision, &over.reason)),
        }
    }

    async fn admit(&self, group: &Group, attachment: &Attachment) -> Result<Result<Opened, Over>, Status> {
        let Attachment { router, opening, .. } = attachment;
        let registered = self.registered(group, &router.name, &router.incarnation);
        let (record, revision) = registered.read().await?;
        match (session::admit_router(record.as_ref(), &router.incarnation, opening), opening) {
            (Admission::Create { takes_over }, _) => self.open(group, attachment, takes_over).await.map(Ok),
            (Admission::Attach, Opening::Resume(lease)) => registered.resume(*lease, revision).await,
            (Admission::Attach, Opening::New) => Ok(Err(Over { reason: FenceReason::Gone, revision })),
            (Admission::Fenced(reason), _) => Ok(Err(Over { reason, revision })),
        }
    }

    async fn open(
        &self,
        group: &Group,
        attachment: &Attachment,
        takes_over: Option<Revision>,
    ) -> Result<Opened, Status> {
        let router = &attachment.router;
        let default = group.read(|state| state.config().unwrap_or_default().session_timeout_ms);
        let ttl = attachment.timeout.unwrap_or(Duration::from_millis(default));
        let write = |lease: Lease| {
            let record = self.record(attachment, lease.ttl);
            session::open_router(group.layout(), &router.name, &record, lease, takes_over)
        };
        let registered = self.registered(group, &router.name, &router.incarnation);
        let opened = registered.open(ttl, write).await?.ok_or_else(|| {
            let message = format!("router {} was registered by somebody else meanwhile", router.name);
            status(Reason::LostRace, message)
        })?;
        tracing::info!(group = %group.name(), %router, took_over = takes_over.is_some(), "router's session opened");
        Ok(opened)
    }

    fn record(&self, attachment: &Attachment, ttl: Duration) -> Router {
        let options = self.instance.options();
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        Router {
            instance: options.id.clone(),
            client: attachment.client.clone(),
            ..Router::new(attachment.router.incarnation.clone(), ttl_ms, options.wall.now())
        }
    }

    /// Starts a stream from a view that is at least as new as the session and what its router has seen: its first table
    /// shows every freeze that does not wait for it.
    async fn start(&self, group: Group, attachment: Attachment, opened: &Opened) -> Result<Routes, Status> {
        let revision = opened.revision.max(floor(&self.instance, &attachment.seen));
        let patience = self.instance.options().view_patience;
        group.reach(revision, patience).await.map_err(refusal::behind)?;
        self.instance.metrics().route_stream(group.name(), attachment.opening != Opening::New);
        Ok(self.start_stream(Session { group, router: attachment.router, lease: opened.lease }))
    }
}
