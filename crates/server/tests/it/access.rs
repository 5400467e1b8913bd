//! The rights of callers: known by token and by certificate, against an access file that changes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use kafka_assigner_access::CallerToken;
use kafka_assigner_proto::v1::admin_client::AdminClient;
use kafka_assigner_proto::v1::kafka_assigner_client::KafkaAssignerClient;
use kafka_assigner_proto::v1::routing_client::RoutingClient;
use kafka_assigner_proto::v1::{
    AttachRequest, Caller, DeregisterRequest, DescribeGroupRequest, DetachRequest, GroupConfig,
    HeartbeatRequest, ListConsumersRequest, ListGroupsRequest, PartitionAck, PartitionReadyRequest,
    RegisterRequest, RouterCaller, RouterHeartbeatRequest, SetGroupConfigRequest, WatchRequest,
};
use kafka_assigner_proto::{BearerToken, Reason, ReasonExt as _, TokenOrigin};
use kafka_assigner_server::grpc::AUDIT_TARGET;
use kafka_assigner_server::serve::{Error, ServeOptions};
use tempfile::TempDir;
use tokio::time::timeout;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Identity};
use tonic::{Response, Status, Streaming};

use crate::http::get;
use crate::served::{PATIENCE, Served, until};
use crate::tls::{Authority, trusting};

const RULES: &str = r#"
[[rule]]
callers = ["payments", "billing"]
groups = ["g"]
rights = ["consume", "route"]
members = ["worker-*"]

[[rule]]
callers = ["payments"]
groups = ["g"]
rights = ["read"]

[[rule]]
callers = ["operator"]
groups = ["*"]
rights = ["operate"]
"#;

type Calls = InterceptedService<Channel, BearerToken>;

/// An instance with an access file.
struct Guarded {
    served: Served,
    file: PathBuf,
    _folder: TempDir,
}

/// The token of a caller, made from its name: only a test does that.
fn token(caller: &str) -> CallerToken {
    let mut bytes = [0; 32];
    bytes[..caller.len()].copy_from_slice(caller.as_bytes());
    CallerToken::of_random(bytes)
}

fn file(rules: &str) -> String {
    let entry =
        |caller: &str| format!("[[token]]\ncaller = \"{caller}\"\nsha256 = \"{}\"\n", token(caller).sha256());
    ["payments", "billing", "operator"].map(entry).concat() + rules
}

impl Guarded {
    async fn start(rules: &str, options: ServeOptions) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("access.toml");
        std::fs::write(&path, file(rules)).expect("it is written");
        let options = ServeOptions { access_file: Some(path.clone()), ..options };
        Self { served: Served::with(options).await, file: path, _folder: folder }
    }

    /// In the clear, with the group `g` made by the operator.
    async fn with_group() -> Self {
        let guarded = Self::start(RULES, ServeOptions::default()).await;
        let mut operator = AdminClient::new(guarded.calls("operator").await);
        for group in ["g", "other"] {
            let request =
                SetGroupConfigRequest { group: group.to_owned(), ..SetGroupConfigRequest::default() };
            operator.set_group_config(request).await.expect("operators may");
        }
        guarded
    }

    async fn calls(&self, caller: &str) -> Calls {
        let origin = TokenOrigin::Given(token(caller).reveal().to_owned());
        InterceptedService::new(self.served.channel().await, BearerToken::from_origin(origin))
    }

    async fn metric(&self, line: &str) -> bool {
        get(&self.served, "/metrics").await.contains(line)
    }
}

fn worker(name: &str) -> RegisterRequest {
    RegisterRequest {
        group: "g".to_owned(),
        consumer_name: name.to_owned(),
        incarnation: format!("{name}-1"),
        ..RegisterRequest::default()
    }
}

#[track_caller]
fn refused<T>(answer: Result<Response<T>, Status>, reason: Reason) -> String {
    let Err(refusal) = answer else { panic!("it is allowed") };
    assert_eq!(refusal.reason(), Some(reason), "{refusal}");
    refusal.message().to_owned()
}

