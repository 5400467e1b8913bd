//! The way from a router to writers.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt as _, Shared};
use kafka_assigner_router::{Forward, RouteTarget, SendError, TopicPartition};
use prost::Message as _;

use crate::message::{Answer, Code, RoutedRequest};
use crate::wire::{CallError, Connection};

/// Sends requests to writers, each over one connection, so that they arrive in the order in which they were started.
#[derive(Debug, Default)]
pub struct Wire {
    /// By endpoint. Those that are closed go when the next one is opened.
    connections: Mutex<BTreeMap<Arc<str>, PendingConnection>>,
}

/// A connection that is being opened, or was; whoever needs it waits for the same one.
type PendingConnection = Shared<BoxFuture<'static, Result<Connection, Arc<io::Error>>>>;

/// True if it may still become of use.
fn is_useful(opening: &PendingConnection) -> bool {
    opening.peek().is_none_or(|opened| opened.as_ref().is_ok_and(Connection::is_open))
}

impl Wire {
    /// Nothing is connected yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn connection(&self, endpoint: &Arc<str>) -> PendingConnection {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opening) = connections.get(endpoint).filter(|opening| is_useful(opening)) {
            return opening.clone();
        }
        connections.retain(|_, opening| is_useful(opening));
        let to = endpoint.clone();
        let opening = async move { Connection::open(&to).await.map_err(Arc::new) }.boxed().shared();
        connections.insert(endpoint.clone(), opening.clone());
        opening
    }
}

#[async_trait]
impl Forward for Wire {
    type Response = Answer;

    async fn send(
        &self,
        target: &RouteTarget,
        at: &TopicPartition,
        request: Bytes,
    ) -> Result<Answer, SendError> {
        let connection = self.connection(&target.owner.endpoint).await;
        let connection = connection.map_err(|error| SendError::Refused(error.to_string()))?;
        let (topic, partition, epoch) = (at.topic.to_string(), at.kafka_number(), target.epoch.0);
        let order = RoutedRequest { topic, partition, epoch, request };
        let answer = match connection.call(order.encode_to_vec().into()).await {
            Ok(answer) => Answer::read(answer),
            Err(error @ CallError::Unsent) => return Err(SendError::Refused(error.to_string())),
            Err(error @ CallError::Broken) => return Err(SendError::Failed(error.into())),
        };
        match answer.code() {
            Code::Done | Code::Outdated | Code::Invalid => Ok(answer),
            Code::NotExecuted | Code::Leaving => Err(SendError::Refused(answer.why)),
            Code::Unknown => Err(SendError::Failed(answer.why.into())),
        }
    }
}
