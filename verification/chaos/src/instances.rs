//! The instances of the run: three, each with links of its own to the members of etcd.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use kafka_assigner_rig::instances::{self, Service, seconds, urls};
use kafka_assigner_types::mode::Mode;

use crate::arguments::Settings;
use crate::consumers::{GROUP, SESSION_TIMEOUT};
use crate::network::Network;

/// The number of instances: one may be gone while another is cut off.
pub(crate) const INSTANCES: usize = 3;

/// The time for which a dead leader leads on.
pub(crate) const LEADER_TTL: Duration = Duration::from_secs(3);

/// The longest time for a move to stand in one phase, and for a warm-up to make no progress: a consumer that was given
/// a partition and is cut off must not hold it for half a minute.
pub(crate) const DEADLINE: Duration = Duration::from_secs(8);

/// The time for which a mark stands before its session ends: with the second before the mark, less than a session
/// lives.
const TAKEOVER_AFTER: Duration = Duration::from_secs(2);

/// The running instances. Those who call one know it by its place, which its successor takes.
#[derive(Debug)]
pub(crate) struct Instances {
    mode: Mode,
    network: Arc<Network>,
    etcd: Vec<SocketAddr>,
    /// The number of times that one was started at each place.
    started: [usize; INSTANCES],
    running: instances::Instances,
}

/// The name of the instance at a place in the network.
pub(crate) fn server(place: usize) -> String {
    format!("instance-{place}")
}

impl Instances {
    /// Starts all of them.
    pub(crate) async fn start(
        settings: &Settings,
        network: Arc<Network>,
        etcd: Vec<SocketAddr>,
    ) -> Result<Self> {
        let service = Service::new(settings.server.clone(), &settings.kafka, &settings.folder)
            .with("--leader-ttl", seconds(LEADER_TTL));
        let running = instances::Instances::new(service);
        let mut instances = Self { mode: settings.mode, network, etcd, started: [0; INSTANCES], running };
        for place in 0..INSTANCES {
            let (id, etcd) = (instances.next_id(place), instances.etcd_endpoints(place).await?);
            instances.running.add(&id, &etcd).await?;
        }
        Ok(instances)
    }

    /// Starts another one at a place where none runs. Each has a new name, as a pod of a deployment has.
    pub(crate) async fn start_at(&mut self, place: usize) -> Result<()> {
        let (id, etcd) = (self.next_id(place), self.etcd_endpoints(place).await?);
        self.running.start_at(place, &id, &etcd).await
    }

    fn next_id(&mut self, place: usize) -> String {
        self.started[place] += 1;
        format!("{}.{}", server(place), self.started[place])
    }

    /// Each prefers another member.
    async fn etcd_endpoints(&self, place: usize) -> Result<String> {
        let mut ways = Vec::new();
        for (member, at) in self.etcd.iter().enumerate() {
            ways.push(self.network.way(&server(place), &format!("etcd-{member}"), *at).await?);
        }
        ways.rotate_left(place);
        Ok(urls(&ways))
    }

    /// Creates the group with the command that operators have.
    pub(crate) fn create_group(&self) -> Result<()> {
        let (deadline, mode) = (seconds(DEADLINE), self.mode.to_string());
        let session_timeout = seconds(SESSION_TIMEOUT);
        let mut settings = vec!["--session-timeout", &session_timeout];
        settings.extend(["--warm-deadline", &deadline, "--phase-deadline", &deadline]);
        let takeover = seconds(TAKEOVER_AFTER);
        settings.extend(["--takeover-after", &takeover]);
        if self.mode != Mode::Overlap {
            // New groups have the mode overlap.
            settings.extend(["--mode", &mode]);
        }
        self.running.set_group(GROUP, &settings)
    }
}

impl Deref for Instances {
    type Target = instances::Instances;

    fn deref(&self) -> &instances::Instances {
        &self.running
    }
}

impl DerefMut for Instances {
    fn deref_mut(&mut self) -> &mut instances::Instances {
        &mut self.running
    }
}
