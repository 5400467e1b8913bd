//! What calls to instances say of them, for logs and the status.

use std::sync::Arc;

use kafka_assigner_session::{Event, causes::of_status};
use kafka_assigner_types::moment::Moment;
use tokio::sync::watch;
use tonic::Status;
use tracing::{info, warn};

use super::service_silence::ServiceSilence;
use crate::status::ConsumerStatus;

/// Watches the calls of one consumer.
#[derive(Debug)]
pub(super) struct ServiceWatch {
    group: Arc<str>,
    silence: ServiceSilence,
    status: watch::Sender<ConsumerStatus>,
}

impl ServiceWatch {
    pub(super) const fn new(group: Arc<str>, start: Moment, status: watch::Sender<ConsumerStatus>) -> Self {
        Self { group, silence: ServiceSilence::since(start), status }
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
        self.status.send_if_modified(|status| status.last_error.take().is_some());
    }

    /// A call failed.
    pub(super) fn failed(&mut self, now: Moment, status: &Status) {
        let error = of_status(status);
        if let Some(silence) = self.silence.failed(now) {
            warn!(group = &*self.group, error, ?silence, "no instance answers; calling them all the time");
        }
        self.status.send_if_modified(|status| {
            let is_news = status.last_error.as_ref() != Some(&error);
            status.last_error = Some(error);
            is_news
        });
    }
}