#[tokio::test]
async fn a_call_without_a_name_that_the_file_knows_is_refused() {
    let guarded = Guarded::with_group().await;
    let mut nobody = AdminClient::new(guarded.served.channel().await);
    let why = refused(nobody.list_groups(ListGroupsRequest::default()).await, Reason::CallerUnknown);
    assert!(why.contains("neither a client certificate nor a bearer token"), "{why}");
    let mut stranger = AdminClient::new(guarded.calls("stranger").await);
    let why = refused(stranger.list_groups(ListGroupsRequest::default()).await, Reason::CallerUnknown);
    assert!(!why.contains(token("stranger").reveal()), "{why}");
    assert!(guarded.metric("kafka_assigner_calls_denied_total{reason=\"CALLER_UNKNOWN\"} 2").await);
}

#[tokio::test]
async fn a_consumer_acts_in_its_group_under_its_names_and_does_nothing_else() {
    let guarded = Guarded::with_group().await;
    let mut consumer = KafkaAssignerClient::new(guarded.calls("billing").await);
    consumer.register(worker("worker-1")).await.unwrap();
    let why = refused(consumer.register(worker("cache-1")).await, Reason::NotAllowed);
    assert!(["billing", "consume", "group g", "cache-1"].iter().all(|part| why.contains(part)), "{why}");
    let elsewhere = RegisterRequest { group: "other".to_owned(), ..worker("worker-1") };
    refused(consumer.register(elsewhere).await, Reason::NotAllowed);
    let mut operator = AdminClient::new(guarded.calls("billing").await);
    let change = SetGroupConfigRequest { group: "g".to_owned(), ..SetGroupConfigRequest::default() };
    refused(operator.set_group_config(change).await, Reason::NotAllowed);
    let look = DescribeGroupRequest { group: "g".to_owned() };
    refused(operator.describe_group(look).await, Reason::NotAllowed);
}

#[tokio::test]
async fn a_consumer_that_is_refused_creates_no_group() {
    let guarded = Guarded::with_group().await;
    let mut consumer = KafkaAssignerClient::new(guarded.calls("billing").await);
    let request = RegisterRequest { group: "made-up".to_owned(), ..worker("worker-1") };
    refused(consumer.register(request).await, Reason::NotAllowed);
    let mut operator = AdminClient::new(guarded.calls("operator").await);
    let groups = operator.list_groups(ListGroupsRequest::default()).await.unwrap().into_inner().groups;
    assert_eq!(groups.iter().map(|group| &*group.group).collect::<Vec<_>>(), ["g", "other"]);
}

#[tokio::test]
async fn a_list_of_groups_leaves_out_those_of_others() {
    let guarded = Guarded::with_group().await;
    let listed = async |caller: &str| {
        let mut admin = AdminClient::new(guarded.calls(caller).await);
        let page = admin.list_groups(ListGroupsRequest { page_size: 1, ..ListGroupsRequest::default() });
        let page = page.await.unwrap().into_inner();
        (page.groups.into_iter().map(|group| group.group).collect::<Vec<_>>(), page.next_page_token)
    };
    assert_eq!(listed("payments").await, (vec!["g".to_owned()], String::new()));
    assert_eq!(listed("billing").await, (vec![], String::new()));
    assert_eq!(listed("operator").await.0, ["g"]);
}

