//! Opens and resumes sessions.

use std::time::Duration;

use kafka_assigner_core::id::Member;
use kafka_assigner_core::kv::{Lease, Revision};
use kafka_assigner_core::name::MemberName;
use kafka_assigner_core::reason::FenceReason;
use kafka_assigner_core::record::{Capability, Consumer, Renewal};
use kafka_assigner_core::session::{self, Admission, Opening};
use kafka_assigner_proto::v1::RegisterRequest;
use kafka_assigner_proto::{Reason, status};
use tonic::Status;

use super::ConsumerService;
use super::request::Registration;
use super::stream::{Session, fenced_stream};
use crate::commands::Commands;
use crate::group::Group;
use crate::refusal;
use crate::session::{Opened, Over, floor, room_for_a_stream};

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
        room_for_a_stream(&self.instance)?;
        let group = self.instance.group_or_create(&registration.group).await?;
        match self.admit(&group, &registration).await? {
            Ok(opened) => self.attach(group, registration, opened).await,
            Err(over) => Ok(fenced_stream(self.instance.cluster_id(), over.revision, &over.reason)),
        }
    }

    async fn admit(
        &self,
        group: &Group,
        registration: &Registration,
    ) -> Result<Result<Opened, Over>, Status> {
        let Registration { name, incarnation, opening, .. } = registration;
        let registered = self.registered(group, name, incarnation);
        let (record, revision) = registered.read().await?;
        match (session::admit(record.as_ref(), incarnation, opening), opening) {
            (Admission::Create { takes_over }, _) => self.open(group, registration, takes_over).await.map(Ok),
            (Admission::Attach, Opening::Resume(lease)) => registered.resume(*lease, revision).await,
            (Admission::Attach, Opening::New) => Ok(Err(Over { reason: FenceReason::Gone, revision })),
            (Admission::Fenced(reason), _) => Ok(Err(Over { reason, revision })),
        }
    }

    async fn open(
        &self,
        group: &Group,
        registration: &Registration,
        takes_over: Option<Revision>,
    ) -> Result<Opened, Status> {
        let Registration { name, incarnation, .. } = registration;
        let default = group.read(|state| state.config().unwrap_or_default().session_timeout_ms);
        let ttl = registration.timeout.unwrap_or(Duration::from_millis(default));
        refuse_lacking(group, name, &self.registration_record(registration, ttl))?;
        let write = |lease: Lease| {
            let consumer = self.registration_record(registration, lease.ttl);
            session::open(group.layout(), name, &consumer, lease, takes_over)
        };
        let opened = self.registered(group, name, incarnation).open(ttl, write).await?.ok_or_else(|| {
            let message = format!("consumer {name} was registered by somebody else meanwhile");
            status(Reason::LostRace, message)
        })?;
        tracing::info!(group = %group.name(), consumer = %name, %incarnation,
            took_over = takes_over.is_some(), "session opened");
        Ok(opened)
    }

    fn registration_record(&self, registration: &Registration, ttl: Duration) -> Consumer {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        let wall = self.instance.options().wall.now();
        Consumer {
            topics: registration.topics.clone(),
            max_partitions: registration.max_partitions,
            capacity: registration.capacity,
            rack: registration.rack.clone(),
            generation: registration.generation.clone(),
            max_poll_interval_ms: registration.max_poll_interval_ms,
            capabilities: registration.capabilities.clone(),
            endpoint: registration.endpoint.clone(),
            instance: self.instance.options().id.clone(),
            client: registration.client.clone(),
            ..Consumer::new(registration.incarnation.clone(), ttl_ms, registration.renewal, wall)
        }
    }

    /// Attaches a stream, from a view that is at least as new as the session and what its client has seen.
    async fn attach(
        &self,
        group: Group,
        registration: Registration,
        opened: Opened,
    ) -> Result<Commands, Status> {
        let revision = opened.revision.max(floor(&self.instance, &registration.seen));
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
}

/// Refuses a session that can't keep what the mode of its topics promises: it would be given nothing.
fn refuse_lacking(group: &Group, name: &MemberName, consumer: &Consumer) -> Result<(), Status> {
    let mode = group.read(|state| {
        let of_group = state.config().unwrap_or_default().mode;
        state.mode_demanded_of(consumer, of_group)
    });
    let Some(lacks) = consumer.lacks(mode) else { return Ok(()) };
    let reason = match consumer.renewal {
        Renewal::Server => Reason::RenewalNotAllowed,
        Renewal::Client => Reason::CapabilityMissing,
    };
    let group = group.name();
    let message = format!(
        "consumer {name} is refused: its topics in group {group} are in the mode {mode}, and it lacks {lacks}"
    );
    Err(status(reason, message))
}
