//! Calls of the handler, run beside the loop.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Driver;
use crate::claim::Claim;
use crate::context::{Alarm, Edges, OwnedContext, ReservedContext, WarmContext, WarmUpProgress};
use crate::gate::Gate;
use crate::handler::{HandlerError, PartitionHandler, Spoiled};
use crate::roles::{Call, CallFailure, CallResult, Provenance, RoleEvent};
use crate::transport::Transport;
use kafka_assigner_types::id::{Epoch, HandoffId, Offset, TopicPartition};

/// The driver's part of one partition: its gate, and the contexts of its handler.
#[derive(Debug)]
pub(super) struct PartitionContexts {
    /// One for all grants: whoever gives the partition up answers for the requests of every earlier one.
    gate: Arc<Gate>,
    /// The running preparation's.
    pub(super) warm: Option<WarmContext>,
    reserved: Option<ReservedContext>,
    owned: Option<OwnedContext>,
    /// Outlives `owned`, since the last acknowledgement comes after everything was dropped.
    pub(super) edges: Option<Arc<Edges>>,
    /// Of the running call.
    cancelled: CancellationToken,
    /// Of the running drain: ends its wait at the gate.
    recalled: CancellationToken,
}

/// A call of the handler; a drain returns the next offset.
type HandlerCall = BoxFuture<'static, Result<Option<Offset>, HandlerError>>;

/// A call that ended.
pub(super) struct CallEnd {
    partition: TopicPartition,
    call: Call,
    result: CallResult,
}

impl<T: Transport, H: PartitionHandler> Driver<T, H> {
    pub(super) fn call(&mut self, partition: TopicPartition, call: Call) {
        info!(group = &*self.group, %partition, ?call, "calling the handler");
        let run = self.prepare(&partition, &call);
        self.calls.spawn(async move {
            let result = caught(run).await;
            CallEnd { partition, call, result }
        });
    }

    /// Makes the context of a call, and the call itself, not yet begun.
    fn prepare(&mut self, partition: &TopicPartition, call: &Call) -> HandlerCall {
        let cancelled = CancellationToken::new();
        self.held_mut(partition).cancelled = cancelled.clone();
        match call {
            Call::Warm { provenance, current_owner } => {
                self.warm(partition, provenance, current_owner.clone(), cancelled)
            }
            Call::CatchUp { epoch, until, .. } => self.catch_up(partition, *epoch, *until, cancelled),
            Call::Assigned { epoch, start, resumed, strict } => {
                let claim = self.consumer.claim.partition(*epoch, *strict);
                let context = self.granted(partition, claim, *start, *resumed, cancelled);
                let handler = self.handler.clone();
                async move { handler.assigned(&context).await.map(|()| None) }.boxed()
            }
            Call::Drain => self.drain(partition),
            Call::Release => {
                let (handler, partition) = (self.handler.clone(), partition.clone());
                async move { handler.release(&partition).await.map(|()| None) }.boxed()
            }
            Call::Lost => self.lose(partition),
        }
    }

    fn warm(
        &mut self,
        partition: &TopicPartition,
        provenance: &Provenance,
        current_owner: Option<String>,
        cancelled: CancellationToken,
    ) -> HandlerCall {
        let context = WarmContext {
            group: self.group.clone(),
            partition: partition.clone(),
            handoff: handoff_of(provenance),
            current_owner,
            progress: Arc::new(WarmUpProgress::default()),
            cancelled,
        };
        let held = self.held_mut(partition);
        held.warm = Some(context.clone());
        // The records of an earlier life of the partition are of no interest any more.
        held.edges = None;
        let handler = self.handler.clone();
        async move { handler.warm(&context).await.map(|()| None) }.boxed()
    }