#[tokio::test]
async fn nobody_acts_in_a_session_that_another_caller_opened() {
    let guarded = Guarded::with_group().await;
    let mut owner = KafkaAssignerClient::new(guarded.calls("payments").await);
    let mut other = KafkaAssignerClient::new(guarded.calls("billing").await);
    owner.register(worker("worker-1")).await.unwrap();
    let caller = Caller {
        group: "g".to_owned(),
        consumer_name: "worker-1".to_owned(),
        incarnation: "worker-1-1".to_owned(),
    };
    let takeover = RegisterRequest { incarnation: "another".to_owned(), ..worker("worker-1") };
    let why = refused(other.register(takeover.clone()).await, Reason::HeldByAnother);
    assert!(why.contains("worker-1") && why.contains("another caller opened it"), "{why}");
    let resume = RegisterRequest { resume_lease: 1, ..worker("worker-1") };
    refused(other.register(resume).await, Reason::HeldByAnother);
    let heartbeat = HeartbeatRequest {
        group: "g".to_owned(),
        consumer_name: "worker-1".to_owned(),
        incarnation: "worker-1-1".to_owned(),
        lease: 1,
        ..HeartbeatRequest::default()
    };
    refused(other.heartbeat(heartbeat).await, Reason::HeldByAnother);
    let ready = PartitionReadyRequest {
        caller: Some(caller.clone()),
        partitions: vec![PartitionAck { topic: "t".to_owned(), ..PartitionAck::default() }],
    };
    refused(other.partition_ready(ready).await, Reason::HeldByAnother);
    let leave = DeregisterRequest { caller: Some(caller.clone()), ..DeregisterRequest::default() };
    refused(other.deregister(leave).await, Reason::HeldByAnother);
    owner.register(takeover).await.unwrap();
}

#[tokio::test]
async fn a_router_needs_the_right_of_routers_and_keeps_its_session_to_itself() {
    let guarded = Guarded::with_group().await;
    let attach = |incarnation: &str| AttachRequest {
        group: "g".to_owned(),
        router_name: "worker-r".to_owned(),
        incarnation: incarnation.to_owned(),
        ..AttachRequest::default()
    };
    let mut operator = RoutingClient::new(guarded.calls("operator").await);
    refused(operator.attach(attach("1")).await, Reason::NotAllowed);
    let mut owner = RoutingClient::new(guarded.calls("payments").await);
    owner.attach(attach("1")).await.unwrap();
    let mut other = RoutingClient::new(guarded.calls("billing").await);
    refused(other.attach(attach("2")).await, Reason::HeldByAnother);
    let caller = RouterCaller {
        group: "g".to_owned(),
        router_name: "worker-r".to_owned(),
        incarnation: "1".to_owned(),
    };
    let heartbeat = RouterHeartbeatRequest {
        caller: Some(caller.clone()),
        lease: 1,
        ..RouterHeartbeatRequest::default()
    };
    refused(other.heartbeat(heartbeat).await, Reason::HeldByAnother);
    let leave = DetachRequest { caller: Some(caller) };
    refused(other.detach(leave).await, Reason::HeldByAnother);
}

/// The refusal that ends a stream.
async fn end_of<T>(mut stream: Streaming<T>) -> Status {
    let ending = async {
        loop {
            match stream.message().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the stream ends without a word"),
                Err(refusal) => break refusal,
            }
        }
    };
    timeout(PATIENCE, ending).await.expect("the stream ends")
}

#[tokio::test]
async fn a_change_of_the_file_counts_soon_and_ends_the_streams_that_it_forbids() {
    let guarded = Guarded::with_group().await;
    let mut consumer = KafkaAssignerClient::new(guarded.calls("payments").await);
    let commands = consumer.register(worker("worker-1")).await.unwrap().into_inner();
    let mut admin = AdminClient::new(guarded.calls("payments").await);
    let events = admin.watch(WatchRequest { group: "g".to_owned() }).await.unwrap().into_inner();
    let without = RULES.replace("\"payments\", ", "").replace("\"payments\"", "\"x\"");
    std::fs::write(&guarded.file, file(&without)).unwrap();
    assert_eq!(end_of(commands).await.reason(), Some(Reason::NotAllowed));
    assert_eq!(end_of(events).await.reason(), Some(Reason::NotAllowed));
    refused(consumer.register(worker("worker-1")).await, Reason::NotAllowed);
    let suspected = "kafka_assigner_suspicions_withheld_total";
    assert!(!guarded.metric(suspected).await, "whoever is refused is not taken for dead");
}

