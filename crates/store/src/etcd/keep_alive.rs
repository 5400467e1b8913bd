//! Keeping leases alive: one stream for all of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kafka_assigner_types::kv::LeaseId;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Streaming;

use super::connection::{EtcdConnection, MemberChannel};
use super::fault::{self, AttemptError};
use super::wire::{LeaseKeepAliveRequest, LeaseKeepAliveResponse};
use crate::backoff::Backoff;
use crate::error::Error;

/// Callers that wait for a place; the stream takes tens of thousands a second, so more only wait longer.
const QUEUE: usize = 1_024;

/// The way to the task that keeps leases alive; the task ends with the last handle.
#[derive(Debug, Clone)]
pub(super) struct KeepAlive {
    asks: mpsc::Sender<Ask>,
    bound: Duration,
}

/// One caller who waits for one renewal.
#[derive(Debug)]
struct Ask {
    lease: LeaseId,
    answer: oneshot::Sender<Result<Duration, Error>>,
}

impl KeepAlive {
    /// Starts the task. It opens its stream when the first lease is to be kept alive.
    pub(super) fn start(connection: Arc<EtcdConnection>) -> Self {
        let (asks, received) = mpsc::channel(QUEUE);
        let bound = connection.request_timeout;
        let driver = Driver { connection, asks: received, waiting: PendingRenewals::new(), failures: 0 };
        tokio::spawn(driver.run());
        Self { asks, bound }
    }

    /// Renews one lease.
    pub(super) async fn renew(&self, lease: LeaseId) -> Result<Duration, Error> {
        let (answer, answered) = oneshot::channel();
        let asking = async {
            self.asks.send(Ask { lease, answer }).await.ok()?;
            answered.await.ok()
        };
        let answer = timeout(self.bound, asking).await.ok().flatten();
        answer.unwrap_or(Err(Error::Unknown { operation: "keep_alive", source: None }))
    }
}

#[derive(Debug)]
struct Driver {
    connection: Arc<EtcdConnection>,
    asks: mpsc::Receiver<Ask>,
    waiting: PendingRenewals,
    /// Streams that broke in a row without a single answer.
    failures: u32,
}

/// Requests on their way out; there are never more than callers that wait.
type RenewalSender = mpsc::UnboundedSender<LeaseId>;

impl Driver {
    async fn run(mut self) {
        while let Err(fault) = self.session().await {
            let is_final = fault.is_final(self.connection.can_log_in());
            let error = fault.of_read("keep_alive");
            tracing::debug!(?error, "the stream that keeps leases alive broke");
            self.waiting.outlive(&error, is_final);
            self.failures += 1;
            sleep(Backoff::default().after(&error, self.failures)).await;
        }
    }

    /// Keeps leases alive over one stream, until it breaks or nobody is left who could ask.
    async fn session(&mut self) -> Result<(), AttemptError> {
        if self.waiting.is_empty() {
            let Some(ask) = self.asks.recv().await else { return Ok(()) };
            self.waiting.add(ask);
        }
        let link = self.connection.link().await?;
        let (requests, outgoing) = mpsc::unbounded_channel();
        self.waiting.each(|lease| send(&requests, lease));
        let served = match self.open(&link, outgoing).await {
            Ok(answers) => self.serve(&requests, answers).await,
            Err(fault) => Err(fault),
        };
        served.inspect_err(|fault| self.connection.learn_from(&link, fault))
    }

    async fn open(
        &self,
        link: &MemberChannel,
        outgoing: mpsc::UnboundedReceiver<LeaseId>,
    ) -> Result<Streaming<LeaseKeepAliveResponse>, AttemptError> {
        let requests =
            UnboundedReceiverStream::new(outgoing).map(|lease| LeaseKeepAliveRequest { id: lease.0 });
        let mut client = link.lease();
        let opening = client.lease_keep_alive(link.stream_request(requests));
        let opened = timeout(self.connection.attempt_timeout, opening).await;
        Ok(opened.map_err(|_| AttemptError::Lost(None))??.into_inner())
    }

    async fn serve(
        &mut self,
        requests: &RenewalSender,
        mut answers: Streaming<LeaseKeepAliveResponse>,
    ) -> Result<(), AttemptError> {
        let patience = self.connection.attempt_timeout;
        loop {
            let stalled = self.waiting.quiet_since + patience;
            tokio::select! {
                biased;
                // Answers first: they empty what the other arms fill.
                answer = answers.message() => {
                    self.waiting.answer(&answer?.ok_or(AttemptError::Lost(None))?);
                    self.failures = 0;
                }
                // New callers.
                ask = self.asks.recv() => {
                    let Some(ask) = ask else { return Ok(()) };
                    send(requests, ask.lease);
                    self.waiting.add(ask);
                }
                // Somebody waits and nothing comes: the callers have time for a second try elsewhere.
                () = sleep_until(stalled), if !self.waiting.is_empty() => return Err(AttemptError::Lost(None)),
            }
        }
    }
}

