//! The instances of the run, and the group as operators set it.

use std::ops::Deref;

use anyhow::{Context as _, Result};
use kafka_assigner_rig::instances::{self, Service, seconds};
use kafka_assigner_types::mode::Mode;

use crate::arguments::Arguments;
use crate::consumers::GROUP;
use crate::scale::{LEADER_TTL, MOVES_IN_FLIGHT, SESSION_TIMEOUT};

/// How many instances there are.
const INSTANCES: usize = 2;

/// The running instances. Each has a new name.
#[derive(Debug)]
pub(crate) struct Instances {
    etcd: String,
    started: usize,
    running: instances::Instances,
}

impl Instances {
    /// Starts all of them.
    pub(crate) async fn start(arguments: &Arguments) -> Result<Self> {
        let program = arguments.programs.join("kafka-assigner");
        let service = Service::new(program, &arguments.kafka, &arguments.folder)
            .with("--leader-ttl", seconds(LEADER_TTL))
            .with("--group-session-timeout", seconds(SESSION_TIMEOUT))
            .with("--group-max-moves-in-flight", MOVES_IN_FLIGHT);
        let running = instances::Instances::new(service);
        let mut instances = Self { etcd: arguments.etcd.clone(), started: 0, running };
        for _ in 0..INSTANCES {
            let id = instances.next_id();
            instances.running.add(&id, &instances.etcd).await?;
        }
        Ok(instances)
    }

    fn next_id(&mut self) -> String {
        self.started += 1;
        format!("instance-{}", self.started)
    }

    /// Sets the group's strategy with the command that operators have.
    pub(crate) fn set_strategy(&self, strategy: &str) -> Result<()> {
        self.running.set_group(GROUP, &["--strategy", strategy])
    }

    /// Has the group promise what `mode` promises.
    pub(crate) fn set_mode(&self, mode: Mode) -> Result<()> {
        self.running.set_group(GROUP, &["--mode", &mode.to_string()])
    }

    /// Kills the instance `id`, and returns the place that it leaves.
    pub(crate) fn kill(&mut self, id: &str) -> Result<usize> {
        let place = self.running.place_of(id).with_context(|| format!("{id}, which leads, is unknown"))?;
        self.running.kill(place);
        Ok(place)
    }

    /// Starts another one in the place of a killed one, and returns its name.
    pub(crate) async fn replace(&mut self, place: usize) -> Result<String> {
        let id = self.next_id();
        self.running.start_at(place, &id, &self.etcd).await?;
        Ok(id)
    }

    /// Ends all of them in good order.
    pub(crate) async fn stop(self) -> Result<()> {
        self.running.stop().await
    }
}

impl Deref for Instances {
    type Target = instances::Instances;

    fn deref(&self) -> &instances::Instances {
        &self.running
    }
}
