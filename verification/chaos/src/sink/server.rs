//! The sink itself, a part of the process that plays.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kafka_assigner_rig::clock::Moment;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;

use super::{Fence, Judged, Verdict, Write, log};

/// A running sink; its connections end with it.
#[derive(Debug)]
pub(crate) struct Sink {
    address: SocketAddr,
    book: Book,
    following: CancellationToken,
    _ending: DropGuard,
    _serving: AbortOnDropHandle<()>,
}

/// The writes; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Book(Arc<Mutex<Pages>>);

#[derive(Debug, Default)]
struct Pages {
    fence: Fence,
    /// Every write of the run, applied or not: a few hundred bytes each, and some hundred a second.
    judged: Vec<Judged>,
    /// By partition, the index of the last one that was applied.
    last: BTreeMap<i32, usize>,
}

impl Book {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn judge(&self, write: Write) -> Verdict {
        let mut pages = self.pages();
        let verdict = pages.fence.judge(&write);
        if verdict == Verdict::Applied {
            let index = pages.judged.len();
            pages.last.insert(write.partition, index);
        }
        pages.judged.push(Judged { write, at: Moment::now(), verdict });
        verdict
    }
}

impl Sink {
    /// Starts one on a free loopback port.
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (address, book) = (listener.local_addr()?, Book::default());
        let serving = tokio::spawn(serve(listener, book.clone()));
        let (following, serving) = (CancellationToken::new(), AbortOnDropHandle::new(serving));
        Ok(Self { address, book, _ending: following.clone().drop_guard(), following, _serving: serving })
    }

    /// Takes the log on `brokers` for what is written, until this sink ends.
    pub(crate) fn follow(&self, brokers: &str) -> anyhow::Result<()> {
        log::follow(brokers, self.book.clone(), self.following.clone())
    }

    /// The address at which it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every write so far, in the order in which they were judged.
    pub(crate) fn judged(&self) -> Vec<Judged> {
        self.book.pages().judged.clone()
    }

    /// The last write of a partition that took effect.
    pub(crate) fn last_applied(&self, partition: i32) -> Option<Judged> {
        let pages = self.book.pages();
        pages.judged.get(*pages.last.get(&partition)?).cloned()
    }
}

async fn serve(listener: TcpListener, book: Book) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            // So that ended ones don't pile up.
            Some(_) = connections.join_next() => {}
            // A writer that is gone again is no reason to stop.
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(answer(stream, book.clone()));
                }
            }
        }
    }
}

/// Answers until the writer is gone.
async fn answer(stream: TcpStream, book: Book) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufStream::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line).await? > 0 {
        let verdict = book.judge(serde_json::from_str(&line)?);
        let mut answer = serde_json::to_vec(&verdict)?;
        answer.push(b'\n');
        stream.write_all(&answer).await?;
        stream.flush().await?;
        line.clear();
    }
    Ok(())
}
