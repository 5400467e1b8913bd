//! Opens and resumes routers' sessions.

use std::time::Duration;

use kafka_assigner_core::kv::{Lease, Record, Revision};
use kafka_assigner_core::record::Router;
use kafka_assigner_core::session::{self, Opening};
use kafka_assigner_proto::v1::AttachRequest;
use tonic::Status;

use super::request::Attachment;
use super::stream::{Session, fenced_stream};
use super::{RouterService, Routes};
use crate::group::Group;
use crate::session::{Opened, Over, reach, room_for_a_stream, time_to_live};

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
        let admit = |record: Option<&Record>| session::admit_router(record, &router.incarnation, opening);
        let open = |takes_over| self.open(group, attachment, takes_over);
        self.registered(group, &router.name, &router.incarnation).enter(opening, admit, open).await
    }

    async fn open(
        &self,
        group: &Group,
        attachment: &Attachment,
        takes_over: Option<Revision>,
    ) -> Result<Opened, Status> {
        let router = &attachment.router;
        let ttl = time_to_live(group, attachment.timeout);
        let write = |lease: Lease| {
            let record = self.record(attachment, lease.ttl);
            session::open_router(group.layout(), &router.name, &record, lease, takes_over)
        };
        let registered = self.registered(group, &router.name, &router.incarnation);
        let opened = registered.open(&format!("router {}", router.name), ttl, write).await?;
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

    /// Starts a stream. The first table is not older than the session: it shows every freeze that does not wait for it.
    async fn start(&self, group: Group, attachment: Attachment, opened: &Opened) -> Result<Routes, Status> {
        reach(&self.instance, &group, opened, &attachment.seen).await?;
        self.instance.metrics().route_stream(group.name(), attachment.opening != Opening::New);
        Ok(self.start_stream(Session { group, router: attachment.router, lease: opened.lease }))
    }
}
