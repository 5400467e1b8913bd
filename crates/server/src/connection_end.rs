//! The connections of clients, which remember who ended them: a process that dies closes its own, a peer that no longer
//! answers is cut off from here.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

const OPEN: u8 = 0;
const CLOSED_BY_PEER: u8 = 1;
const CUT_OFF: u8 = 2;

/// The number of connections of this process so far.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// The end of one connection, for whoever serves a call that came over it. Clones are of the same one.
#[derive(Debug, Clone)]
pub struct ConnectionEnd {
    how: Arc<AtomicU8>,
    number: u64,
}

impl Default for ConnectionEnd {
    /// The end of a connection that is open, with a number of its own.
    fn default() -> Self {
        let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        Self { how: Arc::new(AtomicU8::new(OPEN)), number }
    }
}

impl ConnectionEnd {
    /// A word for the process at the other side, for clients that don't name theirs.
    pub(crate) fn process_word(&self) -> String {
        format!("connection {}", self.number)
    }

    /// True if this side ended it: its peer did not answer a ping, or broke the protocol.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.how.load(Ordering::Relaxed) == CUT_OFF
    }

    /// The first one to end it did.
    fn note(&self, how: u8) {
        let _before = self.how.compare_exchange(OPEN, how, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// A connection that notes its end.
#[derive(Debug)]
pub(crate) struct WatchedConnection<T> {
    stream: T,
    end: ConnectionEnd,
}

impl<T> WatchedConnection<T> {
    pub(crate) fn new(stream: T) -> Self {
        Self { stream, end: ConnectionEnd::default() }
    }

    /// Notes an error. It is the peer that resets a connection, or the network that fails.
    fn noted<R>(&self, result: io::Result<R>) -> io::Result<R> {
        result.inspect_err(|error| {
            self.end.note(if is_of_peer(error.kind()) { CLOSED_BY_PEER } else { CUT_OFF });
        })
    }
}

/// True for an error that only the peer's side, or its system, brings about.
const fn is_of_peer(error: io::ErrorKind) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error, ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof)
}

impl<T> Drop for WatchedConnection<T> {
    fn drop(&mut self) {
        self.end.note(CUT_OFF);
    }
}

impl<T> Connected for WatchedConnection<T> {
    type ConnectInfo = ConnectionEnd;

    fn connect_info(&self) -> ConnectionEnd {
        self.end.clone()
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for WatchedConnection<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (before, room) = (buffer.filled().len(), buffer.remaining());
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        if room > 0 && buffer.filled().len() == before {
            self.end.note(CLOSED_BY_PEER);
        }
        Poll::Ready(self.noted(read))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for WatchedConnection<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        Poll::Ready(self.noted(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.stream).poll_flush(context));
        Poll::Ready(self.noted(flushed))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, parts));
        Poll::Ready(self.noted(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn what_its_peer_closed_was_not_cut_off_from_here() {
        let (mut peer, stream) = duplex(64);
        let mut connection = WatchedConnection::new(stream);
        let end = connection.connect_info();
        peer.write_all(b"last words").await.unwrap();
        drop(peer);
        let mut words = String::new();
        connection.read_to_string(&mut words).await.unwrap();
        drop(connection);
        assert!(!end.is_cut_off());
    }

    #[tokio::test]
    async fn a_peer_that_is_gone_may_be_found_in_writing() {
        let (peer, stream) = duplex(64);
        let mut connection = WatchedConnection::new(stream);
        let end = connection.connect_info();
        drop(peer);
        assert!(connection.write_all(b"ping").await.is_err());
        drop(connection);
        assert!(!end.is_cut_off());
    }

    #[test]
    fn a_network_that_fails_is_no_word_of_the_peer() {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, HostUnreachable, NetworkDown, TimedOut};
        for (error, is_cut_off) in [
            (ConnectionReset, false),
            (BrokenPipe, false),
            (TimedOut, true),
            (HostUnreachable, true),
            (NetworkDown, true),
        ] {
            let connection = WatchedConnection::new(());
            assert!(connection.noted::<()>(Err(error.into())).is_err());
            assert_eq!(connection.connect_info().is_cut_off(), is_cut_off, "{error}");
        }
    }

    #[test]
    fn each_connection_has_a_word_of_its_own() {
        let (one, other) = (ConnectionEnd::default(), ConnectionEnd::default());
        assert_ne!(one.process_word(), other.process_word());
        assert_eq!(one.process_word(), one.clone().process_word());
    }

    #[tokio::test]
    async fn a_peer_that_is_silent_is_cut_off() {
        let (_peer, stream) = duplex(64);
        let connection = WatchedConnection::new(stream);
        let end = connection.connect_info();
        assert!(!end.is_cut_off(), "it is open");
        drop(connection);
        assert!(end.is_cut_off());
    }
}
