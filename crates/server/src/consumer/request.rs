//! A Register, checked.

use std::collections::BTreeSet;
use std::time::Duration;

use kafka_assigner_core::record::{Capability, Consumer, GroupConfig, Renewal};
use kafka_assigner_core::session::Opening;
use kafka_assigner_proto::v1::{self, RegisterRequest};
use kafka_assigner_proto::{PROTOCOL_VERSION, Reason, status};
use kafka_assigner_strategies::Capacity;
use kafka_assigner_types::bounds::{MOST_TEXT, MOST_TOPICS};
use kafka_assigner_types::claim::LONGEST_OUTAGE_GRACE;
use kafka_assigner_types::id::{Incarnation, Member};
use kafka_assigner_types::kv::LeaseId;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_types::name::{GroupName, MemberName, TopicName};
use tonic::Status;

use crate::group_name::group_name;
use crate::refusal;

/// A Register whose values are within their rules.
#[derive(Debug)]
pub(super) struct CheckedRegister {
    pub(super) group: GroupName,
    pub(super) name: MemberName,
    pub(super) incarnation: Incarnation,
    pub(super) opening: Opening,
    pub(super) topics: BTreeSet<TopicName>,
    pub(super) max_partitions: Option<u32>,
    pub(super) capacity: Option<f64>,
    pub(super) rack: String,
    pub(super) generation: String,
    pub(super) timeout: Option<Duration>,
    pub(super) renewal: Renewal,
    pub(super) least_mode: Option<Mode>,
    pub(super) outage_grace: Duration,
    pub(super) capabilities: BTreeSet<Capability>,
    pub(super) max_poll_interval_ms: Option<u64>,
    pub(super) seen: v1::Seen,
    pub(super) endpoint: String,
    pub(super) process: String,
    pub(super) client: String,
}

impl CheckedRegister {
    /// The session that is to be opened or resumed.
    pub(super) fn member(&self) -> Member {
        Member { name: self.name.clone(), incarnation: self.incarnation.clone() }
    }

    /// Checks `request`; `make_incarnation` is asked where a minimal client brings none.
    pub(super) fn check(
        request: RegisterRequest,
        make_incarnation: impl FnOnce() -> String,
    ) -> Result<Self, Status> {
        check_version(request.protocol_version)?;
        if !request.topic_pattern.is_empty() {
            let message = "topic_pattern is not supported by this version: list the topics";
            return Err(status(Reason::NotSupported, message));
        }
        let renewal = renewal(request.renewal)?;
        let checked = Self {
            group: group_name(&request.group)?,
            name: MemberName::new(&request.consumer_name).map_err(|e| refusal::name(&e))?,
            incarnation: incarnation(&request.incarnation, renewal, make_incarnation)?,
            opening: opening(request.resume_lease, &request.incarnation)?,
            topics: topics(&request.topics)?,
            max_partitions: (request.max_partitions > 0).then_some(request.max_partitions),
            capacity: capacity(request.capacity)?,
            rack: label("rack", &request.rack)?,
            generation: label("generation", &request.generation)?,
            timeout: timeout(request.session_timeout_ms)?,
            renewal,
            least_mode: least_mode(request.least_mode)?,
            outage_grace: outage_grace(request.outage_grace_ms, renewal),
            capabilities: capabilities(&request, renewal)?,
            max_poll_interval_ms: (request.max_poll_interval_ms > 0).then_some(request.max_poll_interval_ms),
            seen: request.seen.unwrap_or_default(),
            endpoint: label("endpoint", &request.endpoint)?,
            process: label("process", &request.process)?,
            client: request.client.map(|client| describe(&client)).unwrap_or_default(),
        };
        checked.refuse_own_lack()?;
        Ok(checked)
    }

    /// Refuses a mode that is demanded and that the client itself can't keep: a group would be created for nobody.
    fn refuse_own_lack(&self) -> Result<(), Status> {
        let lack = |least| Some((least, Consumer::lacking(least, self.renewal, &self.capabilities)?));
        let Some((least, lacks)) = self.least_mode.and_then(lack) else { return Ok(()) };
        Err(refusal::field(format!("least_mode = {least} is refused: the client lacks {lacks}")))
    }
}

pub(crate) fn check_version(version: u32) -> Result<(), Status> {
    if version <= PROTOCOL_VERSION {
        return Ok(());
    }
    let message =
        format!("protocol_version {version} is not supported: this instance speaks {PROTOCOL_VERSION}");
    Err(status(Reason::NotSupported, message))
}

