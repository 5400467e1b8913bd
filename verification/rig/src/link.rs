//! A network that can be disturbed.
//!
//! ```text
//!  client ──requests──► link ──requests──► server
//!         ◄──answers───      ◄──answers───
//! ```

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::sleep;

/// The size of a piece that is read at once; a slow link delays each such piece by itself.
const PIECE: usize = 16 * 1024;

/// The disturbance of a [`Link`]. Data that is held arrives when the link is healed, as TCP sends it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    /// Nothing gets through either way, and no connection is opened. Nobody is told.
    Cut,
    /// Requests are held and no connection is opened; answers get through.
    RequestsHeld,
    /// Requests get through; answers are lost. A connection that lost any is of no use and closed when the link is
    /// healed.
    AnswersLost,
    /// Everything gets through late: each piece of up to 16 KiB takes this long, and the next one waits for it.
    Slow(Duration),
}

/// A TCP way to a server that can be disturbed and healed; closed with all of its connections when dropped.
#[derive(Debug)]
pub struct Link {
    address: SocketAddr,
    state: watch::Sender<Option<Disturbance>>,
    hits: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Link {
    /// A way to the server at `server` that starts undisturbed.
    ///
    /// # Errors
    /// When there is no loopback port to listen on.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn to(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (state, seen) = watch::channel(None);
        let hits = Arc::<AtomicU64>::default();
        let way = Way { state: seen, hits: Arc::clone(&hits) };
        Ok(Self { address, state, hits, task: tokio::spawn(serve(listener, server, way)) })
    }

    /// The address to which clients connect.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Disturbs the link, in place of what disturbed it before.
    pub fn disturb(&self, disturbance: Disturbance) {
        self.state.send_replace(Some(disturbance));
    }

    /// Ends the disturbance.
    pub fn heal(&self) {
        self.state.send_replace(None);
    }

    /// The number of times that something was held, lost or delayed so far.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    Requests,
    Answers,
}

/// The fate of a piece.
enum Fate {
    Passes,
    IsLost,
}

/// The link as one direction of one connection sees it.
#[derive(Debug, Clone)]
struct Way {
    state: watch::Receiver<Option<Disturbance>>,
    hits: Arc<AtomicU64>,
}

impl Way {
    fn hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    fn now(&mut self) -> Option<Disturbance> {
        *self.state.borrow_and_update()
    }

    /// Waits until the link is no longer as it is; for ever once it is dropped, which aborts the caller.
    async fn change(&mut self) {
        if self.state.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for as long as a piece is held or delayed.
    async fn fate(&mut self, direction: Direction) -> Fate {
        loop {
            match (self.now(), direction) {
                (None, _)
                | (Some(Disturbance::RequestsHeld), Direction::Answers)
                | (Some(Disturbance::AnswersLost), Direction::Requests) => return Fate::Passes,
                (Some(Disturbance::AnswersLost), Direction::Answers) => {
                    self.hit();
                    return Fate::IsLost;
                }
                (Some(Disturbance::Slow(delay)), _) => {
                    self.hit();
                    sleep(delay).await;
                    return Fate::Passes;
                }
                (Some(Disturbance::Cut | Disturbance::RequestsHeld), _) => {
                    self.hit();
                    self.change().await;
                }
            }
        }
    }

    /// Waits until answers are no longer lost.
    async fn answers_again(&mut self) {
        while self.now() == Some(Disturbance::AnswersLost) {
            self.change().await;
        }
    }
}

async fn serve(listener: TcpListener, server: SocketAddr, way: Way) {
    // Its connections end with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            // So that ended ones don't pile up.
            Some(_) = connections.join_next() => {}
            // A client that is gone again is no reason to stop.
            accepted = listener.accept() => {
                if let Ok((client, _)) = accepted {
                    connections.spawn(relay(client, server, way.clone()));
                }
            }
        }
    }
}

/// Carries one connection; how it ends is seen by both of its sides.
async fn relay(client: TcpStream, server: SocketAddr, mut way: Way) -> io::Result<()> {
    way.fate(Direction::Requests).await;
    let server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let requests = carry(from_client, to_server, Direction::Requests, way.clone());
    let answers = carry(from_server, to_client, Direction::Answers, way);
    tokio::try_join!(requests, answers).map(drop)
}

/// Carries one direction until its sender closes it.
///
/// # Errors
/// When either side breaks off, or pieces were lost.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    direction: Direction,
    mut way: Way,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let length = from.read(&mut piece).await?;
        if matches!(way.fate(direction).await, Fate::IsLost) {
            return lose(from, piece, way).await;
        }
        if length == 0 {
            return to.shutdown().await;
        }
        to.write_all(&piece[..length]).await?;
    }
}

/// Loses everything until answers get through again, and then the connection.
async fn lose(mut from: OwnedReadHalf, mut piece: Vec<u8>, mut way: Way) -> io::Result<()> {
    let lost = async {
        while from.read(&mut piece).await.is_ok_and(|length| length > 0) {}
        // Its end is lost as well.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        // Nothing of it is of use any more.
        () = way.answers_again() => {}
        // Until then it is read, so that the server can go on sending.
        () = lost => {}
    }
    Err(io::ErrorKind::ConnectionReset.into())
}

#[cfg(test)]
#[path = "link_test.rs"]
mod link_test;
