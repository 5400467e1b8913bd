//! The inputs of the session's machine and its outputs.

use std::time::Duration;

use kafka_assigner_proto::v1::{
    DeregisterMode, DeregisterResponse, FenceReason, FencedPartition, HeartbeatResponse, Seen, StreamState,
};
use kafka_assigner_types::id::Incarnation;
use kafka_assigner_types::kv::LeaseId;
use tonic::Status;

use super::claim_clock::ClaimTerm;
use crate::causes::of_status;

/// The options of the machine.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// The instances, as "http://host:port"; at least one.
    pub endpoints: Vec<String>,
    /// The time for which the claim goes on while instances answer that the store can't be reached.
    pub outage_grace: Duration,
    /// Seeds incarnations and jitter.
    pub seed: u64,
}

/// An event that the machine takes in.
#[derive(Debug)]
pub enum Event<C> {
    /// Begin. Once, first of all.
    Start,
    /// The time of [`Session::next_wake`](crate::Session::next_wake) has come.
    Timer,
    /// A stream delivered a command.
    Command {
        /// The attempt that the stream belongs to.
        attempt: u64,
        /// The command.
        command: C,
    },
    /// A stream could not be opened, or it broke.
    StreamFailed {
        /// The attempt that the stream belongs to.
        attempt: u64,
        /// The error.
        status: Status,
    },
    /// A stream came to its regular end.
    StreamEnded {
        /// The attempt that the stream belongs to.
        attempt: u64,
    },
    /// A heartbeat was answered.
    HeartbeatAnswered {
        /// The number of the heartbeat.
        number: u64,
        /// The answer.
        response: HeartbeatResponse,
    },
    /// A heartbeat was not answered, or with an error: nothing is known.
    HeartbeatFailed {
        /// The number of the heartbeat.
        number: u64,
    },
    /// Leave. With `NOW` and `RESTART` the caller has stopped all work before.
    Leave(DeregisterMode),
    /// Deregister was answered.
    LeaveAnswered {
        /// The mode that was asked for.
        mode: DeregisterMode,
        /// The answer.
        result: Result<DeregisterResponse, Status>,
    },
    /// Leave without a word, so that the session runs out: what the caller has begun may still have effects.
    Abandon,
    /// Another call to the pinned instance failed; the next one goes elsewhere.
    CallFailed,
    /// The next heartbeat has news to report: it goes as soon as none is on its way.
    ReportDue,
}

impl<C> Event<C> {
    /// The event of the next item of the stream of `attempt`; `None` is its end.
    pub(crate) fn of_stream(attempt: u64, item: Option<Result<C, Status>>) -> Self {
        match item {
            Some(Ok(command)) => Self::Command { attempt, command },
            Some(Err(status)) => {
                tracing::debug!(error = of_status(&status), "stream failed");
                Self::StreamFailed { attempt, status }
            }
            None => Self::StreamEnded { attempt },
        }
    }
}

/// An action for the driver.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionAction<N> {
    /// Drop the stream there is and open one; give its events this attempt's number.
    OpenStream(OpenStream),
    /// Drop the stream there is.
    CloseStream,
    /// Send a heartbeat.
    SendHeartbeat(SendHeartbeat),
    /// Send Deregister.
    SendDeregister {
        /// The instance.
        endpoint: String,
        /// The session.
        incarnation: Incarnation,
        /// The way to leave.
        mode: DeregisterMode,
    },
    /// Nobody is there who may take what this member has: to drain further is in vain.
    NobodyTakes,
    /// The session goes on, but for these partitions: drop them before anything is extended, and begin no grant of them up to
    /// the epoch. The list takes the place of the one before.
    Fenced(Vec<FencedPartition>),
    /// The session's claim is valid until then; `None` = it has ended.
    Claim(Option<ClaimTerm>),
    /// A session was opened: the first one, or one after a loss.
    Opened {
        /// Its incarnation.
        incarnation: Incarnation,
        /// Its lease.
        lease: LeaseId,
    },
    /// Pass on what a command says about partitions.
    News(N),
    /// Another took over from this session, or it was ended by force, so others wait for its claim. Once nothing that was
    /// begun under it can act any more, and not before, tell the service so: Deregister, `NOW`, under this incarnation.
    SayStopped {
        /// The session.
        incarnation: Incarnation,
    },
    /// The session is over: every partition is lost.
    Lost(Loss),
    /// Nothing will happen any more.
    Finished(Ending),
}

/// A call of Register.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenStream {
    /// The number of the attempt.
    pub attempt: u64,
    /// The instance.
    pub endpoint: String,
    /// The session.
    pub incarnation: Incarnation,
    /// The session's lease; [`LeaseId::NONE`] = a new session.
    pub resume_lease: LeaseId,
    /// The newest revision that this client has seen.
    pub seen: Seen,
}

/// A call of Heartbeat.
#[derive(Debug, Clone, PartialEq)]
pub struct SendHeartbeat {
    /// Its number.
    pub number: u64,
    /// The instance.
    pub endpoint: String,
    /// The session.
    pub incarnation: Incarnation,
    /// The session's lease.
    pub lease: LeaseId,
    /// The newest revision that this client has seen.
    pub seen: Seen,
    /// The stream as it stands.
    pub stream: StreamState,
    /// Without an answer for this long it has failed.
    pub bound: Duration,
}

/// The reasons for which a session is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// The service said so.
    Fenced(FenceReason, String),
    /// The service runs on another store than before.
    OtherCluster,
    /// A reconnect was refused.
    Refused(String),
    /// It was renewed, and no instance took its stream: it could be told nothing.
    Unattached,
}

/// The end of a session for good.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// Deregistered as asked.
    Left,
    /// There was no session to leave, or it was lost while leaving.
    NoSession,
    /// Another process runs under the same name.
    Superseded(String),
    /// The service refused the registration, and would again.
    Refused {
        /// The gRPC code.
        code: tonic::Code,
        /// The service's words.
        message: String,
    },
}