/// The weakest mode that the client allows; `None` = any.
fn least_mode(value: i32) -> Result<Option<Mode>, Status> {
    match v1::Mode::try_from(value) {
        Ok(v1::Mode::Overlap) => Ok(None),
        Ok(v1::Mode::Exclusive) => Ok(Some(Mode::Exclusive)),
        Ok(v1::Mode::Routed) => Ok(Some(Mode::Routed)),
        Err(_) => Err(refusal::field(format!("least_mode = {value} is refused: it must be 0, 1 or 2"))),
    }
}

/// The outage grace that is granted. A client that does not tell its own may have the longest.
fn outage_grace(asked: Option<u64>, renewal: Renewal) -> Duration {
    match renewal {
        Renewal::Client => {
            asked.map_or(LONGEST_OUTAGE_GRACE, Duration::from_millis).min(LONGEST_OUTAGE_GRACE)
        }
        Renewal::Server => Duration::ZERO,
    }
}

fn renewal(value: i32) -> Result<Renewal, Status> {
    match v1::Renewal::try_from(value) {
        Ok(v1::Renewal::Server) => Ok(Renewal::Server),
        Ok(v1::Renewal::Client) => Ok(Renewal::Client),
        Err(_) => Err(refusal::field(format!("renewal = {value} is refused: it must be 0 or 1"))),
    }
}

/// The abilities of the client. One that renews its new session and can't take a snapshot would be granted partitions,
/// and lose them at the end of a lease that it is never told.
fn capabilities(request: &RegisterRequest, renewal: Renewal) -> Result<BTreeSet<Capability>, Status> {
    let capabilities: BTreeSet<Capability> = request.capabilities().filter_map(capability).collect();
    let knows_lease = request.resume_lease != 0 || capabilities.contains(&Capability::Snapshot);
    if renewal == Renewal::Server || knows_lease {
        return Ok(capabilities);
    }
    let message = "renewal = CLIENT needs the capability SNAPSHOT: the lease for heartbeats comes with the snapshot. \
                   List the capability, or let the service renew the session (renewal = SERVER)";
    Err(status(Reason::CapabilityMissing, message))
}

pub(crate) fn incarnation(
    text: &str,
    renewal: Renewal,
    make: impl FnOnce() -> String,
) -> Result<Incarnation, Status> {
    if text.is_empty() && renewal == Renewal::Client {
        return Err(refusal::field("incarnation is missing: a session that its client renews needs one"));
    }
    if text.len() > 64 {
        let message = format!("incarnation has {} characters: it may have 64", text.len());
        return Err(refusal::field(message));
    }
    let text = if text.is_empty() { make() } else { text.to_owned() };
    Incarnation::new(&text).map_err(|e| refusal::name(&e))
}

/// The lease of a heartbeat, which has to name one.
pub(crate) fn lease(lease: i64) -> Result<LeaseId, Status> {
    if lease == 0 {
        return Err(refusal::field("lease is missing: a heartbeat names the lease that the snapshot told"));
    }
    Ok(LeaseId(lease))
}

pub(crate) fn opening(resume_lease: i64, incarnation: &str) -> Result<Opening, Status> {
    match resume_lease {
        0 => Ok(Opening::New),
        _ if incarnation.is_empty() => {
            Err(refusal::field("resume_lease without incarnation: a session is resumed by both"))
        }
        lease => Ok(Opening::Resume(LeaseId(lease))),
    }
}

fn topics(names: &[String]) -> Result<BTreeSet<TopicName>, Status> {
    if names.len() > MOST_TOPICS {
        let message = format!("{} topics are too many: a consumer may name {MOST_TOPICS}", names.len());
        return Err(status(Reason::TooManyItems, message));
    }
    names.iter().map(|name| TopicName::new(name).map_err(|e| refusal::name(&e))).collect()
}

fn capacity(wanted: Option<f64>) -> Result<Option<f64>, Status> {
    match wanted {
        Some(value) if Capacity::new(value).is_none() => {
            let (least, most) = (Capacity::MIN, Capacity::MAX);
            Err(refusal::field(format!(
                "capacity = {value} is refused: it must be from {least} to {most:.0}"
            )))
        }
        _ => Ok(wanted),
    }
}

