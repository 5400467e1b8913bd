//! Probes and metrics over HTTP: `/livez`, `/readyz`, `/metrics`.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;
use tower::limit::GlobalConcurrencyLimitLayer;

use super::listeners::Http;
use super::readiness::{Finding, alive, ready};
use crate::instance::Instance;

/// The most requests at a time. There is one prober and one scraper or two; each probe reads the store once.
const AT_A_TIME: usize = 8;

/// The media type of what `/metrics` answers.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Clone)]
struct Site {
    instance: Instance,
    registry: Arc<Registry>,
}

/// Serves until `closed` and every connection has ended.
pub(super) async fn run(instance: Instance, http: Http, closed: CancellationToken) -> io::Result<()> {
    let site = Site { instance, registry: Arc::new(http.registry) };
    let routes = Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .layer(GlobalConcurrencyLimitLayer::new(AT_A_TIME))
        .with_state(site);
    axum::serve(http.listener, routes).with_graceful_shutdown(closed.cancelled_owned()).await
}

async fn livez(State(site): State<Site>) -> Response {
    report(&alive(&site.instance))
}

async fn readyz(State(site): State<Site>) -> Response {
    report(&ready(&site.instance).await)
}

async fn metrics(State(site): State<Site>) -> Response {
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, &site.registry) {
        Ok(()) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// One line for each finding; unavailable where one of them is bad.
fn report(findings: &[Finding]) -> Response {
    let code = if findings.iter().all(Finding::is_bearable) {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let text: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
    (code, text).into_response()
}
