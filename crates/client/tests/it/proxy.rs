//! A proxy between a consumer and the service that has no backend for a while.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use kafka_assigner_client::{Consumer, ConsumerOptions};
use kafka_assigner_proto::v1::kafka_assigner_server::KafkaAssignerServer;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::NamedService;

use crate::fake::{Asked, Fake};
use crate::grpc::Served;
use crate::recorder::Recorder;

const PATIENCE: Duration = Duration::from_secs(30);

/// Answers with an HTTP status instead of the service, unless that is 200.
#[derive(Clone)]
struct Proxy {
    service: KafkaAssignerServer<Served>,
    status: Arc<AtomicU16>,
    refused: Arc<AtomicUsize>,
}

impl NamedService for Proxy {
    const NAME: &'static str = <KafkaAssignerServer<Served> as NamedService>::NAME;
}

impl Service<http::Request<Body>> for Proxy {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let status = self.status.load(Ordering::SeqCst);
        if status == 200 {
            return self.service.call(request);
        }
        self.refused.fetch_add(1, Ordering::SeqCst);
        let answer = http::Response::builder().status(status).body(Body::empty());
        Box::pin(async move { Ok(answer.expect("a status of HTTP")) })
    }
}

#[tokio::test]
async fn a_proxy_without_a_backend_ends_no_session() {
    let fake = Fake::new();
    let (status, refused) = (Arc::new(AtomicU16::new(200)), Arc::new(AtomicUsize::new(0)));
    let service = KafkaAssignerServer::new(Served(fake.clone()));
    let proxy = Proxy { service, status: status.clone(), refused: refused.clone() };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    let server = tonic::transport::Server::builder().add_service(proxy);
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    let consumer = Consumer::new(ConsumerOptions::new("a", [address])).expect("valid options");
    let mut handle = consumer.handle();
    let _run = tokio::spawn(consumer.run(Recorder::default(), CancellationToken::new()));
    let opened = handle.wait_for(|status| status.session.is_some());
    let session = timeout(PATIENCE, opened).await.expect("in time").expect("it runs").session;
    for refusal in [404, 401, 403, 503] {
        let (before, resumed) = (refused.load(Ordering::SeqCst), registers(&fake));
        status.store(refusal, Ordering::SeqCst);
        fake.break_stream();
        while refused.load(Ordering::SeqCst) < before + 3 {
            sleep(Duration::from_millis(5)).await;
        }
        assert!(handle.status().last_error.is_some(), "{refusal}");
        status.store(200, Ordering::SeqCst);
        while registers(&fake) == resumed {
            sleep(Duration::from_millis(5)).await;
        }
        assert_eq!((handle.status().session, handle.status().sessions_lost), (session.clone(), 0));
    }
}

fn registers(fake: &Fake) -> usize {
    fake.asked().iter().filter(|asked| matches!(asked, Asked::Register { .. })).count()
}