#[tokio::test]
async fn a_token_that_was_taken_out_ends_what_it_opened() {
    let guarded = Guarded::with_group().await;
    let mut admin = AdminClient::new(guarded.calls("payments").await);
    let events = admin.watch(WatchRequest { group: "g".to_owned() }).await.unwrap().into_inner();
    let replaced = file(RULES).replace(&token("payments").sha256(), &token("payments-new").sha256());
    std::fs::write(&guarded.file, replaced).unwrap();
    assert_eq!(end_of(events).await.reason(), Some(Reason::CallerUnknown));
    let again =
        AdminClient::new(guarded.calls("payments-new").await).list_groups(ListGroupsRequest::default()).await;
    assert_eq!(again.unwrap().into_inner().groups.len(), 1);
}

#[tokio::test]
async fn a_session_that_the_service_renews_is_renewed_no_longer_once_it_is_forbidden() {
    let guarded = Guarded::with_group().await;
    let mut consumer = KafkaAssignerClient::new(guarded.calls("billing").await);
    let request = RegisterRequest { session_timeout_ms: 2_000, ..worker("worker-1") };
    let _unread = consumer.register(request).await.unwrap();
    let mut operator = AdminClient::new(guarded.calls("operator").await);
    let mut consumers = async || {
        let request = ListConsumersRequest { group: "g".to_owned(), ..ListConsumersRequest::default() };
        operator.list_consumers(request).await.unwrap().into_inner().consumers.len()
    };
    assert_eq!(consumers().await, 1);
    std::fs::write(&guarded.file, file(&RULES.replace(", \"billing\"", ""))).unwrap();
    until("the session has run out", consumers, |count| *count == 0).await;
}

/// The lines of the log of this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no writer panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn audited(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().expect("no writer panics").clone()).expect("text");
        text.lines().filter(|line| line.contains(AUDIT_TARGET)).map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn each_change_of_an_operator_is_a_line_with_its_actor_and_the_subject_before_and_after() {
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(lines);
    let guarded = Guarded::with_group().await;
    let config = GroupConfig { debounce_ms: Some(777), ..GroupConfig::default() };
    let request = SetGroupConfigRequest {
        group: "g".to_owned(),
        config: Some(config),
        ..SetGroupConfigRequest::default()
    };
    let mut operator = AdminClient::new(guarded.calls("operator").await);
    let before = log.audited().len();
    operator.set_group_config(request.clone()).await.unwrap();
    let mut billing = AdminClient::new(guarded.calls("billing").await);
    refused(billing.set_group_config(request).await, Reason::NotAllowed);
    let lines = log.audited();
    let [changed, denied] = &lines[before..] else { panic!("two lines: {lines:?}") };
    assert!(changed.contains("\"operator\""), "{changed}");
    let (earlier, later) = changed.split_once("after=").expect("the subject after");
    assert!(earlier.contains("set_group_config") && !earlier.contains("debounce_ms\\\":777"), "{changed}");
    assert!(later.contains("777"), "{changed}");
    assert!(denied.contains("\"billing\"") && denied.contains("not changed"), "{denied}");
}

#[tokio::test]
async fn a_file_that_is_broken_changes_nothing_and_is_seen() {
    let guarded = Guarded::with_group().await;
    assert!(guarded.metric("kafka_assigner_access_file_unusable 0").await);
    std::fs::write(&guarded.file, "[[rule]").unwrap();
    let seen = async || guarded.metric("kafka_assigner_access_file_unusable 1").await;
    until("the metric tells", seen, |seen| *seen).await;
    let mut operator = AdminClient::new(guarded.calls("operator").await);
    operator.list_groups(ListGroupsRequest::default()).await.unwrap();
}

