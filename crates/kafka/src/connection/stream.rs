//! The bytes to and from a broker.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustls::pki_types::ServerName;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader, ReadHalf,
    WriteHalf,
};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use crate::address::BrokerAddress;
use crate::error::Error;
use crate::tls::TlsSource;

/// The rest of a long answer has so many times the patience: its beginning has shown that the broker is alive, and
/// 32 MiB take ten seconds at 27 Mbit/s.
const REST: u32 = 5;

/// The first byte of each message of TLS that a server sends to somebody who speaks without.
const TLS_ALERT: u8 = 0x15;

trait Duplex: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Duplex for T {}

/// The facts of a stream that errors tell.
#[derive(Debug, Clone)]
struct StreamFacts {
    broker: BrokerAddress,
    patience: Duration,
    is_plain: bool,
}

/// A stream of bytes to and from a broker, with a deadline for everything.
pub(super) struct BrokerStream {
    facts: StreamFacts,
    bytes: Box<dyn Duplex>,
}

/// The half of a stream that frames come from.
pub(super) struct FrameSource {
    facts: StreamFacts,
    bytes: BufReader<ReadHalf<Box<dyn Duplex>>>,
}

/// The half of a stream that frames go to.
pub(super) struct FrameSink {
    facts: StreamFacts,
    bytes: WriteHalf<Box<dyn Duplex>>,
}

impl fmt::Debug for BrokerStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BrokerStream({})", self.facts.broker)
    }
}

impl BrokerStream {
    /// Connects, with TLS where there is a source of it.
    pub(super) async fn open(
        broker: &BrokerAddress,
        tls: Option<&Arc<TlsSource>>,
        deadline: Instant,
        patience: Duration,
    ) -> Result<Self, Error> {
        let no_answer = |asked| Error::NoAnswer { broker: broker.clone(), asked, within: patience };
        let tcp = timeout_at(deadline, TcpStream::connect((broker.host.as_str(), broker.port))).await;
        let tcp = tcp.map_err(|_| no_answer("a connection"))?;
        let tcp = tcp.map_err(|source| Error::Connect { broker: broker.clone(), source })?;
        // Requests are short, and each waits for its answer; a socket that does not take the option works too.
        let _slower = tcp.set_nodelay(true);
        let bytes: Box<dyn Duplex> = match tls {
            None => Box::new(tcp),
            Some(tls) => {
                let handshake = timeout_at(deadline, handshake(broker, Arc::clone(tls), tcp)).await;
                Box::new(handshake.map_err(|_| no_answer("a TLS handshake"))??)
            }
        };
        let facts = StreamFacts { broker: broker.clone(), patience, is_plain: tls.is_none() };
        Ok(Self { facts, bytes })
    }

    pub(super) const fn broker(&self) -> &BrokerAddress {
        &self.facts.broker
    }

    pub(super) const fn patience(&self) -> Duration {
        self.facts.patience
    }

    /// Sends a frame.
    pub(super) async fn send(
        &mut self,
        frame: &[u8],
        asked: &'static str,
        deadline: Instant,
    ) -> Result<(), Error> {
        self.facts.send(&mut self.bytes, frame, asked, deadline).await
    }

    /// Waits for a frame, and returns it without its length.
    pub(super) async fn frame(
        &mut self,
        asked: &'static str,
        most: usize,
        deadline: Instant,
    ) -> Result<Bytes, Error> {
        self.facts.frame(&mut self.bytes, asked, most, deadline).await
    }

    /// The two halves, for several requests at once.
    pub(super) fn split(self) -> (FrameSource, FrameSink) {
        let (source, sink) = tokio::io::split(self.bytes);
        let bytes = BufReader::new(source);
        (FrameSource { facts: self.facts.clone(), bytes }, FrameSink { facts: self.facts, bytes: sink })
    }
}

