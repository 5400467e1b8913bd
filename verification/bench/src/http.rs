//! The answers of servers over HTTP: their counters and probes.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A loaded server answers within a fraction of it.
const BOUND: Duration = Duration::from_secs(10);

/// The most that is read of an answer: the counters of a server with a thousand groups take 2 MB.
const MOST: u64 = 64 * 1024 * 1024;

/// The answer to `GET path` with its head, from the server at `address`, as `http://127.0.0.1:2379`.
pub(crate) async fn get(address: &str, path: &str) -> Result<String> {
    timeout(BOUND, ask(address, path)).await.with_context(|| format!("{address}{path} gives no answer"))?
}

async fn ask(address: &str, path: &str) -> Result<String> {
    let host = address.strip_prefix("http://").context("only http:// can be asked")?;
    let mut stream = TcpStream::connect(host).await?;
    // Of version 1.0, so that the answer ends with the connection.
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.take(MOST).read_to_string(&mut answer).await?;
    Ok(answer)
}
