//! The watches with their readers and positions, which outlive a stream.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use kafka_assigner_types::kv::{Change, Revision};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tonic::Status;

use crate::error::Error;
use crate::etcd::convert::{change, header_revision, key_range, revision, wire_revision};
use crate::etcd::fault::AttemptError;
use crate::etcd::wire::watch_request::RequestUnion;
use crate::etcd::wire::{
    WatchCancelRequest, WatchCreateRequest, WatchProgressRequest, WatchRequest, WatchResponse,
};
use crate::traits::WatchBatch;

#[cfg(test)]
#[path = "registry_test.rs"]
mod tests;

/// One watch, whatever stream it is on.
#[derive(Debug)]
pub(super) struct EtcdWatch {
    prefix: Bytes,
    /// Everything before this revision has been delivered.
    next: Revision,
    /// The oldest revision that etcd said it still has.
    oldest: Revision,
    items: mpsc::Sender<Result<WatchBatch, Error>>,
    /// The caller that waits for the watch to be confirmed.
    ready: Option<oneshot::Sender<Result<(), Error>>>,
    created: Option<Created>,
}

/// The state of a watch that etcd confirmed on this stream.
#[derive(Debug)]
struct Created {
    /// The revision at which etcd started it.
    start: Revision,
    /// The store's revision at that moment.
    at: Revision,
    /// Progress requests that were unanswered then, less the answers since: those don't speak of it.
    foreign_answers: usize,
}

impl EtcdWatch {
    pub(super) const fn new(
        prefix: Bytes,
        from: Revision,
        items: mpsc::Sender<Result<WatchBatch, Error>>,
        ready: oneshot::Sender<Result<(), Error>>,
    ) -> Self {
        Self { prefix, next: from, oldest: Revision(0), items, ready: Some(ready), created: None }
    }

    /// The revision to start at: one early, because etcd reports no progress to a stream that has
    /// a watch from ahead, which a watch right after a listing is. Zero would mean "from now on".
    fn start(&self) -> Revision {
        Revision(self.next.0.saturating_sub(1)).max(self.oldest).max(Revision(1))
    }

    /// Returns true if one more batch leaves room for an error.
    fn has_room(&self) -> bool {
        self.items.capacity() > 1
    }

    /// Returns true if the reader has more than half of the room still to read.
    fn is_behind(&self) -> bool {
        self.items.capacity() <= self.items.max_capacity() / 2
    }

    fn fail(self, error: Error) {
        // The caller may have given up; the items always have room for one error.
        match self.ready {
            Some(ready) => drop(ready.send(Err(error))),
            None => drop(self.items.try_send(Err(error))),
        }
    }

    /// Delivers a batch, or says that the reader must be waited for.
    fn deliver(&mut self, batch: WatchBatch) -> bool {
        let next = batch.revision.next();
        let delivered = self.has_room() && self.items.try_send(Ok(batch)).is_ok();
        if delivered {
            self.next = next;
        }
        delivered
    }

    fn progress(&mut self, to: Revision) {
        let Some(created) = &mut self.created else { return };
        let about_us = to > created.at || created.foreign_answers == 0;
        created.foreign_answers = created.foreign_answers.saturating_sub(1);
        if about_us && to >= self.next {
            // Without room it is no loss: the reader will be told by a later one.
            self.deliver(WatchBatch { changes: Vec::new(), revision: to });
        }
    }
}

/// All watches of a store.
#[derive(Debug, Default)]
pub(super) struct WatchRegistry {
    /// Those on the stream, by their ids there.
    placed: BTreeMap<i64, EtcdWatch>,
    /// Those that are not: there is no stream, or their reader is behind.
    parked: Vec<EtcdWatch>,
    /// Creations that etcd has not answered, and when they were asked for; it answers in order.
    unconfirmed: VecDeque<(i64, Instant)>,
    last_id: i64,
    /// Progress requests without an answer on this stream.
    unanswered: usize,
}

impl WatchRegistry {
    pub(super) fn is_empty(&self) -> bool {
        self.placed.is_empty() && self.parked.is_empty()
    }

    /// Forgets watches that wait for a stream and that nobody reads any more.
    pub(super) fn forget_unread(&mut self) {
        self.parked.retain(|subscription| !subscription.items.is_closed());
    }

    /// Takes in a watch while there is no stream.
    pub(super) fn park(&mut self, subscription: EtcdWatch) {
        self.parked.push(subscription);
    }

    /// Puts a watch on the stream.
    pub(super) fn place(&mut self, mut subscription: EtcdWatch) -> WatchRequest {
        // Fresh each time: late answers to an old id must find nobody.
        self.last_id += 1;
        subscription.created = None;
        let (key, range_end) = key_range(&subscription.prefix);
        let start_revision = wire_revision(subscription.start());
        self.placed.insert(self.last_id, subscription);
        self.unconfirmed.push_back((self.last_id, Instant::now()));
        let create = WatchCreateRequest { key, range_end, start_revision, watch_id: self.last_id };
        request(RequestUnion::CreateRequest(create))
    }

    /// Forgets watches that nobody reads any more and places those whose reader has caught up.
    pub(super) fn tidy(&mut self) -> Vec<WatchRequest> {
        let mut requests: Vec<_> = self
            .placed
            .extract_if(.., |_, subscription| subscription.items.is_closed())
            .map(|(id, _)| cancel(id))
            .collect();
        self.forget_unread();
        for subscription in std::mem::take(&mut self.parked) {
            if subscription.is_behind() {
                self.parked.push(subscription);
            } else {
                requests.push(self.place(subscription));
            }
        }
        requests
    }

