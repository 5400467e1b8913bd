//! Every process's own ways to the processes that it calls.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use kafka_assigner_rig::{Disturbance, Link};

/// The links of the run, by who calls and who is called.
#[derive(Debug, Default)]
pub(crate) struct Network(Mutex<BTreeMap<(String, String), Arc<Link>>>);

/// Links that are disturbed until this is dropped.
#[derive(Debug)]
pub(crate) struct Disturbed {
    links: Vec<Arc<Link>>,
    hits_before: u64,
}

impl Network {
    fn links(&self) -> MutexGuard<'_, BTreeMap<(String, String), Arc<Link>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address at which `client` reaches `server`, which listens at `at`.
    pub(crate) async fn way(&self, client: &str, server: &str, at: SocketAddr) -> Result<SocketAddr> {
        let key = (client.to_owned(), server.to_owned());
        if let Some(link) = self.links().get(&key) {
            return Ok(link.address());
        }
        let link = Link::to(at).await?;
        let address = link.address();
        self.links().insert(key, Arc::new(link));
        Ok(address)
    }

    /// Closes all ways of a client that is gone.
    pub(crate) fn forget(&self, client: &str) {
        self.links().retain(|(from, _), _| from != client);
    }

    /// Disturbs all links that `client` calls over.
    pub(crate) fn disturb_from(&self, client: &str, disturbance: Disturbance) -> Disturbed {
        self.disturb(disturbance, |(from, _)| from == client)
    }

    /// Disturbs all links over which `server` is called.
    pub(crate) fn disturb_to(&self, server: &str, disturbance: Disturbance) -> Disturbed {
        self.disturb(disturbance, |(_, to)| to == server)
    }

    fn disturb(&self, disturbance: Disturbance, which: impl Fn(&(String, String)) -> bool) -> Disturbed {
        let links = self.links();
        let chosen = links.iter().filter(|(key, _)| which(key)).map(|(_, link)| Arc::clone(link));
        let links: Vec<Arc<Link>> = chosen.collect();
        let hits_before = hits(&links);
        links.iter().for_each(|link| link.disturb(disturbance));
        Disturbed { links, hits_before }
    }
}

fn hits(links: &[Arc<Link>]) -> u64 {
    links.iter().map(|link| link.hits()).sum()
}

impl Disturbed {
    /// True if anybody noticed so far.
    pub(crate) fn was_felt(&self) -> bool {
        hits(&self.links) > self.hits_before
    }
}

impl Drop for Disturbed {
    fn drop(&mut self) {
        self.links.iter().for_each(|link| link.heal());
    }
}
