//! Opens and resumes sessions.

use std::time::Duration;

use kafka_assigner_core::id::Member;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::kv::{Lease, Record, Revision};
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::{Capability, Consumer, Renewal};
use kafka_assigner_core::session::{self, Admission, Opening};
use kafka_assigner_proto::v1::RegisterRequest;
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_store::Error;
use tokio::time::Instant;
use tonic::Status;

use super::ConsumerService;
use super::commands::Commands;
use super::request::Registration;
use super::stream::{Session, fenced_stream};
use crate::group::Group;
use crate::refusal;

/// A session that is registered, at the revision at which that is certain.
struct Opened {
    lease: Lease,
    /// When the request was sent that granted the lease, or kept it alive.
    confirmed: Instant,
    revision: Revision,
}

/// A session that is over, as it was seen at a revision.
struct Over {
    reason: FenceReason,
    revision: Revision,
}

impl ConsumerService {
    /// Opens, takes over or resumes a session, and attaches a stream to it.
    ///
    /// A dropped call may leave a registration behind whose lease runs out by itself.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn register(&self, request: RegisterRequest) -> Result<Commands, Status> {
        let entropy = self.instance.entropy();
        let registration = Registration::check(request, || entropy.id())?;
        self.room_for_a_stream()?;
        let group = self.instance.group_or_create(&registration.group).await?;
        match self.admit(&group, &registration).await? {
            Ok(opened) => self.attach(group, registration, opened).await,
            Err(over) => Ok(fenced_stream(self.instance.cluster_id(), over.revision, &over.reason)),
        }
    }

    fn room_for_a_stream(&self) -> Result<(), Status> {
        if self.instance.leaving().is_cancelled() {
            return Err(status(Reason::ShuttingDown, "this instance is stopping; use another one"));
        }
        let limit = self.instance.options().max_streams;
        if self.instance.streams() >= limit {
            let message = format!("this instance serves its {limit} streams; use another one");
            return Err(status(Reason::LimitReached, message));
        }
        Ok(())
    }

    async fn admit(
        &self,
        group: &Group,
        registration: &Registration,
    ) -> Result<Result<Opened, Over>, Status> {
        let (registered, revision) = self.read_registration(group, registration).await?;
        let incarnation = &registration.incarnation;
        match session::admit(registered.as_ref(), incarnation, &registration.opening) {
            Admission::Create { takes_over } => self.open(group, registration, takes_over).await.map(Ok),
            Admission::Attach => self.resume(group, registration, revision).await,
            Admission::Fenced(reason) => Ok(Err(Over { reason, revision })),
        }
    }

    async fn read_registration(
        &self,
        group: &Group,
        registration: &Registration,
    ) -> Result<(Option<Record>, Revision), Status> {
        let key = group.layout().encode(&Key::Consumer(registration.name.clone()));
        self.instance.store().get(&key).await.map_err(|e| refusal::store(&e))
    }

    /// Grants a lease and writes the registration under it, once. Where that has no definite answer the client
    /// comes again as another incarnation.
    async fn open(
        &self,
        group: &Group,
        registration: &Registration,
        takes_over: Option<Revision>,
    ) -> Result<Opened, Status> {
        let store = self.instance.store();
        let default = group.read(|state| state.config().unwrap_or_default().session_timeout_ms);
        let ttl = registration.timeout.unwrap_or(Duration::from_millis(default));
        let confirmed = Instant::now();
        let lease = store.grant(ttl).await.map_err(|e| refusal::store(&e))?;
        let consumer = self.registration_record(registration, lease);
        let write = session::open(group.layout(), &registration.name, &consumer, lease, takes_over);
        let outcome = store.txn(write.unfenced()).await.map_err(|e| refusal::store(&e))?;
        if !outcome.succeeded {
            let message = format!("consumer {} was registered by somebody else meanwhile", registration.name);
            return Err(status(Reason::LostRace, message));
        }
        tracing::info!(group = %group.name(), consumer = %registration.name,
            incarnation = %registration.incarnation, took_over = takes_over.is_some(), "session opened");
        Ok(Opened { lease, confirmed, revision: outcome.revision })
    }

    fn registration_record(&self, registration: &Registration, lease: Lease) -> Consumer {
        let ttl_ms = u64::try_from(lease.ttl.as_millis()).unwrap_or(u64::MAX);
        let wall = self.instance.options().wall.now();
        Consumer {
            topics: registration.topics.clone(),
            max_partitions: registration.max_partitions,
            capacity: registration.capacity,
            rack: registration.rack.clone(),
            generation: registration.generation.clone(),
            max_poll_interval_ms: registration.max_poll_interval_ms,
            capabilities: registration.capabilities.clone(),
            instance: self.instance.options().id.clone(),
            client: registration.client.clone(),
            ..Consumer::new(registration.incarnation.clone(), ttl_ms, registration.renewal, wall)
        }
    }

    /// Confirms a session as a heartbeat does: read (which was done at `revision`), keep alive, read.
    async fn resume(
        &self,
        group: &Group,
        registration: &Registration,
        revision: Revision,
    ) -> Result<Result<Opened, Over>, Status> {
        let gone = Over { reason: FenceReason::Gone, revision };
        let Opening::Resume(id) = registration.opening else { return Ok(Err(gone)) };
        let confirmed = Instant::now();
        let lease = match self.instance.store().keep_alive(id).await {
            Ok(ttl) => Lease { id, ttl },
            Err(Error::LeaseNotFound(_)) => return Ok(Err(gone)),
            Err(error) => return Err(refusal::store(&error)),
        };
        let (registered, revision) = self.read_registration(group, registration).await?;
        Ok(match session::check(registered.as_ref(), &registration.incarnation, id) {
            Ok(_) => Ok(Opened { lease, confirmed, revision }),
            Err(reason) => Err(Over { reason, revision }),
        })
    }

    /// Attaches a stream, from a view that is at least as new as the session and what its client has seen.
    async fn attach(
        &self,
        group: Group,
        registration: Registration,
        opened: Opened,
    ) -> Result<Commands, Status> {
        let revision = opened.revision.max(self.floor(&registration));
        let patience = self.instance.options().view_patience;
        group.reach(revision, patience).await.map_err(refusal::behind)?;
        let is_resumed = registration.opening != Opening::New;
        self.instance.metrics().stream(group.name(), is_resumed);
        let session = Session {
            group,
            member: Member { name: registration.name, incarnation: registration.incarnation },
            lease: opened.lease,
            confirmed: opened.confirmed,
            renews: registration.renewal == Renewal::Server,
            snapshot: registration.capabilities.contains(&Capability::Snapshot),
            says_taken: registration.capabilities.contains(&Capability::Taken),
        };
        Ok(self.start_stream(session))
    }

    fn floor(&self, registration: &Registration) -> Revision {
        let is_ours = registration.seen.cluster_id == self.instance.cluster_id();
        if is_ours { Revision(registration.seen.revision) } else { Revision::default() }
    }
}