    fn catch_up(
        &mut self,
        partition: &TopicPartition,
        epoch: Epoch,
        until_offset: Option<Offset>,
        cancelled: CancellationToken,
    ) -> HandlerCall {
        let context = ReservedContext {
            group: self.group.clone(),
            partition: partition.clone(),
            claim: self.consumer.claim.partition(epoch, true),
            until_offset,
            cancelled,
        };
        self.held_mut(partition).reserved = Some(context.clone());
        let handler = self.handler.clone();
        async move { handler.reserved(&context).await.map(|()| None) }.boxed()
    }

    fn drain(&mut self, partition: &TopicPartition) -> HandlerCall {
        let (context, recalled) = (self.held_context(partition), CancellationToken::new());
        self.held_mut(partition).recalled = recalled.clone();
        context.gate.close();
        drained(self.handler.clone(), context, recalled).boxed()
    }

    fn lose(&self, partition: &TopicPartition) -> HandlerCall {
        let (handler, context) = (self.handler.clone(), self.held_context(partition));
        context.claim.end();
        context.gate.close();
        async move {
            handler.lost(&context).await;
            Ok(None)
        }
        .boxed()
    }

    fn granted(
        &mut self,
        partition: &TopicPartition,
        claim: Claim,
        start_offset: Option<Offset>,
        resumed: bool,
        cancelled: CancellationToken,
    ) -> OwnedContext {
        let (group, edges) = (self.group.clone(), Arc::new(Edges::new(self.consumer.clock.clone())));
        let alarm = Alarm::new(self.alarms.clone());
        let held = self.held_mut(partition);
        held.edges = Some(edges.clone());
        held.gate.open();
        let context = OwnedContext {
            group,
            partition: partition.clone(),
            claim,
            start_offset,
            resumed,
            gate: held.gate.clone(),
            edges,
            alarm,
            cancelled,
        };
        held.end_claims();
        held.owned = Some(context.clone());
        context
    }

    fn held_mut(&mut self, partition: &TopicPartition) -> &mut PartitionContexts {
        let alarms = &self.alarms;
        self.held
            .entry(partition.clone())
            .or_insert_with(|| PartitionContexts::new(Gate::new(alarms.clone()).into()))
    }

    fn held_context(&self, partition: &TopicPartition) -> OwnedContext {
        let held = self.held.get(partition).expect("its call was just prepared");
        held.owned_context()
    }

    pub(super) fn cancel(&mut self, partition: &TopicPartition) {
        let Some(held) = self.held.get(partition) else { return };
        held.cancelled.cancel();
        held.end_claims();
    }

    /// A drain that has not begun need not; its claim stays valid.
    pub(super) fn recall(&self, partition: &TopicPartition) {
        if let Some(held) = self.held.get(partition) {
            held.recalled.cancel();
        }
    }

    /// Forgets all but the gate, if anything is still in flight: a drain of a later grant waits for it as well.
    pub(super) fn forget(&mut self, partition: TopicPartition) {
        let Some(PartitionContexts { gate, .. }) = self.held.remove(&partition) else { return };
        if gate.is_occupied() {
            self.held.insert(partition, PartitionContexts::new(gate));
        }
    }

    /// True if a request that was admitted for `partition` may still act.
    pub(super) fn is_occupied(&self, partition: &TopicPartition) -> bool {
        self.held.get(partition).is_some_and(|held| held.gate.is_occupied())
    }

    /// True if nothing of this member may act any more, so that others may be told so.
    pub(super) fn is_quiet(&self) -> bool {
        self.roles.is_idle() && !self.has_requests()
    }

    /// True if a request that was admitted for any partition may still act.
    pub(super) fn has_requests(&self) -> bool {
        self.held.values().any(|held| held.gate.is_occupied())
    }

    pub(super) fn raise_epoch(&self, partition: &TopicPartition, epoch: Epoch, strict: bool) {
        if let Some(owned) = self.held.get(partition).and_then(|held| held.owned.as_ref()) {
            owned.claim.go_on(epoch, strict);
            owned.gate.open();
        }
    }

