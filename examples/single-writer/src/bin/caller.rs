//! A caller as a program: adds to a counter, or reads it.

use std::net::SocketAddr;
use std::time::UNIX_EPOCH;

use clap::Parser;
use kafka_assigner_example_single_writer::{Caller, Failure};
use tokio::sync::watch;

/// Adds to a counter, and prints it.
#[derive(Debug, Parser)]
struct Options {
    /// Routers, as "address:port", separated by commas
    #[arg(long, value_delimiter = ',', default_value = "127.0.0.1:7430")]
    routers: Vec<SocketAddr>,
    /// The counter
    key: String,
    /// How much to add; none = it is only read
    amount: Option<u64>,
}

/// How often a request is repeated that may have been executed.
const REPEATS: usize = 10;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    // A name that nobody had before: another process has another number, or another time.
    let name = format!("{}-{}", std::process::id(), UNIX_EPOCH.elapsed()?.as_nanos());
    let (_routers, routers) = watch::channel(options.routers);
    let mut caller = Caller::new(name, routers, 0);
    let request = caller.request(options.key, options.amount);
    let mut answer = caller.send(&request).await;
    for _ in 0..REPEATS {
        if !matches!(answer, Err(Failure::Unknown(_))) {
            break;
        }
        answer = caller.send(&request).await;
    }
    println!("{}", answer?);
    Ok(())
}