    /// The stream is gone.
    pub(super) fn disconnect(&mut self) {
        self.unconfirmed.clear();
        self.unanswered = 0;
        self.parked.extend(std::mem::take(&mut self.placed).into_values());
    }

    /// Ends every watch with an error.
    pub(super) fn fail_all(&mut self, error: impl Fn() -> Error) {
        self.disconnect();
        self.parked.drain(..).for_each(|subscription| subscription.fail(error()));
    }

    /// A request for the progress of all watches on the stream; `None` without a confirmed one, because
    /// then nobody would answer.
    pub(super) fn progress_request(&mut self) -> Option<WatchRequest> {
        self.horizon()?;
        self.unanswered += 1;
        Some(request(RequestUnion::ProgressRequest(WatchProgressRequest {})))
    }

    /// The newest start of a confirmed watch: etcd keeps silent about progress until its store is there.
    pub(super) fn horizon(&self) -> Option<Revision> {
        self.placed.values().filter_map(|subscription| Some(subscription.created.as_ref()?.start)).max()
    }

    /// The time of the oldest creation on this stream that etcd has not answered.
    pub(super) fn unconfirmed_since(&self) -> Option<Instant> {
        self.unconfirmed.front().map(|(_, asked)| *asked)
    }

    /// The prefix of some watch on the stream, which the user thus may read.
    pub(super) fn any_prefix(&self) -> Option<Bytes> {
        self.placed.values().next().map(|subscription| subscription.prefix.clone())
    }

    /// Applies a response of etcd; may return a request.
    ///
    /// # Errors
    /// When the stream is of no use any more.
    pub(super) fn receive(&mut self, response: WatchResponse) -> Result<Option<WatchRequest>, AttemptError> {
        if response.created {
            return self.confirm(&response).map(|()| None);
        }
        if response.canceled {
            return self.canceled(&response);
        }
        if is_progress(&response) {
            self.progress(header_revision(response.header));
            return Ok(None);
        }
        Ok(self.events(response))
    }

    fn confirm(&mut self, response: &WatchResponse) -> Result<(), AttemptError> {
        let (id, _) = self.unconfirmed.pop_front().ok_or(AttemptError::Lost(None))?;
        if response.canceled {
            return self.refused(id, &response.cancel_reason);
        }
        let Some(subscription) = self.placed.get_mut(&id) else { return Ok(()) };
        subscription.created = Some(Created {
            start: subscription.start(),
            at: header_revision(response.header),
            foreign_answers: self.unanswered,
        });
        if let Some(ready) = subscription.ready.take() {
            // The caller may have given up; then nobody reads, and it is tidied away.
            let _ = ready.send(Ok(()));
        }
        Ok(())
    }

    /// etcd would not create it: our token aged, or the user may not read there.
    fn refused(&mut self, id: i64, reason: &str) -> Result<(), AttemptError> {
        let aged = ["invalid auth token", "revision of auth store is old", "user name is empty"];
        if aged.iter().any(|words| reason.contains(words)) {
            return Err(AttemptError::StaleToken(Status::unauthenticated(reason)));
        }
        let Some(subscription) = self.placed.remove(&id) else { return Ok(()) };
        let denied = reason.contains("permission denied");
        let error = if denied { Error::Denied } else { Error::Invalid };
        subscription.fail(error(reason.to_owned()));
        Ok(())
    }

    fn canceled(&mut self, response: &WatchResponse) -> Result<Option<WatchRequest>, AttemptError> {
        // One that we cancelled ourselves is not here any more.
        let Some(mut subscription) = self.placed.remove(&response.watch_id) else { return Ok(None) };
        let oldest = revision(response.compact_revision);
        if oldest == Revision(0) {
            // For a reason that etcd has none for: another stream will tell.
            self.parked.push(subscription);
            return Err(AttemptError::Lost(None));
        }
        if oldest <= subscription.next {
            // Only the revision by which we start early is gone.
            subscription.oldest = oldest;
            return Ok(Some(self.place(subscription)));
        }
        let asked = subscription.next;
        subscription.fail(Error::Compacted { asked, oldest });
        Ok(None)
    }

    fn progress(&mut self, to: Revision) {
        self.unanswered = self.unanswered.saturating_sub(1);
        self.placed.values_mut().for_each(|subscription| subscription.progress(to));
    }

    fn events(&mut self, response: WatchResponse) -> Option<WatchRequest> {
        let subscription = self.placed.get_mut(&response.watch_id)?;
        let changes: Vec<_> = response.events.into_iter().map(change).collect();
        let batch = batch(changes, subscription.next)?;
        if subscription.deliver(batch) {
            return None;
        }
        self.parked.extend(self.placed.remove(&response.watch_id));
        Some(cancel(response.watch_id))
    }
}

/// Returns true if a response tells the progress of all watches.
pub(super) const fn is_progress(response: &WatchResponse) -> bool {
    !response.created && !response.canceled && response.watch_id < 0
}

/// The new changes in an answer. One answer always holds whole revisions: etcd splits them only for clients
/// that ask for fragments.
fn batch(mut changes: Vec<Change>, next: Revision) -> Option<WatchBatch> {
    changes.retain(|change| change.revision() >= next);
    let revision = changes.last()?.revision();
    Some(WatchBatch { changes, revision })
}

const fn request(union: RequestUnion) -> WatchRequest {
    WatchRequest { request_union: Some(union) }
}

const fn cancel(watch_id: i64) -> WatchRequest {
    request(RequestUnion::CancelRequest(WatchCancelRequest { watch_id }))
}