    /// Some handler has raised its alarm, or some gate is empty.
    pub(super) fn alarmed(&mut self) {
        let is_spoiled =
            |held: &PartitionContexts| held.owned.as_ref().is_some_and(|owned| owned.alarm.take());
        let spoiled: Vec<_> =
            self.held.iter().filter(|(_, held)| is_spoiled(held)).map(|(at, _)| at.clone()).collect();
        for partition in spoiled {
            warn!(group = &*self.group, %partition, "spoiled");
            self.role_event(RoleEvent::Spoiled(partition));
        }
    }

    pub(super) fn call_ended(&mut self, end: CallEnd) {
        let CallEnd { partition, call, result } = end;
        if let Err(CallFailure { message, .. }) = &result {
            warn!(group = &*self.group, %partition, ?call, error = message, "handler failed");
        }
        if let Some(held) = self.held.get_mut(&partition) {
            held.ended(&call, &result);
        }
        self.role_event(RoleEvent::CallEnded { partition, result });
    }
}

impl PartitionContexts {
    fn new(gate: Arc<Gate>) -> Self {
        Self {
            gate,
            warm: None,
            reserved: None,
            owned: None,
            edges: None,
            cancelled: CancellationToken::new(),
            recalled: CancellationToken::new(),
        }
    }

    fn owned_context(&self) -> OwnedContext {
        let owned = self.owned.clone().expect("a partition is drained or lost only after it was assigned");
        OwnedContext { cancelled: self.cancelled.clone(), ..owned }
    }

    /// Nothing may act under the grants that there were; another one brings a claim of its own.
    fn end_claims(&self) {
        let reserved = self.reserved.as_ref().map(|reserved| &reserved.claim);
        let owned = self.owned.as_ref().map(|owned| &owned.claim);
        reserved.into_iter().chain(owned).for_each(Claim::end);
    }

    fn ended(&mut self, call: &Call, result: &CallResult) {
        match (call, result) {
            (Call::Warm { .. }, _) => self.warm = None,
            (Call::Drain, Ok(next)) => self.drained(*next),
            (Call::CatchUp { .. } | Call::Assigned { .. }, Err(_)) => self.end_claims(),
            (Call::Release | Call::Lost, Ok(_)) => {
                self.end_claims();
                (self.reserved, self.owned) = (None, None);
            }
            (Call::CatchUp { .. } | Call::Assigned { .. }, Ok(_))
            | (Call::Drain | Call::Release | Call::Lost, Err(_)) => {}
        }
    }

    fn drained(&self, next: Option<Offset>) {
        self.end_claims();
        if let (Some(edges), Some(next)) = (&self.edges, next) {
            edges.drained(next);
        }
    }
}

fn handoff_of(provenance: &Provenance) -> Option<HandoffId> {
    match provenance {
        Provenance::Handoff(id) => Some(id.clone()),
        Provenance::Run(_) => None,
    }
}

/// Drains once nothing is in flight that was admitted before. That is waited for as long as the drain is wanted.
async fn drained<H: PartitionHandler>(
    handler: Arc<H>,
    context: OwnedContext,
    recalled: CancellationToken,
) -> Result<Option<Offset>, HandlerError> {
    tokio::select! {
        biased;
        // Its claim has ended; what is in flight may go on a while, and is answered for at the gate.
        () = context.cancelled() => return Err("cancelled while requests were in flight".into()),
        // The usual case.
        () = context.gate.emptied() => {}
        // The owner goes on with all that is in flight.
        () = recalled.cancelled() => return Err("recalled while requests were in flight".into()),
    }
    handler.drain(&context).await
}

/// Turns errors and panics of a handler into failures. A panic may have left anything behind.
async fn caught(call: impl Future<Output = Result<Option<Offset>, HandlerError>>) -> CallResult {
    match AssertUnwindSafe(call).catch_unwind().await {
        Ok(Ok(next)) => Ok(next),
        Ok(Err(error)) => Err(CallFailure { message: error.to_string(), spoiled: error.is::<Spoiled>() }),
        Err(_) => Err(CallFailure { message: "the handler panicked".to_owned(), spoiled: true }),
    }
}
