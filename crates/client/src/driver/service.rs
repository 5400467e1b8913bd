//! Calls to the service, run beside the loop.

use std::sync::atomic::Ordering;
use std::time::Duration;

use kafka_assigner_proto::v1::{
    Caller, DeregisterMode, DeregisterRequest, HeartbeatRequest, HeartbeatResponse, WarmProgress,
};
use tonic::Status;
use tracing::debug;

use super::Driver;
use super::acks::AckReply;
use crate::handler::PartitionHandler;
use crate::session::{Event, OpenStream, SendHeartbeat};
use crate::session_io::bounded;
use crate::transport::Transport;

/// Leaving is tried again after this long: half of what an orchestrator's last grace would allow.
const DEREGISTER_BOUND: Duration = Duration::from_secs(2);

/// A call to the service that ended.
pub(super) enum Reply {
    Heartbeat { number: u64, result: Result<HeartbeatResponse, Status> },
    Deregister { mode: DeregisterMode, result: Result<(), Status> },
    Acks(AckReply),
    StoppedNotice { incarnation: String },
}

impl<T: Transport, H: PartitionHandler> Driver<T, H> {
    pub(super) fn caller(&self, incarnation: String) -> Caller {
        let consumer_name = self.consumer.options.name.clone();
        Caller { group: self.consumer.options.group.clone(), consumer_name, incarnation }
    }

    pub(super) fn open_stream(&mut self, open: OpenStream) {
        let mut request = self.consumer.options.register_request();
        request.incarnation = open.incarnation;
        request.resume_lease = open.resume_lease;
        request.seen = Some(open.seen);
        let transport = self.consumer.transport.clone();
        let stream = async move { transport.register(&open.endpoint, request).await };
        self.commands.open(open.attempt, stream);
    }

    pub(super) fn send_heartbeat(&mut self, heartbeat: SendHeartbeat) {
        let request = self.heartbeat_request(&heartbeat);
        let transport = self.consumer.transport.clone();
        self.replies.spawn(async move {
            let call = transport.heartbeat(&heartbeat.endpoint, request);
            let result = bounded(heartbeat.bound, call).await;
            Reply::Heartbeat { number: heartbeat.number, result }
        });
    }

    fn heartbeat_request(&mut self, heartbeat: &SendHeartbeat) -> HeartbeatRequest {
        let poll_progress = self.progress.count(self.now(), |bound| self.handler.is_stuck(bound));
        let options = &self.consumer.options;
        HeartbeatRequest {
            group: options.group.clone(),
            consumer_name: options.name.clone(),
            incarnation: heartbeat.incarnation.clone(),
            lease: heartbeat.lease,
            seen: Some(heartbeat.seen.clone()),
            poll_progress,
            warming: self.warming(),
        }
    }

    fn warming(&self) -> Vec<WarmProgress> {
        let contexts = self.held.values().filter_map(|held| held.warm.as_ref());
        let progress = contexts.filter_map(|context| {
            let total = context.progress.total.load(Ordering::Relaxed);
            Some(WarmProgress {
                topic: context.partition.topic.to_string(),
                partition: context.partition.kafka_number(),
                handoff_id: context.handoff.as_ref()?.to_string(),
                done: context.progress.done.load(Ordering::Relaxed),
                total: (total > 0).then_some(total),
            })
        });
        progress.collect()
    }

    pub(super) fn send_deregister(&mut self, endpoint: String, incarnation: String, mode: DeregisterMode) {
        let request = DeregisterRequest { caller: Some(self.caller(incarnation)), mode: mode.into() };
        let transport = self.consumer.transport.clone();
        self.replies.spawn(async move {
            let result = bounded(DEREGISTER_BOUND, transport.deregister(&endpoint, request)).await;
            Reply::Deregister { mode, result: result.map(|_| ()) }
        });
    }

    pub(super) fn reply(&mut self, reply: Reply) {
        match reply {
            Reply::Heartbeat { number, result: Ok(response) } => {
                self.session_event(Event::HeartbeatAnswered { number, response });
            }
            Reply::Heartbeat { number, result: Err(status) } => {
                debug!(code = ?status.code(), message = status.message(), "heartbeat failed");
                self.session_event(Event::HeartbeatFailed { number });
            }
            Reply::Deregister { mode, result } => self.session_event(Event::LeaveAnswered { mode, result }),
            Reply::Acks(reply) => self.acks_answered(reply),
            Reply::StoppedNotice { incarnation } => self.farewell_said(incarnation),
        }
    }
}
