//! One instance on real sockets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_proto::v1::admin_client::AdminClient;
use kafka_assigner_proto::v1::kafka_assigner_client::KafkaAssignerClient;
use kafka_assigner_proto::v1::{AssignmentCommand, RegisterRequest, SetTopicRequest, Topic};
use kafka_assigner_server::serve::{Error, Http, Listeners, ServeOptions, serve};
use kafka_assigner_server::{Instance, Options};
use kafka_assigner_store::MemoryStore;
use kafka_assigner_store::faulty::FaultyStore;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tonic::Streaming;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};

/// The longest wait of a test for what must come: sockets are real, and so is the time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A served instance; it stops with the test's runtime, or when it is told to.
pub(crate) struct Served {
    pub(crate) grpc: SocketAddr,
    pub(crate) http: SocketAddr,
    pub(crate) link: FaultyStore<MemoryStore>,
    shutdown: CancellationToken,
    task: JoinHandle<Result<(), Error>>,
}

impl Served {
    /// Serves an instance in the clear.
    pub(crate) async fn start() -> Self {
        Self::with(ServeOptions::default()).await
    }

    pub(crate) async fn with(options: ServeOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let http = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let grpc = listener.local_addr().expect("it is bound");
        let http_address = http.local_addr().expect("it is bound");
        let link = FaultyStore::new(MemoryStore::new(), 1);
        let mut registry = Registry::with_prefix("kafka_assigner");
        let settings = Options::new("i0", format!("http://{grpc}"), 1);
        let instance = Instance::start(Arc::new(link.clone()), settings, None, &mut registry)
            .await
            .expect("memory answers");
        let listeners = Listeners { grpc: listener, http: Some(Http { listener: http, registry }) };
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(serve(instance, listeners, options, shutdown.clone()));
        Self { grpc, http: http_address, link, shutdown, task }
    }

    pub(crate) async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.grpc)).expect("an address");
        endpoint.connect().await.expect("it listens")
    }

    pub(crate) async fn secure_channel(&self, tls: ClientTlsConfig) -> Channel {
        let endpoint = Endpoint::from_shared(format!("https://{}", self.grpc)).expect("an address");
        endpoint.tls_config(tls).expect("a configuration").connect().await.expect("it listens")
    }

    /// A connection on which little is under way while nobody reads.
    pub(crate) async fn narrow_channel(&self) -> Channel {
        const WINDOW: u32 = 65_535;
        let endpoint = Endpoint::from_shared(format!("http://{}", self.grpc)).expect("an address");
        let narrow = endpoint.initial_stream_window_size(WINDOW).initial_connection_window_size(WINDOW);
        narrow.connect().await.expect("it listens")
    }

    pub(crate) async fn admin(&self) -> AdminClient<Channel> {
        AdminClient::new(self.channel().await)
    }

    /// Tells it to stop.
    pub(crate) fn stop(&self) {
        self.shutdown.cancel();
    }

    /// The result of serving, which must come within the patience.
    pub(crate) async fn ended(self) -> Result<(), Error> {
        timeout(PATIENCE, self.task).await.expect("it ends").expect("it does not panic")
    }

    /// Sets the topic `t` of group `g`, which is created with it.
    pub(crate) async fn topic(&self, partitions: u32) {
        let mut admin = self.admin().await;
        let config = kafka_assigner_proto::v1::SetGroupConfigRequest {
            group: "g".to_owned(),
            config: None,
            owners_stopped: false,
        };
        admin.set_group_config(config).await.expect("a group is created");
        let topic = Topic { topic: "t".to_owned(), partitions, ..Topic::default() };
        let request = SetTopicRequest { group: "g".to_owned(), topic: Some(topic) };
        admin.set_topic(request).await.expect("a topic is set");
    }

    /// A consumer of group `g` that says nothing of its own accord. It is here while the stream lives.
    pub(crate) async fn consumer(&self, name: &str) -> Streaming<AssignmentCommand> {
        let request = RegisterRequest {
            group: "g".to_owned(),
            consumer_name: name.to_owned(),
            ..RegisterRequest::default()
        };
        self.register(request).await
    }

    /// A consumer that asks for what it is told to.
    pub(crate) async fn register(&self, request: RegisterRequest) -> Streaming<AssignmentCommand> {
        let mut client = KafkaAssignerClient::new(self.channel().await);
        client.register(request).await.expect("it is registered").into_inner()
    }
}

/// Asks again and again until the answer is as it must become.
pub(crate) async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> T, holds: impl Fn(&T) -> bool) -> T {
    let waiting = async {
        loop {
            let answer = ask().await;
            if holds(&answer) {
                return answer;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    match timeout(PATIENCE, waiting).await {
        Ok(answer) => answer,
        Err(_) => panic!("never came: {what}"),
    }
}
