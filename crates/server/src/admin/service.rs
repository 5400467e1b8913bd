//! The service for operators.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::{Reason, status};
use tonic::Status;

use crate::group::ServedGroup;
use crate::group_name::group_name;
use crate::instance::Instance;

/// A change is tried anew this often when its base changed under it.
pub(super) const ATTEMPTS: usize = 5;

/// The longest text for people that is kept, in characters.
const MOST_TEXT: usize = 1_000;

/// An operator's reason as it is kept.
pub(super) fn kept(reason: &str) -> String {
    reason.chars().take(MOST_TEXT).collect()
}

/// The service for operators on one instance.
#[derive(Debug, Clone)]
pub struct AdminService {
    pub(super) instance: Instance,
    pub(super) watchers: Arc<AtomicUsize>,
}

impl AdminService {
    /// The service of `instance`.
    #[must_use]
    pub fn new(instance: Instance) -> Self {
        Self { instance, watchers: Arc::default() }
    }

    /// The group that a request names, with its view loaded.
    pub(super) async fn group(&self, name: &str) -> Result<ServedGroup, Status> {
        self.instance.group(&group_name(name)?).await
    }

    /// A part of a group as the view shows it; `None` where there is no such group or part.
    pub(crate) async fn shown(
        &self,
        group: &str,
        part: impl Fn(&GroupState) -> Option<String>,
    ) -> Option<String> {
        self.group(group).await.ok()?.read(part)
    }

    /// The group with a view that is as new as the store is now: for whoever decides by it.
    pub(super) async fn current(&self, name: &str) -> Result<ServedGroup, Status> {
        let group = self.group(name).await?;
        self.instance.catch_up(&group).await?;
        Ok(group)
    }
}

/// The refusal of a change that was tried anew too often.
pub(super) fn lost_race(what: &str) -> Status {
    status(Reason::LostRace, format!("{what} kept changing; try again"))
}
