//! Several etcd members that decide together.

use std::io;

use crate::etcd::Ports;
use crate::{Etcd, EtcdConfig};

/// The most times that other ports are tried when somebody took the ones that were free.
const TRIES: usize = 3;

/// An etcd cluster of three members on loopback ports: it serves as long as two of them run.
#[derive(Debug)]
pub struct EtcdCluster {
    members: Vec<Etcd>,
}

impl EtcdCluster {
    /// The number of members: the fewest that can lose one.
    pub const MEMBERS: usize = 3;

    /// Starts the members and waits until each answers.
    ///
    /// # Errors
    /// When the program can't be started, or a member does not answer in 30 s; the end of its log is in the text.
    pub fn start(config: &EtcdConfig) -> io::Result<Self> {
        let mut last = None;
        for _ in 0..TRIES {
            let mut cluster = Self::spawn(config)?;
            match cluster.members.iter_mut().try_for_each(Etcd::wait) {
                Ok(()) => return Ok(cluster),
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("there is at least one try"))
    }

    fn spawn(config: &EtcdConfig) -> io::Result<Self> {
        let ports = (0..Self::MEMBERS).map(|_| Ports::free()).collect::<io::Result<Vec<_>>>()?;
        let named = || ports.iter().enumerate().map(|(index, ports)| (format!("member-{index}"), *ports));
        let peers: Vec<String> =
            named().map(|(name, ports)| format!("{name}={}", ports.peer_url())).collect();
        let members = named().map(|(name, ports)| Etcd::spawn(config, ports, name, peers.join(",")));
        Ok(Self { members: members.collect::<io::Result<_>>()? })
    }

    /// The members, always in the same order.
    #[must_use]
    pub fn members(&self) -> &[Etcd] {
        &self.members
    }

    /// The members, to be killed, frozen or started again.
    pub fn members_mut(&mut self) -> &mut [Etcd] {
        &mut self.members
    }

    /// The URLs of the members' client ports, in the members' order.
    #[must_use]
    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(Etcd::endpoint).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd_binary;

    #[test]
    fn a_cluster_survives_the_loss_of_each_member_and_takes_it_back() {
        let Some(binary) = etcd_binary() else { return };
        let mut cluster = EtcdCluster::start(&EtcdConfig::new(binary)).unwrap();
        for lost in 0..EtcdCluster::MEMBERS {
            cluster.members_mut()[lost].kill();
            let others = (0..EtcdCluster::MEMBERS).filter(|index| *index != lost);
            for other in others {
                // Healthy means that it sees a leader.
                cluster.members_mut()[other].wait().unwrap();
            }
            cluster.members_mut()[lost].restart().unwrap();
        }
    }

    #[test]
    fn two_lost_members_are_too_many() {
        let Some(binary) = etcd_binary() else { return };
        let mut cluster = EtcdCluster::start(&EtcdConfig::new(binary)).unwrap();
        let [first, second, third] = cluster.members_mut() else { panic!("there are three members") };
        first.kill();
        second.kill();
        assert!(crate::holds_within(std::time::Duration::from_secs(30), || !third.answers()));
    }
}
