//! The side that answers.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{SinkExt as _, StreamExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::debug;

use super::{Frames, GOODBYE, PATIENCE, UNANSWERED, frame, frames, unframe};

/// The most connections; more wait until one ends.
const CONNECTIONS: usize = 1_024;

/// Answers requests.
pub trait Service: Send + Sync + 'static {
    /// Takes a request in. Called in the order of each connection, and must not block; what it returns only waits for
    /// the answer.
    fn take(&self, request: Bytes) -> BoxFuture<'static, Bytes>;
}

type Answers = FuturesUnordered<BoxFuture<'static, (u64, Bytes)>>;

/// Serves until `stop` is cancelled, and then until every caller has left, for at most 5 s.
///
/// Not cancel safe: dropped, it leaves its connections to themselves.
pub async fn serve(listener: TcpListener, service: Arc<impl Service>, stop: CancellationToken) {
    let (connections, room) = (TaskTracker::new(), Arc::new(Semaphore::new(CONNECTIONS)));
    loop {
        let accepted = tokio::select! {
            biased;
            // Enough.
            () = stop.cancelled() => break,
            // Somebody connects, and there is room.
            accepted = accept(&listener, &room) => accepted,
        };
        match accepted {
            Ok((stream, permit)) => {
                let attended = attend(frames(stream), service.clone(), stop.clone());
                connections.spawn(async move {
                    let _permit = permit;
                    if let Err(error) = attended.await {
                        debug!(%error, "connection ended");
                    }
                });
            }
            Err(error) => debug!(%error, "not accepted"),
        }
    }
    drop(listener);
    connections.close();
    // A client that has not left by then asks a process that is gone.
    let _ = timeout(PATIENCE, connections.wait()).await;
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = room.clone().acquire_owned().await.expect("nobody closes it");
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

/// Serves one connection until the caller ends it.
async fn attend(mut frames: Frames, service: Arc<impl Service>, stop: CancellationToken) -> io::Result<()> {
    let (mut answers, mut is_leaving) = (Answers::new(), false);
    loop {
        tokio::select! {
            biased;
            // It is said once; what comes nevertheless is answered.
            () = stop.cancelled(), if !is_leaving => {
                is_leaving = true;
                send(&mut frames, GOODBYE, &[]).await?;
            }
            // Answers first: they make room for requests.
            Some((number, answer)) = answers.next(), if !answers.is_empty() => {
                send(&mut frames, number, &answer).await?;
            }
            // The next request, where there is room.
            request = frames.next(), if answers.len() < UNANSWERED => match request {
                Some(request) => answers.push(begin(request?, &*service)?),
                None => return Ok(()),
            }
        }
    }
}

fn begin(request: BytesMut, service: &impl Service) -> io::Result<BoxFuture<'static, (u64, Bytes)>> {
    let (number, body) = unframe(request).ok_or(io::ErrorKind::InvalidData)?;
    let answer = service.take(body);
    Ok(Box::pin(async move { (number, answer.await) }))
}

/// A caller that takes no answers is not waited for.
async fn send(frames: &mut Frames, number: u64, body: &[u8]) -> io::Result<()> {
    tokio::select! {
        biased;
        // Taken.
        sent = frames.send(frame(number, body)) => sent,
        // Not taken.
        () = sleep(PATIENCE) => Err(io::ErrorKind::TimedOut.into()),
    }
}