#[tokio::test]
async fn an_instance_does_not_start_with_a_file_that_it_can_not_use() {
    let options = ServeOptions { access_file: Some("/none/access.toml".into()), ..ServeOptions::default() };
    let Err(Error::AccessFile(error)) = Served::with(options).await.ended().await else {
        panic!("it starts")
    };
    assert!(error.to_string().contains("/none/access.toml"), "{error}");
}

#[tokio::test]
async fn a_certificate_names_its_caller_and_a_token_stands_in_for_one() {
    let authority = Authority::new();
    let tls = authority.tls(Some(authority.pem()));
    let guarded = Guarded::start(RULES, ServeOptions { tls: Some(tls), ..ServeOptions::default() }).await;
    let change = |channel: Calls| async {
        let request = SetGroupConfigRequest { group: "g".to_owned(), ..SetGroupConfigRequest::default() };
        AdminClient::new(channel).set_group_config(request).await
    };
    let signed = authority.sign("operator");
    let identity = Identity::from_pem(signed.certificate, signed.key);
    let shown = guarded.served.secure_channel(trusting(&authority).identity(identity)).await;
    change(InterceptedService::new(shown, BearerToken::default())).await.unwrap();
    let bare = guarded.served.secure_channel(trusting(&authority)).await;
    refused(
        change(InterceptedService::new(bare.clone(), BearerToken::default())).await,
        Reason::CallerUnknown,
    );
    let origin = TokenOrigin::Given(token("operator").reveal().to_owned());
    change(InterceptedService::new(bare, BearerToken::from_origin(origin))).await.unwrap();
}

#[tokio::test]
async fn without_a_file_a_certificate_still_keeps_a_session_from_others() {
    let authority = Authority::new();
    let tls = authority.tls(Some(authority.pem()));
    let served = Served::with(ServeOptions { tls: Some(tls), ..ServeOptions::default() }).await;
    let client = async |name: &str| {
        let signed = authority.sign(name);
        let identity = Identity::from_pem(signed.certificate, signed.key);
        KafkaAssignerClient::new(served.secure_channel(trusting(&authority).identity(identity)).await)
    };
    client("payments").await.register(worker("worker-1")).await.unwrap();
    let takeover = RegisterRequest { incarnation: "another".to_owned(), ..worker("worker-1") };
    refused(client("billing").await.register(takeover.clone()).await, Reason::HeldByAnother);
    client("payments").await.register(takeover).await.unwrap();
}

const LIMITS: &str = "[[limit]]\ncallers = [\"payments\"]\ncalls_per_second = 1\n\
                      [[limit]]\ncallers = [\"billing\"]\nstreams = 1\n";

#[tokio::test]
async fn a_caller_beyond_its_limits_is_refused_and_others_are_not() {
    let guarded = Guarded::with_group().await;
    let mut often = AdminClient::new(guarded.calls("payments").await);
    let mut consumer = KafkaAssignerClient::new(guarded.calls("billing").await);
    std::fs::write(&guarded.file, file(&(RULES.to_owned() + LIMITS))).unwrap();
    let mut ask = async || often.list_groups(ListGroupsRequest::default()).await;
    let refusal = until("the limit is met", &mut ask, Result::is_err).await.unwrap_err();
    assert_eq!(refusal.reason(), Some(Reason::LimitReached), "{refusal}");
    assert!(refusal.message().contains("calls_per_second = 1"), "{refusal}");
    assert!(refusal.retry_after().is_some_and(|wait| wait <= PATIENCE), "{refusal:?}");
    let held = consumer.register(worker("worker-1")).await.unwrap();
    let why = refused(consumer.register(worker("worker-2")).await, Reason::LimitReached);
    assert!(why.contains("billing") && why.contains("streams = 1"), "{why}");
    drop(held);
    let again = async || consumer.register(worker("worker-2")).await;
    until("the place is free again", again, Result::is_ok).await.unwrap();
}
