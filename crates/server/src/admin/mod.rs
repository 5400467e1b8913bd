//! What operators call: everything that there is to see of a group, and the few things that they may change.
//!
//! What is shown is read from this instance's view. What is changed is written under guards on what was read, by
//! whichever instance was asked; a leader then acts on it as on any other change.

mod abort;
mod assignments;
mod configure;
mod consumers;
mod explain;
mod groups;
mod handoffs;
mod modes;
mod page;
mod plan;
mod show;
mod topics;
mod watch;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use kafka_assigner_proto::{Reason, status};
use tonic::Status;

use crate::consumer::group_name;
use crate::group::ServedGroup;
use crate::instance::Instance;
pub use watch::Events;

/// How often a change is tried anew when what it is based on changed under it.
const ATTEMPTS: usize = 5;

/// The longest text for people that is kept, in characters.
const MOST_TEXT: usize = 1_000;

/// The service for operators on one instance.
#[derive(Debug, Clone)]
pub struct AdminService {
    instance: Instance,
    watchers: Arc<AtomicUsize>,
}

impl AdminService {
    /// The service of `instance`.
    #[must_use]
    pub fn new(instance: Instance) -> Self {
        Self { instance, watchers: Arc::default() }
    }

    /// The group that a request names, with its view loaded.
    async fn group(&self, name: &str) -> Result<ServedGroup, Status> {
        self.instance.group(&group_name(name)?).await
    }

    /// The group with a view that is as new as the store is now: for whoever decides by it.
    async fn current(&self, name: &str) -> Result<ServedGroup, Status> {
        let group = self.group(name).await?;
        self.instance.catch_up(&group).await?;
        Ok(group)
    }
}

fn lost_race(what: &str) -> Status {
    status(Reason::LostRace, format!("{what} kept changing; try again"))
}
