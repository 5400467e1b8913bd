//! A router of the run.

use std::time::Duration;

use anyhow::Result;
use kafka_assigner_router::{Router, RouterOptions, stop};
use kafka_assigner_writer::{Wire, run_router};
use tokio::net::TcpListener;

use crate::arguments::RouterSettings;
use crate::consumers::{GROUP, SESSION_TIMEOUT};
use crate::load::TOPIC;

/// Less than a phase of a handoff may take in this run.
const SEND_TIMEOUT: Duration = Duration::from_secs(4);

/// Runs until SIGTERM, and then until what it holds is answered.
pub(crate) async fn run(settings: RouterSettings) -> Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let transport = settings.place.transport();
    let options = RouterOptions {
        group: GROUP.to_owned(),
        session_timeout: Some(SESSION_TIMEOUT),
        send_timeout: SEND_TIMEOUT,
        ..RouterOptions::new(settings.place.name, settings.place.endpoints)
    };
    let router = Router::forwarding_over(options, Wire::new(), transport)?;
    run_router(router, TOPIC.to_owned(), TcpListener::bind(settings.listen), stop::on_signal()?).await
}
