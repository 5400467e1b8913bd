//! The probes of an instance that waits for its store.

use std::io;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::routing::get;
use tokio::net::TcpListener;

/// No probe stays connected: the instance that starts will answer the next one.
const ONCE: [(header::HeaderName, &str); 1] = [(header::CONNECTION, "close")];

/// Answers probes on `listener` while an instance starts: it lives, and is not ready. A process that were ended for waiting
/// would only be late when the store is back.
///
/// Runs until it is dropped; give it a [clone](std::net::TcpListener::try_clone) of the listener that is served afterwards.
///
/// # Errors
/// Where the listener breaks down.
pub async fn answer_probes(listener: TcpListener) -> io::Result<()> {
    let alive = || async { (StatusCode::OK, ONCE, "ok instance: starting, and waiting for its store\n") };
    let ready = || async { (StatusCode::SERVICE_UNAVAILABLE, ONCE, "failed store: not reached yet\n") };
    let routes = Router::new().route("/livez", get(alive)).route("/readyz", get(ready));
    axum::serve(listener, routes).await
}