impl FrameSource {
    /// Waits for a frame; see [`BrokerStream::frame`].
    pub(super) async fn frame(
        &mut self,
        asked: &'static str,
        most: usize,
        deadline: Instant,
    ) -> Result<Bytes, Error> {
        self.facts.frame(&mut self.bytes, asked, most, deadline).await
    }

    /// Waits for the beginning of anything, and takes none of it. False where the broker closed the connection. Cancel
    /// safe.
    pub(super) async fn has_more(&mut self) -> bool {
        self.bytes.fill_buf().await.is_ok_and(|bytes| !bytes.is_empty())
    }
}

impl FrameSink {
    /// Sends a frame.
    pub(super) async fn send(
        &mut self,
        frame: &[u8],
        asked: &'static str,
        deadline: Instant,
    ) -> Result<(), Error> {
        self.facts.send(&mut self.bytes, frame, asked, deadline).await
    }
}

impl StreamFacts {
    async fn send(
        &self,
        bytes: &mut (impl AsyncWrite + Unpin),
        frame: &[u8],
        asked: &'static str,
        deadline: Instant,
    ) -> Result<(), Error> {
        let sending = async {
            bytes.write_all(frame).await?;
            bytes.flush().await
        };
        within(&self.broker, asked, deadline, self.patience, sending).await
    }

    /// Reads a frame. The length is checked before anything else is read, and memory is taken as bytes come.
    async fn frame(
        &self,
        bytes: &mut (impl AsyncRead + Unpin),
        asked: &'static str,
        most: usize,
        deadline: Instant,
    ) -> Result<Bytes, Error> {
        let mut prefix = [0; 4];
        let reading = async { bytes.read_exact(&mut prefix).await.map(drop) };
        within(&self.broker, asked, deadline, self.patience, reading).await?;
        let length = self.checked(prefix, asked, most)?;
        let mut body = Vec::new();
        let rest = self.patience * REST;
        let reading = async { bytes.take(length).read_to_end(&mut body).await };
        let read = within(&self.broker, asked, Instant::now() + rest, rest, reading).await?;
        if (read as u64) < length {
            return Err(Error::Closed { broker: self.broker.clone(), asked });
        }
        Ok(body.into())
    }

    fn checked(&self, prefix: [u8; 4], asked: &'static str, most: usize) -> Result<u64, Error> {
        let (length, broker) = (i32::from_be_bytes(prefix), self.broker.clone());
        if self.is_plain && prefix[0] == TLS_ALERT {
            return Err(Error::SpeaksTls { broker, asked });
        }
        let fits = usize::try_from(length).is_ok_and(|length| length <= most);
        if fits {
            Ok(u64::from(length.unsigned_abs()))
        } else {
            Err(Error::TooLong { broker, asked, length: length.into(), most })
        }
    }
}

async fn handshake(
    broker: &BrokerAddress,
    tls: Arc<TlsSource>,
    tcp: TcpStream,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, Error> {
    let name = ServerName::try_from(broker.host.clone());
    let name = name.map_err(|_| Error::ServerName { broker: broker.clone() })?;
    let failed = |source| Error::Tls { broker: broker.clone(), source };
    // Reading files blocks.
    let config = tokio::task::spawn_blocking(move || tls.config()).await;
    let config = config.map_err(|_| failed(io::Error::other("this process is stopping")))?;
    TlsConnector::from(config).connect(name, tcp).await.map_err(failed)
}

/// Bounds a step, and says what failed.
async fn within<T>(
    broker: &BrokerAddress,
    asked: &'static str,
    deadline: Instant,
    within: Duration,
    step: impl Future<Output = io::Result<T>>,
) -> Result<T, Error> {
    let broker = || broker.clone();
    match timeout_at(deadline, step).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(source)) if source.kind() == io::ErrorKind::UnexpectedEof => {
            Err(Error::Closed { broker: broker(), asked })
        }
        Ok(Err(source)) => Err(Error::Broken { broker: broker(), asked, source }),
        Err(_) => Err(Error::NoAnswer { broker: broker(), asked, within }),
    }
}
