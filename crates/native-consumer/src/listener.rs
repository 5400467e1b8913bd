//! Code of the application that hears of rebalances.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;

use async_trait::async_trait;
use futures::FutureExt as _;
use kafka_assigner_group_member::{MemberNotice, RebalanceCallback};
use kafka_assigner_types::id::TopicPartition;
use tokio::sync::{mpsc, oneshot};

/// The most notices that wait for a listener. Callbacks come one at a time, so they always have a place; a notice without
/// one is left out, and what it says is in the status too.
const MOST_WAITING: usize = 64;

/// A change of what a member owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebalanceChange {
    /// The generation of the group, or the member's epoch (KIP-848); −1 outside of any.
    pub generation: i32,
    /// The partitions; none where a rebalance added nothing.
    pub partitions: BTreeSet<TopicPartition>,
}

/// Code of the application that hears of rebalances, one call at a time and in the order of Kafka's own client.
///
/// It runs on a task of its own: heartbeats go on meanwhile. A call that takes longer than the application has to give
/// partitions up is waited for no more, and one that panics counts as done.
#[async_trait]
pub trait RebalanceListener: Send + Sync {
    /// These partitions were added, and are read after this.
    async fn assigned(&self, change: &RebalanceChange) {
        let _ignored = change;
    }

    /// These partitions were released by the application, and what is done is committed; others get them after this.
    async fn revoked(&self, change: &RebalanceChange) {
        let _ignored = change;
    }

    /// These partitions were lost: others may have them already.
    async fn lost(&self, change: &RebalanceChange) {
        let _ignored = change;
    }

    /// Something that operators want on a timeline.
    async fn noticed(&self, notice: &MemberNotice) {
        let _ignored = notice;
    }
}

/// A call that is to be made.
enum ListenerCall {
    Callback(RebalanceCallback, i32, oneshot::Sender<()>),
    Notice(MemberNotice),
}

/// The way to a listener; without one every call is done at once.
#[derive(Debug)]
pub(crate) struct ListenerCalls(Option<mpsc::Sender<ListenerCall>>);

impl ListenerCalls {
    /// Starts the task of a listener, which ends with this value.
    pub(crate) fn start(listener: Option<Box<dyn RebalanceListener>>) -> Self {
        let start = |listener: Box<dyn RebalanceListener>| {
            let (calls, waiting) = mpsc::channel(MOST_WAITING);
            tokio::spawn(listen(listener, waiting));
            calls
        };
        Self(listener.map(start))
    }

    /// Makes the call; what is returned ends when it is done. `None`: it is done already.
    pub(crate) fn call(
        &self,
        callback: &RebalanceCallback,
        generation: i32,
    ) -> Option<oneshot::Receiver<()>> {
        let calls = self.0.as_ref()?;
        let (done, is_done) = oneshot::channel();
        let call = ListenerCall::Callback(callback.clone(), generation, done);
        let permit = calls.clone();
        match permit.try_send(call) {
            Ok(()) => Some(is_done),
            // Full of notices: it waits for its turn on a task of its own, of which there is one at a time.
            Err(mpsc::error::TrySendError::Full(call)) => {
                tokio::spawn(async move { permit.send(call).await.ok() });
                Some(is_done)
            }
            Err(mpsc::error::TrySendError::Closed(_)) => None,
        }
    }

    pub(crate) fn notice(&self, notice: &MemberNotice) {
        if let Some(calls) = &self.0 {
            let _left_out = calls.try_send(ListenerCall::Notice(notice.clone()));
        }
    }
}

impl std::fmt::Debug for ListenerCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Callback(callback, ..) => callback.fmt(f),
            Self::Notice(notice) => notice.fmt(f),
        }
    }
}

async fn listen(listener: Box<dyn RebalanceListener>, mut calls: mpsc::Receiver<ListenerCall>) {
    while let Some(call) = calls.recv().await {
        let made = AssertUnwindSafe(make(&*listener, call)).catch_unwind().await;
        if made.is_err() {
            tracing::error!("the listener of rebalances panicked; the call counts as done");
        }
    }
}

async fn make(listener: &dyn RebalanceListener, call: ListenerCall) {
    let (callback, generation, done) = match call {
        ListenerCall::Notice(notice) => return listener.noticed(&notice).await,
        ListenerCall::Callback(callback, generation, done) => (callback, generation, done),
    };
    match callback {
        RebalanceCallback::Assigned(partitions) => {
            listener.assigned(&RebalanceChange { generation, partitions }).await;
        }
        RebalanceCallback::Revoked(partitions) => {
            listener.revoked(&RebalanceChange { generation, partitions }).await;
        }
        RebalanceCallback::Lost(partitions) => {
            listener.lost(&RebalanceChange { generation, partitions }).await;
        }
    }
    // Nobody listens where the time for it was over.
    let _late = done.send(());
}
