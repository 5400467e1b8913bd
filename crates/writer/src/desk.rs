//! The service of the requests for one owned partition: one after the other, by one task.
//!
//! ```text
//!  request ──► admitted? known? ──► appended, with its permit ──► in the log? claim valid? ──► counted, acknowledged
//!                 │       └── answered from the counters                   └── nobody knows: read the log again
//!                 └── nothing was executed
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesOrdered;
use kafka_assigner_client::{Epoch, Offset, OwnedContext, Permit};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::warn;

use crate::counters::Known;
use crate::entry::{Addition, Entry, EntryKind};
use crate::journal::Witness;
use crate::log::LogError;
use crate::message::{Answer, Code, Request};
use crate::replica::Replica;

/// The most requests that wait for their turn, and the most that wait for the log: several routers with a full window
/// (64) each. More are refused, or wait for their turn.
const WAITING: usize = 256;

/// A request for the owner of `epoch`.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) request: Request,
    pub(crate) epoch: Epoch,
    pub(crate) answer: oneshot::Sender<Answer>,
}

/// The desk of one owned partition. Dropped, it stops at once, and nobody knows what becomes of what waits for the log.
#[derive(Debug)]
pub(crate) struct Desk {
    jobs: mpsc::Sender<Job>,
    stop: CancellationToken,
    working: AbortOnDropHandle<Replica>,
}

impl Desk {
    /// Opens it, over a log that is open under the context's epoch.
    pub(crate) fn open(context: OwnedContext, replica: Replica, witness: Option<Arc<dyn Witness>>) -> Self {
        let (jobs, taken) = mpsc::channel(WAITING);
        let stop = CancellationToken::new();
        let clerk = Clerk {
            context,
            replica,
            witness,
            writes: FuturesOrdered::new(),
            on_their_way: BTreeMap::new(),
            is_lost: false,
        };
        let working = AbortOnDropHandle::new(tokio::spawn(clerk.work(taken, stop.clone())));
        Self { jobs, stop, working }
    }

    /// Takes a request in, at its place. Gives it back when too many wait.
    pub(crate) fn take(&self, job: Job) -> Result<(), Job> {
        self.jobs.try_send(job).map_err(mpsc::error::TrySendError::into_inner)
    }

    /// Closes it once everything that it admitted is answered.
    ///
    /// Not cancel safe: dropped, it stops at once.
    pub(crate) async fn close(self) -> Option<Replica> {
        self.stop.cancel();
        self.working.await.ok()
    }
}

/// An addition on its way into the log.
struct PendingWrite {
    entry: Entry,
    result: Result<Offset, LogError>,
    answer: oneshot::Sender<Answer>,
    /// A drain waits until it is dropped.
    _permit: Permit,
}

struct Clerk {
    context: OwnedContext,
    replica: Replica,
    witness: Option<Arc<dyn Witness>>,
    /// In the order of the log.
    writes: FuturesOrdered<BoxFuture<'static, PendingWrite>>,
    /// The number of the last request of each caller that waits for the log.
    on_their_way: BTreeMap<String, u64>,
    /// True if the content of the log is not known.
    is_lost: bool,
}

impl Clerk {
    async fn work(mut self, mut jobs: mpsc::Receiver<Job>, stop: CancellationToken) -> Replica {
        loop {
            tokio::select! {
                biased;
                // An entry that is in the log is acknowledged first, so that the next request sees it.
                Some(written) = self.writes.next(), if !self.writes.is_empty() => self.settle(written),
                // Nothing is admitted any more, and all that was is answered.
                () = stop.cancelled(), if self.writes.is_empty() => break,
                // The next request, where there is room.
                Some(job) = jobs.recv(), if self.writes.len() < WAITING => self.serve(job),
            }
        }
        jobs.close();
        while let Ok(job) = jobs.try_recv() {
            self.serve(job);
        }
        self.replica
    }

