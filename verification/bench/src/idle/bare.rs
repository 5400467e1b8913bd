//! Streams with nothing behind them: the watch of tonic's own health service, served as an instance is.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use tonic::Streaming;
use tonic::transport::{Endpoint, Server};
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

/// As an instance has it.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Serves at `listen` until the process is killed.
pub(crate) async fn serve_forever(listen: SocketAddr) -> Result<()> {
    let (_reporter, health) = tonic_health::server::health_reporter();
    let server = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .add_service(health);
    Ok(server.serve(listen).await?)
}

/// Opens `count` streams on a connection each, which have said their first word.
pub(super) async fn connect(address: &str, count: usize) -> Result<Vec<Streaming<HealthCheckResponse>>> {
    let mut streams = Vec::with_capacity(count);
    for _ in 0..count {
        let mut client = HealthClient::new(Endpoint::from_shared(address.to_owned())?.connect().await?);
        let mut stream = client.watch(HealthCheckRequest::default()).await?.into_inner();
        stream.message().await?;
        streams.push(stream);
    }
    Ok(streams)
}
