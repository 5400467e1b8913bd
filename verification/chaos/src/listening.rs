//! A transport that writes down how far the streams of its client have told.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt as _;
use kafka_assigner_proto::v1;
use kafka_assigner_proto::v1::assignment_command::Command;
use kafka_assigner_rig::clock::Moment;
use kafka_assigner_rig::journal::Journal;
use kafka_assigner_session::{Acks, CommandStream, Transport};
use tonic::Status;

use crate::history::Entry;

/// A transport of whose streams each command is noted when the client takes it in.
#[derive(Debug)]
pub(crate) struct Listening<T> {
    pub(crate) transport: T,
    pub(crate) history: Arc<Journal>,
}

fn note(history: &Journal, incarnation: &str, command: &v1::AssignmentCommand) {
    let says_nothing =
        matches!(command.command, Some(Command::Fenced(_) | Command::GoAway(_) | Command::OutOfTouch(_)));
    if !says_nothing {
        let (incarnation, revision) = (incarnation.to_owned(), command.revision);
        let told = Entry::Told { incarnation, revision, at: Moment::now() };
        history.write(&told).expect("the history's folder is there for as long as the run");
    }
}

#[async_trait]
impl<T: Transport> Transport for Listening<T> {
    async fn register(&self, endpoint: &str, request: v1::RegisterRequest) -> Result<CommandStream, Status> {
        let (history, incarnation) = (Arc::clone(&self.history), request.incarnation.clone());
        let commands = self.transport.register(endpoint, request).await?;
        let heard = move |item: &Result<v1::AssignmentCommand, Status>| {
            item.iter().for_each(|command| note(&history, &incarnation, command));
        };
        Ok(Box::pin(commands.inspect(heard)))
    }

    async fn heartbeat(
        &self,
        endpoint: &str,
        request: v1::HeartbeatRequest,
    ) -> Result<v1::HeartbeatResponse, Status> {
        self.transport.heartbeat(endpoint, request).await
    }

    async fn acknowledge(
        &self,
        endpoint: &str,
        caller: v1::Caller,
        acks: Acks,
    ) -> Result<Vec<v1::AckResult>, Status> {
        self.transport.acknowledge(endpoint, caller, acks).await
    }

    async fn deregister(
        &self,
        endpoint: &str,
        request: v1::DeregisterRequest,
    ) -> Result<v1::DeregisterResponse, Status> {
        self.transport.deregister(endpoint, request).await
    }
}
