//! The sink as consumers see it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Verdict, Write};

/// The sink answers within a millisecond, unless the machine is very busy.
const ANSWER: Duration = Duration::from_secs(5);

/// A way to the sink, opened when it is first used.
#[derive(Debug, Default)]
pub(crate) struct Connection(Option<BufStream<TcpStream>>);

impl Connection {
    /// Writes, and waits for the verdict. Cancel safe: whether a dropped call took effect is unknown.
    ///
    /// # Errors
    /// When the sink does not answer; whether the write took effect is unknown.
    pub(crate) async fn write(&mut self, sink: SocketAddr, write: &Write) -> io::Result<Verdict> {
        // Taken out, so that the answer to a call that was dropped is never read by the next one.
        let opened = self.0.take();
        let (stream, verdict) = timeout(ANSWER, ask(opened, sink, write)).await??;
        self.0 = Some(stream);
        Ok(verdict)
    }
}

async fn ask(
    opened: Option<BufStream<TcpStream>>,
    sink: SocketAddr,
    write: &Write,
) -> io::Result<(BufStream<TcpStream>, Verdict)> {
    let mut stream = match opened {
        Some(stream) => stream,
        None => open(sink).await?,
    };
    let mut line = serde_json::to_vec(write)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    stream.flush().await?;
    let mut answer = String::new();
    stream.read_line(&mut answer).await?;
    Ok((stream, serde_json::from_str(&answer)?))
}

async fn open(sink: SocketAddr) -> io::Result<BufStream<TcpStream>> {
    let stream = TcpStream::connect(sink).await?;
    stream.set_nodelay(true)?;
    Ok(BufStream::new(stream))
}
