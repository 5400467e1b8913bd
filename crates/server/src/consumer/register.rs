//! Opens and resumes sessions.

use std::time::Duration;

use kafka_assigner_core::id::Member;
use kafka_assigner_core::kv::{Lease, Record, Revision};
use kafka_assigner_core::name::MemberName;
use kafka_assigner_core::record::{Capability, Consumer, Renewal};
use kafka_assigner_core::session::{self, Opening};
use kafka_assigner_proto::v1::RegisterRequest;
use kafka_assigner_proto::{Reason, status};
use tonic::Status;

use super::ConsumerService;
use super::request::Registration;
use super::stream::{Session, fenced_stream};
use crate::commands::Commands;
use crate::group::Group;
use crate::session::{Opened, Over, reach, room_for_a_stream, time_to_live};

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
        let admit = |record: Option<&Record>| session::admit(record, incarnation, opening);
        let open = |takes_over| self.open(group, registration, takes_over);
        self.registered(group, name, incarnation).enter(opening, admit, open).await
    }

    async fn open(
        &self,
        group: &Group,
        registration: &Registration,
        takes_over: Option<Revision>,
    ) -> Result<Opened, Status> {
        let Registration { name, incarnation, .. } = registration;
        let ttl = time_to_live(group, registration.timeout);
        refuse_lacking(group, name, &self.registration_record(registration, ttl))?;
        let write = |lease: Lease| {
            let consumer = self.registration_record(registration, lease.ttl);
            session::open(group.layout(), name, &consumer, lease, takes_over)
        };
        let registered = self.registered(group, name, incarnation);
        let opened = registered.open(&format!("consumer {name}"), ttl, write).await?;
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

    /// Attaches a stream.
    async fn attach(
        &self,
        group: Group,
        registration: Registration,
        opened: Opened,
    ) -> Result<Commands, Status> {
        reach(&self.instance, &group, &opened, &registration.seen).await?;
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
        let of_group = state.configured(|config| config.mode);
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
