//! Opens and resumes sessions.

use std::time::Duration;

use kafka_assigner_core::record::{BegunReport, Capability, Consumer, Renewal};
use kafka_assigner_core::session::Opening;
use kafka_assigner_proto::v1::RegisterRequest;
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::moment::millis;
use kafka_assigner_types::name::MemberName;
use tonic::Status;

use super::request::CheckedRegister;
use super::service::ConsumerService;
use super::session::ConsumerSession;
use super::stream::fenced_stream;
use crate::access::{CallPermit, StreamPermit};
use crate::commands::Commands;
use crate::connection_end::ConnectionEnd;
use crate::group::ServedGroup;
use crate::quota;
use crate::refusal;
use crate::session::{Entrance, Opened, Over, Registered, in_touch, reach, room_for_a_stream, time_to_live};

/// A session that is to be opened.
struct Entering<'a> {
    registration: &'a CheckedRegister,
    /// The name of its caller; empty: it has none.
    caller: String,
    /// The session that it takes the place of.
    takes_over: Option<LeaseId>,
}

impl ConsumerService {
    /// Opens, takes over or resumes a session, and attaches a stream to it, which is read over `connection`.
    ///
    /// A dropped call may leave a registration behind whose lease runs out by itself.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn register(
        &self,
        request: RegisterRequest,
        connection: ConnectionEnd,
        permit: StreamPermit,
    ) -> Result<Commands, Status> {
        let entropy = self.instance.entropy();
        let registration = CheckedRegister::check(request, || entropy.id())?;
        room_for_a_stream(&self.instance)?;
        let group = match registration.opening {
            Opening::New => {
                self.instance.group_or_create(&registration.group, registration.least_mode).await?
            }
            // A session of a group that was deleted is over; it does not bring the group back.
            Opening::Resume(_) => self.instance.group(&registration.group).await?,
        };
        in_touch(&self.instance, &group)?;
        match self.admit(&group, &registration, permit.call()).await? {
            Ok(opened) => {
                let session = self.attach(group, registration, opened, permit).await?;
                Ok(self.start_stream(session, connection))
            }
            Err(over) => Ok(fenced_stream(group.cluster_id(), over.revision, &over.reason)),
        }
    }

    async fn admit(
        &self,
        group: &ServedGroup,
        registration: &CheckedRegister,
        permit: &CallPermit,
    ) -> Result<Result<Opened, Over>, Status> {
        let member = registration.member();
        let registered = Registered::at(&self.instance, group, &member);
        match registered.enter(&registration.opening, &registration.seen, permit).await? {
            Entrance::Resumed(opened) => Ok(Ok(opened)),
            Entrance::Over(over) => Ok(Err(over)),
            Entrance::Create { takes_over } => {
                let caller = permit.caller().unwrap_or_default().to_owned();
                let entering = Entering { registration, caller, takes_over };
                self.open(&registered, group, entering).await.map(Ok)
            }
        }
    }

    async fn open(
        &self,
        registered: &Registered<'_, Consumer>,
        group: &ServedGroup,
        entering: Entering<'_>,
    ) -> Result<Opened, Status> {
        let Entering { registration, caller, takes_over } = entering;
        let CheckedRegister { name, incarnation, .. } = registration;
        refuse_too_long(group, registration.timeout)?;
        let ttl = time_to_live(group, registration.timeout);
        let consumer = Consumer { caller, ..self.registration_record(registration, ttl) };
        refuse_lacking(group, name, &consumer)?;
        quota::check_registration(self.instance.options().quotas, group, (name, &consumer))?;
        let opened = registered.open(consumer, takes_over).await?;
        tracing::info!(group = %group.name(), consumer = %name, %incarnation,
            took_over = takes_over.is_some(), "session opened");
        Ok(opened)
    }

    fn registration_record(&self, registration: &CheckedRegister, ttl: Duration) -> Consumer {
        let ttl_ms = millis(ttl);
        let wall = self.instance.options().wall.now();
        Consumer {
            topics: registration.topics.clone(),
            max_partitions: registration.max_partitions,
            capacity: registration.capacity,
            rack: registration.rack.clone(),
            generation: registration.generation.clone(),
            max_poll_interval_ms: registration.max_poll_interval_ms,
            capabilities: registration.capabilities.clone(),
            least_mode: registration.least_mode,
            // Until its first report nothing is known of its grants but that there are some.
            begun: registration.capabilities.contains(&Capability::Begun).then(BegunReport::default),
            endpoint: registration.endpoint.clone(),
            process: registration.process.clone(),
            outage_grace_ms: millis(registration.outage_grace),
            instance: self.instance.options().id.clone(),
            client: registration.client.clone(),
            ..Consumer::new(registration.incarnation.clone(), ttl_ms, registration.renewal, wall)
        }
    }

    /// The session that a stream is attached to, once the view is as new as it has to be.
    async fn attach(
        &self,
        group: ServedGroup,
        registration: CheckedRegister,
        opened: Opened,
        permit: StreamPermit,
    ) -> Result<ConsumerSession, Status> {
        reach(&self.instance, &group, &opened, &registration.seen).await?;
        let is_resumed = registration.opening != Opening::New;
        self.instance.metrics().stream(group.name(), is_resumed);
        Ok(ConsumerSession {
            group,
            member: registration.member(),
            lease: opened.lease,
            confirmed: opened.confirmed,
            renews: registration.renewal == Renewal::Server,
            snapshot: registration.capabilities.contains(&Capability::Snapshot),
            says_taken: registration.capabilities.contains(&Capability::Taken),
            outage_grace: registration.outage_grace,
            process: registration.process,
            permit,
        })
    }
}

/// Refuses a session that could act for longer than the group lets it: after the store was put back others wait so long.
fn refuse_too_long(group: &ServedGroup, asked: Option<Duration>) -> Result<(), Status> {
    let most = group.read(|state| state.configured(|config| config.max_session_timeout_ms));
    let asked = asked.map_or(0, millis);
    if asked <= most {
        return Ok(());
    }
    let name = group.name();
    let message = format!(
        "session_timeout_ms = {asked} is refused: group {name} allows {most} at most (max_session_timeout_ms)"
    );
    Err(refusal::field(message))
}

/// Refuses a session that can't keep what the mode of its topics promises: it would be given nothing.
fn refuse_lacking(group: &ServedGroup, name: &MemberName, consumer: &Consumer) -> Result<(), Status> {
    let [weakest, mode] = group.read(|state| {
        let of_group = state.configured(|config| config.mode);
        state.modes_for(consumer, of_group)
    });
    if let Some(least) = consumer.demands_more_than(weakest) {
        return Err(too_weak(group, (name, consumer), (least, weakest)));
    }
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

/// The remedy names the topic where that has a mode of its own.
fn too_weak(
    group: &ServedGroup,
    (name, consumer): (&MemberName, &Consumer),
    (least, weakest): (Mode, Mode),
) -> Status {
    let topic = group.read(|state| state.topic_with_mode(consumer, weakest).cloned());
    let group = group.name();
    let (of, remedy) = match topic {
        Some(topic) => (format!("topic {topic}"), format!("topic set {group} {topic} --mode {least}")),
        None => ("its topics".to_owned(), format!("group set {group} --mode {least}")),
    };
    let message = format!(
        "consumer {name} is refused: it demands the mode {least} at least, and the mode of {of} in group {group} is \
         {weakest}. An operator can change that: kafka-assigner {remedy}"
    );
    status(Reason::ModeTooWeak, message)
}