/// A text that is compared and shown, and never part of a key.
fn label(field: &str, text: &str) -> Result<String, Status> {
    let length = text.chars().count();
    if length > MOST_TEXT || text.chars().any(char::is_control) {
        let message = format!(
            "{field} is refused: it may have {MOST_TEXT} characters, none of them a control character"
        );
        return Err(refusal::field(message));
    }
    Ok(text.to_owned())
}

pub(crate) fn timeout(wanted: u64) -> Result<Option<Duration>, Status> {
    let (shortest, longest) = GroupConfig::SESSION_TIMEOUT_MS;
    if wanted == 0 || (shortest..=longest).contains(&wanted) {
        return Ok(millis(wanted));
    }
    let message =
        format!("session_timeout_ms = {wanted} is refused: it must be 0 or {shortest} to {longest}");
    Err(refusal::field(message))
}

fn millis(value: u64) -> Option<Duration> {
    (value > 0).then(|| Duration::from_millis(value))
}

const fn capability(wire: v1::Capability) -> Option<Capability> {
    match wire {
        v1::Capability::Unspecified => None,
        v1::Capability::Snapshot => Some(Capability::Snapshot),
        v1::Capability::Taken => Some(Capability::Taken),
        v1::Capability::Drain => Some(Capability::Drain),
        v1::Capability::CatchUp => Some(Capability::CatchUp),
        v1::Capability::Present => Some(Capability::Present),
        v1::Capability::Rest => Some(Capability::Rest),
        v1::Capability::Begun => Some(Capability::Begun),
        v1::Capability::Fence => Some(Capability::Fence),
    }
}

pub(crate) fn describe(client: &v1::ClientInfo) -> String {
    let text = [&client.library, &client.version, &client.host].map(String::as_str).join(" ");
    text.trim().chars().take(MOST_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: RegisterRequest) -> Result<CheckedRegister, Status> {
        CheckedRegister::check(request, || "made".to_owned())
    }

    fn minimal() -> RegisterRequest {
        RegisterRequest { consumer_name: "c".to_owned(), ..RegisterRequest::default() }
    }

    #[test]
    fn a_client_that_only_gives_its_name_is_renewed_by_the_server_in_the_default_group() {
        let registration = check(minimal()).unwrap();
        assert_eq!(registration.group.as_str(), "default");
        assert_eq!(registration.incarnation.as_str(), "made");
        assert_eq!(registration.renewal, Renewal::Server);
    }

    #[test]
    fn clients_know_the_bounds_of_a_capacity() {
        assert_eq!(kafka_assigner_types::bounds::CAPACITY, (Capacity::MIN, Capacity::MAX));
    }

    #[test]
    fn what_is_refused_is_named_with_its_rule() {
        for (request, part) in [
            (RegisterRequest { consumer_name: "a/b".to_owned(), ..minimal() }, "\"a/b\""),
            (RegisterRequest { consumer_name: String::new(), ..minimal() }, "must not be empty"),
            (RegisterRequest { group: "x".repeat(250), ..minimal() }, "249"),
            (RegisterRequest { session_timeout_ms: 1, ..minimal() }, "session_timeout_ms = 1"),
            (RegisterRequest { topic_pattern: "a.*".to_owned(), ..minimal() }, "topic_pattern"),
            (RegisterRequest { protocol_version: 9, ..minimal() }, "protocol_version 9"),
            (RegisterRequest { renewal: 1, ..minimal() }, "incarnation is missing"),
            (RegisterRequest { renewal: 1, incarnation: "1".to_owned(), ..minimal() }, "SNAPSHOT"),
            (RegisterRequest { renewal: 7, ..minimal() }, "renewal = 7"),
            (RegisterRequest { capacity: Some(0.0), ..minimal() }, "capacity = 0"),
            (RegisterRequest { capacity: Some(f64::NAN), ..minimal() }, "capacity = NaN"),
            (RegisterRequest { rack: "r".repeat(201), ..minimal() }, "rack"),
            (RegisterRequest { generation: "v1\n".to_owned(), ..minimal() }, "generation"),
            (RegisterRequest { resume_lease: 7, ..minimal() }, "without incarnation"),
            (RegisterRequest { topics: vec!["a b".to_owned()], ..minimal() }, "\"a b\""),
        ] {
            let refused = check(request).unwrap_err();
            assert!(refused.message().contains(part), "{}", refused.message());
        }
    }
}
