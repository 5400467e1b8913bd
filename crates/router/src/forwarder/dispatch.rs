//! The loop that sends requests and receives their answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kafka_assigner_types::id::TopicPartition;
use rustc_hash::FxHashMap;
use tokio::task::JoinSet;

use super::sending::{BeforeMe, SendFailure, Sending, Sent, Turn, send};
use super::shared::ForwarderCore;
use crate::forward::Forward;
use crate::lane::RequestId;
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
    sends: JoinSet<Sent<F>>,
    /// The last request of each partition with requests in flight: the next one begins behind it.
    last: FxHashMap<TopicPartition, BeforeMe>,
}

impl<F: Forward> Dispatcher<F> {
    pub(super) fn new(core: Arc<ForwarderCore<F>>) -> Self {
        Self { core, sends: JoinSet::new(), last: FxHashMap::default() }
    }

    pub(super) async fn run(mut self) {
        loop {
            self.core.turned.store(self.core.awake_micros(), Ordering::SeqCst);
            for sending in self.start_due() {
                self.spawn(sending);
            }
            let wake = self.core.state().lanes.next_wake();
            let idle = self.core.now() + IDLE;
            let wake = wake.map_or(idle, |wake| wake.min(idle));
            tokio::select! {
                biased;
                // Answers first: they make room for others. A send fails to join only while the runtime shuts down:
                // panics are caught in it.
                Some(Ok((id, result))) = self.sends.join_next(), if !self.sends.is_empty() => self.settle(id, result),
                // A new request, or a new route.
                () = self.core.wake.notified() => {}
                // Requests that are too old, and those to try again.
                () = self.core.table.clock().sleep_until(wake) => {}
            }
        }
    }

    /// Begins a task for a request, behind the request of its partition that was started before.
    fn spawn(&mut self, sending: Sending) {
        let (turn, before_next) = Turn::new(self.last.remove(&sending.at));
        self.last.insert(sending.at.clone(), before_next);
        self.sends.spawn(send(Arc::clone(&self.core), sending, turn));
    }

    /// Returns the requests that may be sent now, and fails those that waited too long.
    fn start_due(&self) -> Vec<Sending> {
        let now = self.core.now();
        let mut state = self.core.state();
        let mut due = Vec::new();
        while let Some(command) = state.lanes.next(now) {
            match command {
                LaneCommand::Send { id, target } => {
                    let at = state.lanes.partition(id).cloned();
                    let caller = state.callers.get(&id);
                    if let (Some(at), Some(caller)) = (at, caller) {
                        let (request, polled) = (caller.request.clone(), Arc::clone(&caller.polled));
                        due.push(Sending { id, target, at, request, polled });
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
        due
    }

    fn settle(&mut self, id: RequestId, result: Result<F::Response, SendFailure>) {
        let now = self.core.now();
        let core = Arc::clone(&self.core);
        let mut state = core.state();
        let Some(at) = state.lanes.partition(id).cloned() else { return };
        let has_gone = state.callers.get(&id).is_none_or(|caller| caller.answer.is_closed());
        let answer = match result {
            Err(SendFailure::Refused) => {
                state.lanes.settle(now, id, SendOutcome::Refused);
                if has_gone {
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
        state.release(&at);
        let is_last = state.lanes.is_drained(&at);
        drop(state);
        if is_last {
            self.last.remove(&at);
        }
        if let Some((caller, answer)) = caller {
            // The caller may have cancelled.
            let _ = caller.answer.send(answer);
        }
    }
}

impl<F: Forward> Drop for Dispatcher<F> {
    fn drop(&mut self) {
        self.sends.abort_all();
        self.core.turned.store(0, Ordering::SeqCst);
        self.core.state().lanes.give_up_all();
        drop(self.start_due());
        // Requests in flight: their answers are dropped.
        self.core.state().callers.clear();
    }
}
