//! The state of instances as calls to them show it, for logs and the status.

use std::sync::Arc;

use kafka_assigner_session::{Event, causes::of_status};
use kafka_assigner_types::moment::Moment;
use tonic::Status;
use tracing::{info, warn};

use crate::unanswered_time::UnansweredTime;

/// Watches the calls of one consumer.
#[derive(Debug)]
pub(super) struct ServiceWatch {
    group: Arc<str>,
    silence: UnansweredTime,
    last_error: Option<String>,
}

impl ServiceWatch {
    pub(super) const fn new(group: Arc<str>, start: Moment) -> Self {
        Self { group, silence: UnansweredTime::since(start), last_error: None }
    }

    /// The error of the last call, with its causes; `None` = an instance has answered since, or none failed.
    pub(super) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    /// Takes an event of the stream in.
    pub(super) fn hear<C>(&mut self, now: Moment, event: &Event<C>) {
        match event {
            Event::Command { .. } => self.answered(now),
            Event::StreamFailed { status, .. } => self.failed(now, status),
            _ => {}
        }
    }

    /// An instance answered.
    pub(super) fn answered(&mut self, now: Moment) {
        if let Some(silence) = self.silence.answered(now) {
            info!(group = &*self.group, ?silence, "an instance answers again");
        }
        self.last_error = None;
    }

    /// A call failed.
    pub(super) fn failed(&mut self, now: Moment, status: &Status) {
        let error = of_status(status);
        if let Some(silence) = self.silence.failed(now) {
            warn!(group = &*self.group, error, ?silence, "no instance answers; calling them all the time");
        }
        self.last_error = Some(error);
    }
}
