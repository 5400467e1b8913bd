//! The loop that sends requests and receives their answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_types::id::TopicPartition;
use rustc_hash::FxHashMap;
use tokio::task::{Id, JoinError, JoinSet};

use super::sending::{BeforeMe, Place, SendFailure, Sending, TurnEnd, send};
use super::shared::ForwarderCore;
use crate::forward::{Forward, RequestError};
use crate::lane::{LaneTurn, RequestId};
use crate::lanes::{LaneCommand, SendOutcome};

/// The longest sleep of the loop. It runs at least that often, so that a stall can be told from idleness;
/// and a claim that was renewed after it had lapsed for a moment is noticed by then.
const IDLE: Duration = Duration::from_millis(500);

/// The loop. When it ends or panics, the remaining requests fail.
///
/// Each request is polled by a task of its own, so those of many partitions use all threads of the runtime, and one whose
/// transport blocks its thread holds up no other partition. The tasks end with the loop.
pub(super) struct Dispatcher<F: Forward> {
    core: Arc<ForwarderCore<F>>,
    sends: JoinSet<TurnEnd<F::Response>>,
    /// The request of each task: one that panics says nothing else of itself.
    tasks: FxHashMap<Id, Sending>,
    /// The last turn of each partition with tasks: the next one begins behind it.
    last: FxHashMap<TopicPartition, (LaneTurn, BeforeMe)>,
}

impl<F: Forward> Dispatcher<F> {
    pub(super) fn new(core: Arc<ForwarderCore<F>>) -> Self {
        Self { core, sends: JoinSet::new(), tasks: FxHashMap::default(), last: FxHashMap::default() }
    }

    pub(super) async fn run(mut self) {
        loop {
            self.core.turned.store(self.core.awake_micros(), Ordering::SeqCst);
            for (sending, request) in self.start_due() {
                self.spawn(sending, request);
            }
            let wake = self.core.state().lanes.next_wake();
            let idle = self.core.now() + IDLE;
            let wake = wake.map_or(idle, |wake| wake.min(idle));
            tokio::select! {
                biased;
                // Answers first: they make room for others.
                Some(end) = self.sends.join_next_with_id(), if !self.sends.is_empty() => self.ended(end),
                // A new request, or a new route.
                () = self.core.wake.notified() => {}
                // Requests that are too old, and those to try again.
                () = self.core.table.clock().sleep_until(wake) => {}
            }
        }
    }

    /// Begins a task for a request, behind the request of its partition that was started before.
    fn spawn(&mut self, sending: Sending, request: Bytes) {
        let before = self.last.remove(&sending.at).map(|(_, before)| before);
        let (place, before_next) = Place::new(before);
        self.last.insert(sending.at.clone(), (sending.turn, before_next));
        let task = self.sends.spawn(send(Arc::clone(&self.core), sending.clone(), request, place));
        self.tasks.insert(task.id(), sending);
    }

    /// Returns the requests whose turns begin now, and fails those that waited too long.
    fn start_due(&self) -> Vec<(Sending, Bytes)> {
        let now = self.core.now();
        let mut state = self.core.state();
        let mut due = Vec::new();
        while let Some(command) = state.lanes.next(now) {
            match command {
                LaneCommand::Start { id, turn } => {
                    let at = state.lanes.partition(id).cloned();
                    if let (Some(at), Some(caller)) = (at, state.callers.get(&id)) {
                        due.push((Sending { id, turn, at }, caller.request.clone()));
                    }
                }
                LaneCommand::Fail { id, why } => {
                    if let Some(caller) = state.callers.remove(&id) {
                        // The caller may have cancelled.
                        let _ = caller.answer.send(Err(why.into()));
                    }
                }
            }
        }
        state.release_stop();
        due
    }

    /// The task of a turn has ended.
    fn ended(&mut self, end: Result<(Id, TurnEnd<F::Response>), JoinError>) {
        let (task, end) = match end {
            Ok((task, end)) => (task, Ok(end)),
            Err(error) => (error.id(), Err(error)),
        };
        let Some(Sending { id, turn, at }) = self.tasks.remove(&task) else { return };
        if self.last.get(&at).is_some_and(|(last, _)| *last == turn) {
            self.last.remove(&at);
        }
        match end {
            Ok(TurnEnd::Sent(result)) => self.settle(id, &at, result),
            Err(error) if self.core.state().lanes.is_in_flight(id, turn) => {
                self.settle(id, &at, Err(SendFailure::Lost(lost(&error))));
            }
            Ok(TurnEnd::Unsent) | Err(_) => {
                let mut state = self.core.state();
                state.lanes.ended(&at, id, turn);
                state.release(&at);
            }
        }
    }

    fn settle(&self, id: RequestId, at: &TopicPartition, result: Result<F::Response, SendFailure>) {
        let now = self.core.now();
        let mut state = self.core.state();
        let answer = match result {
            Err(SendFailure::Refused) => {
                state.lanes.settle(now, id, SendOutcome::Refused);
                if state.callers.get(&id).is_none_or(|caller| caller.answer.is_closed()) {
                    state.lanes.cancel(id);
                    state.callers.remove(&id);
                }
                None
            }
            Err(SendFailure::Lost(error)) => {
                state.lanes.settle(now, id, SendOutcome::Failed);
                Some(Err(error))
            }
            Ok(response) => {
                state.lanes.settle(now, id, SendOutcome::Answered);
                Some(Ok(response))
            }
        };
        let caller = answer.and_then(|answer| Some((state.callers.remove(&id)?, answer)));
        state.release(at);
        drop(state);
        if let Some((caller, answer)) = caller {
            // The caller may have cancelled.
            let _ = caller.answer.send(answer);
        }
    }
}

/// The answer to a request whose task ended without a result.
fn lost(error: &JoinError) -> RequestError {
    if error.is_panic() {
        RequestError::Failed("the transport panicked".into())
    } else {
        RequestError::Interrupted
    }
}

impl<F: Forward> Drop for Dispatcher<F> {
    fn drop(&mut self) {
        self.core.turned.store(0, Ordering::SeqCst);
        // First the lanes, so that no task departs from now on, whichever is dropped first.
        self.core.state().lanes.give_up_all();
        self.sends.abort_all();
        drop(self.start_due());
        // Requests in flight: their answers are dropped.
        self.core.state().callers.clear();
    }
}