/// A stream that is gone takes nothing; its end is noticed where answers are read.
fn send(requests: &RenewalSender, lease: LeaseId) {
    let _ = requests.send(lease);
}

/// The callers that wait for renewals, by lease, in the order of their requests.
///
/// Renewals of one lease are answered in order. Each ask has its own request: the answer to an earlier
/// one says nothing about the time after it.
#[derive(Debug)]
struct PendingRenewals {
    asks: BTreeMap<LeaseId, VecDeque<oneshot::Sender<Result<Duration, Error>>>>,
    /// The moment of the last answer, or of the first caller's request.
    quiet_since: Instant,
}

impl PendingRenewals {
    fn new() -> Self {
        Self { asks: BTreeMap::new(), quiet_since: Instant::now() }
    }

    fn is_empty(&self) -> bool {
        self.asks.is_empty()
    }

    fn add(&mut self, ask: Ask) {
        if self.is_empty() {
            self.quiet_since = Instant::now();
        }
        self.asks.entry(ask.lease).or_default().push_back(ask.answer);
    }

    fn each(&mut self, mut request: impl FnMut(LeaseId)) {
        self.quiet_since = Instant::now();
        for (lease, asks) in &self.asks {
            asks.iter().for_each(|_| request(*lease));
        }
    }

    fn answer(&mut self, response: &LeaseKeepAliveResponse) {
        self.quiet_since = Instant::now();
        let lease = LeaseId(response.id);
        let Some(asks) = self.asks.get_mut(&lease) else { return };
        if let Some(answer) = asks.pop_front() {
            // The caller may have given up.
            let _ = answer.send(time_to_live(lease, response.ttl));
        }
        if asks.is_empty() {
            self.asks.remove(&lease);
        }
    }

    /// After a broken stream: forgets who gave up, and tells the others if it can't get better.
    fn outlive(&mut self, error: &Error, is_final: bool) {
        self.asks.retain(|_, asks| {
            asks.retain(|answer| !answer.is_closed());
            !asks.is_empty()
        });
        if is_final {
            let asks = std::mem::take(&mut self.asks);
            for answer in asks.into_values().flatten() {
                let _ = answer.send(Err(fault::for_each(error)));
            }
        }
    }
}

fn time_to_live(lease: LeaseId, seconds: i64) -> Result<Duration, Error> {
    match u64::try_from(seconds) {
        Ok(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => Err(Error::LeaseNotFound(lease)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(waiting: &mut PendingRenewals, lease: i64) -> oneshot::Receiver<Result<Duration, Error>> {
        let (answer, answered) = oneshot::channel();
        waiting.add(Ask { lease: LeaseId(lease), answer });
        answered
    }

    #[tokio::test]
    async fn answers_find_who_asked_first_for_their_lease() {
        let mut waiting = PendingRenewals::new();
        let [mut first, mut second] = [ask(&mut waiting, 1), ask(&mut waiting, 1)];
        let other = ask(&mut waiting, 2);
        waiting.answer(&LeaseKeepAliveResponse { id: 2, ttl: 0 });
        assert!(matches!(other.await.unwrap(), Err(Error::LeaseNotFound(LeaseId(2)))));
        waiting.answer(&LeaseKeepAliveResponse { id: 1, ttl: 9 });
        assert_eq!(first.try_recv().unwrap().unwrap(), Duration::from_secs(9));
        assert!(second.try_recv().is_err(), "the second has an answer of its own to come");
        waiting.answer(&LeaseKeepAliveResponse { id: 1, ttl: 9 });
        assert!(second.try_recv().is_ok());
        assert!(waiting.is_empty());
    }

    #[tokio::test]
    async fn an_answer_to_somebody_who_gave_up_is_nobody_elses() {
        let mut waiting = PendingRenewals::new();
        drop(ask(&mut waiting, 1));
        let mut later = ask(&mut waiting, 1);
        waiting.answer(&LeaseKeepAliveResponse { id: 1, ttl: 9 });
        assert!(later.try_recv().is_err(), "a claim would be prolonged by a request of before");
        waiting.answer(&LeaseKeepAliveResponse { id: 1, ttl: 9 });
        assert!(later.try_recv().is_ok());
    }

    #[tokio::test]
    async fn a_broken_stream_forgets_who_gave_up_only() {
        let mut waiting = PendingRenewals::new();
        let kept = ask(&mut waiting, 1);
        drop(ask(&mut waiting, 1));
        drop(ask(&mut waiting, 2));
        waiting.outlive(&Error::Denied(String::new()), false);
        let mut again = Vec::new();
        waiting.each(|lease| again.push(lease));
        assert_eq!(again, [LeaseId(1)]);
        drop(kept);
    }
}
