//! The run of a writer and of a router, from start to end.

use std::io;
use std::sync::Arc;

use anyhow::Result;
use kafka_assigner_client::{Consumer, PartitionHandler, Transport};
use kafka_assigner_router::{Forwarder, Router, RoutingTransport};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::door::Door;
use crate::forward::Wire;
use crate::wire;
use crate::writer::Reception;

/// Runs a consumer whose `handler` is a writer, or has one. Requests come in at `listener`, and go to `reception`. On
/// `stop` it hands its partitions over and ends.
///
/// # Errors
///
/// Those with which the consumer ends.
pub async fn run_writer<T: Transport>(
    consumer: Consumer<T>,
    handler: impl PartitionHandler,
    reception: Reception,
    listener: TcpListener,
    stop: CancellationToken,
) -> Result<()> {
    // Requests are answered, or refused, for as long as a router may send one.
    let done = CancellationToken::new();
    let serving = tokio::spawn(wire::serve(listener, Arc::new(reception), done.clone()));
    let stopped = consumer.run(handler, stop).await;
    done.cancel();
    serving.await?;
    stopped?;
    Ok(())
}

/// Runs a router, which takes requests for `topic` to their writers. `bind` is awaited when there is a table: callers who
/// came sooner would be sent away. On `stop` it answers what it holds and ends.
///
/// # Errors
///
/// A port that can't be had, and those with which the router ends.
pub async fn run_router<T: RoutingTransport>(
    router: Router<Forwarder<Wire>, T>,
    topic: String,
    bind: impl Future<Output = io::Result<TcpListener>>,
    stop: CancellationToken,
) -> Result<()> {
    let (door, mut status) = (Arc::new(Door::new(router.cutover(), topic)), router.status());
    let routing = tokio::spawn(router.run(stop.clone()));
    // An error is that of the router, below.
    if status.wait_for(|status| status.is_open).await.is_ok() {
        wire::serve(bind.await?, door, stop).await;
    }
    routing.await??;
    Ok(())
}
