//! The routers: processes of this very program, in the mode routed.

use std::env;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use kafka_assigner_rig::instances::urls;
use kafka_assigner_rig::{NamedProcess, free_port};
use tokio::sync::watch;

use crate::arguments::Settings;
use crate::instances::server;
use crate::network::Network;

/// The number of routers: one may be gone, and another one in trouble.
const ROUTERS: usize = 3;

/// The running routers. Callers know them by their addresses, which their successors take.
#[derive(Debug)]
pub(crate) struct Routers {
    settings: Settings,
    network: Arc<Network>,
    instances: Vec<SocketAddr>,
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    address: SocketAddr,
    started: usize,
    process: Option<NamedProcess>,
}

/// The name of the router at a place, in the group and in the network.
pub(crate) fn router(place: usize) -> String {
    format!("router-{place}")
}

impl Routers {
    /// Starts all of them, each with links of its own to the instances.
    pub(crate) async fn start(
        settings: &Settings,
        network: Arc<Network>,
        instances: Vec<SocketAddr>,
    ) -> Result<Self> {
        let mut routers = Self { settings: settings.clone(), network, instances, places: Vec::new() };
        for place in 0..ROUTERS {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
            routers.places.push(Place { address, started: 0, process: None });
            routers.start_at(place).await?;
        }
        Ok(routers)
    }

    /// None at all.
    pub(crate) fn none(settings: &Settings) -> Self {
        let network = Arc::<Network>::default();
        Self { settings: settings.clone(), network, instances: Vec::new(), places: Vec::new() }
    }

    /// Starts one at a place where none runs, under the same name as the one before.
    pub(crate) async fn start_at(&mut self, place: usize) -> Result<()> {
        let name = router(place);
        let Place { address, started, .. } = self.places[place];
        let started = started + 1;
        let log = self.settings.folder.join(format!("{name}.{started}.log"));
        let mut links = Vec::new();
        for (instance, at) in self.instances.iter().enumerate() {
            links.push(self.network.way(&name, &server(instance), *at).await?);
        }
        let mut command = Command::new(env::current_exe()?);
        command.args(["router", "--name", &name, "--listen", &address.to_string()]);
        command.args(["--endpoints", &urls(&self.instances), "--links", &urls(&links)]);
        let process = NamedProcess::start(name, command, log)?;
        self.places[place] = Place { address, started, process: Some(process) };
        Ok(())
    }

    /// The addresses at which they listen, or will.
    pub(crate) fn addresses(&self) -> watch::Receiver<Vec<SocketAddr>> {
        watch::channel(self.places.iter().map(|place| place.address).collect()).1
    }

    /// The number of routers.
    pub(crate) const fn len(&self) -> usize {
        self.places.len()
    }

    /// Kills the one at a place.
    pub(crate) fn kill(&mut self, place: usize) {
        self.places[place].process = None;
    }

    /// The one that runs at a place.
    pub(crate) fn running(&self, place: usize) -> Result<&NamedProcess> {
        self.places[place].process.as_ref().with_context(|| format!("{} does not run", router(place)))
    }

    /// Those that ended although nobody ended them, with how.
    pub(crate) fn deaths(&mut self) -> Result<Vec<String>> {
        let processes = self.places.iter_mut().filter_map(|place| place.process.as_mut());
        processes.filter_map(|process| process.death().transpose()).collect()
    }
}
