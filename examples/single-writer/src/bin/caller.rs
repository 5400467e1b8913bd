//! A caller as a program: adds to a counter or reads it, once, or as often as it gets an answer.

use std::net::SocketAddr;
use std::time::{Duration, Instant, UNIX_EPOCH};

use clap::Parser;
use kafka_assigner_writer::{Caller, Failure};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Adds to a counter, and prints it.
#[derive(Debug, Clone, Parser)]
struct Options {
    /// Routers, as "address:port", separated by commas
    #[arg(long, value_delimiter = ',', default_value = "127.0.0.1:7430")]
    routers: Vec<SocketAddr>,
    /// The counter
    key: String,
    /// The amount to add; none = it is only read
    amount: Option<u64>,
    /// Ask for that many seconds, and print how many answers came a second
    #[arg(long)]
    seconds: Option<u64>,
    /// So many callers ask then, each with a counter of its own and one request at a time
    #[arg(long, default_value_t = 64, requires = "seconds")]
    callers: usize,
}

/// The number of times that a request is repeated that may have been executed.
const REPEATS: usize = 10;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let (_routers, routers) = watch::channel(options.routers.clone());
    match options.seconds {
        Some(seconds) => load(options, &routers, Duration::from_secs(seconds)).await,
        None => {
            println!("{}", ask(&mut Caller::new(name()?, routers, 0), &options.key, options.amount).await?);
            Ok(())
        }
    }
}

/// A name that nobody had before: another process has another number, or another time.
fn name() -> anyhow::Result<String> {
    Ok(format!("{}-{}", std::process::id(), UNIX_EPOCH.elapsed()?.as_nanos()))
}

async fn ask(caller: &mut Caller, key: &str, amount: Option<u64>) -> Result<u64, Failure> {
    let request = caller.request(key, amount);
    let mut answer = caller.send(&request).await;
    for _ in 0..REPEATS {
        let Err(unknown @ Failure::Unknown(_)) = answer else { break };
        // What may have been executed stays so, whatever becomes of the next try.
        answer = caller.send(&request).await.map_err(|_| unknown);
    }
    answer
}

async fn load(
    options: Options,
    routers: &watch::Receiver<Vec<SocketAddr>>,
    lasting: Duration,
) -> anyhow::Result<()> {
    let (name, begin) = (name()?, Instant::now());
    let mut callers = JoinSet::new();
    for place in 0..options.callers {
        let mut caller = Caller::new(format!("{name}-{place}"), routers.clone(), place);
        let (key, amount) = (format!("{}-{place}", options.key), options.amount);
        callers.spawn(async move {
            let mut answers = 0_u64;
            while begin.elapsed() < lasting {
                ask(&mut caller, &key, amount).await?;
                answers += 1;
            }
            Ok::<u64, Failure>(answers)
        });
    }
    let mut answers = 0;
    while let Some(of_caller) = callers.join_next().await {
        answers += of_caller??;
    }
    println!("{:.0} answers a second", answers as f64 / begin.elapsed().as_secs_f64());
    Ok(())
}