    /// Admits a request here and nowhere else, so that the order of the epochs is that of the log.
    fn serve(&mut self, job: Job) {
        let Job { request, epoch, answer } = job;
        let answered = match self.context.admit(epoch) {
            Err(refusal) => Some(Answer::not_done(Code::NotExecuted, refusal.to_string())),
            Ok(_) if self.is_lost => Some(Answer::not_done(Code::NotExecuted, "the log is read again")),
            Ok(permit) => match self.at_once(&request) {
                None => return self.write(request, epoch, permit, answer),
                answered => answered,
            },
        };
        // A caller that has gone does not listen.
        let _ = answered.map(|answered| answer.send(answered));
    }

    /// The answer to what is not to be written.
    fn at_once(&self, request: &Request) -> Option<Answer> {
        let counters = self.replica.counters();
        if request.add.is_none() {
            return Some(Answer::done(counters.total(&request.key)));
        }
        if self.on_their_way.get(&request.caller).is_some_and(|number| *number >= request.number) {
            return Some(Answer::not_done(Code::Unknown, "on its way into the log already"));
        }
        match counters.known(&request.caller, request.number) {
            Known::New => None,
            Known::Done(total) => Some(Answer::done(total)),
            Known::Outdated => Some(Answer::not_done(Code::Outdated, "a later request was executed")),
        }
    }

    fn write(&mut self, request: Request, epoch: Epoch, permit: Permit, answer: oneshot::Sender<Answer>) {
        let Request { caller, number, key, add } = request;
        let addition = Addition { caller, number, key, amount: add.unwrap_or_default() };
        let (caller, entry) = (addition.caller.clone(), Entry { epoch, what: EntryKind::Added(addition) });
        match self.replica.log().append(self.replica.at(), &entry) {
            Ok(appended) => {
                self.on_their_way.insert(caller, number);
                self.writes.push_back(Box::pin(async move {
                    PendingWrite { entry, result: appended.await, answer, _permit: permit }
                }));
            }
            Err(error) => {
                // A caller that has gone does not listen.
                let _ = answer.send(Answer::not_done(Code::NotExecuted, error.to_string()));
            }
        }
    }

    /// Acknowledges what is in the log, and counts.
    fn settle(&mut self, written: PendingWrite) {
        let PendingWrite { entry, result, answer, _permit } = written;
        if let EntryKind::Added(addition) = &entry.what
            && self.on_their_way.get(&addition.caller) == Some(&addition.number)
        {
            self.on_their_way.remove(&addition.caller);
        }
        let done = match result {
            Ok(offset) if self.may_count(offset) => self.count(offset, &entry),
            Ok(_) => None,
            Err(error) => {
                warn!(partition = %self.replica.at(), %error, "not written, or perhaps");
                None
            }
        };
        if done.is_none() {
            self.is_lost = true;
            self.context.spoil();
        }
        // A caller that has gone does not listen.
        let _ =
            answer.send(done.unwrap_or_else(|| Answer::not_done(Code::Unknown, "not known to be written")));
    }

    /// True if what was written is known to count: the claim is valid, so that it came before any other owner's fence;
    /// and where that can't be relied on, as after a session was revoked from outside, nobody has written in between.
    fn may_count(&self, offset: Offset) -> bool {
        !self.is_lost && self.context.claim().is_valid() && self.replica.counters().is_next(offset)
    }

    /// An addition that can't be written down is not acknowledged either.
    fn count(&mut self, offset: Offset, entry: &Entry) -> Option<Answer> {
        if let (Some(witness), EntryKind::Added(addition)) = (&self.witness, &entry.what) {
            let noted = witness.executed(&self.context, entry.epoch, offset, addition.number);
            noted.inspect_err(|error| warn!(%error, "not written down")).ok()?;
        }
        let total = self.replica.wrote(offset, entry)?;
        self.context.handled(offset);
        Some(Answer::done(total))
    }
}
