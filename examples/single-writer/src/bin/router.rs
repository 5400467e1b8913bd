//! A router as a program. SIGTERM answers what it holds and ends.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use kafka_assigner_router::{Router, RouterOptions, stop};
use kafka_assigner_writer::{Wire, run_router};
use tokio::net::TcpListener;

/// Takes requests to the writers of their keys.
#[derive(Debug, Parser)]
struct Options {
    /// Instances, as "http://host:port", separated by commas
    #[arg(long, value_delimiter = ',', required = true)]
    endpoints: Vec<String>,
    /// The group, which has to be in the mode routed
    #[arg(long, default_value = "default")]
    group: String,
    /// The router's name, unique within the group
    #[arg(long)]
    name: String,
    /// The topic that is the log of the writers
    #[arg(long)]
    topic: String,
    /// The address for requests
    #[arg(long, default_value = "127.0.0.1:7430")]
    listen: SocketAddr,
    /// The time that a request may take to a writer and back, in seconds; less than a phase of a handoff may take
    #[arg(long, default_value_t = 5)]
    send_timeout: u64,
    /// The session's time to live in seconds; none = half of the group's hold deadline
    #[arg(long)]
    session_timeout: Option<u64>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let options = Options::parse();
    let router = Router::forwarding(
        RouterOptions {
            group: options.group,
            send_timeout: Duration::from_secs(options.send_timeout),
            session_timeout: options.session_timeout.map(Duration::from_secs),
            ..RouterOptions::new(options.name, options.endpoints)
        },
        Wire::new(),
    )?;
    run_router(router, options.topic, TcpListener::bind(options.listen), stop::on_signal()?).await
}
