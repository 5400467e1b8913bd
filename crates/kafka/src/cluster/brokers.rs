//! The brokers of a cluster, and which of them to ask first.

use std::collections::{BTreeMap, BTreeSet};

use crate::address::BrokerAddress;
use crate::messages::MetadataResponse;

/// The most brokers that are learnt from one answer; more than the largest clusters have.
const MOST_LEARNT: usize = 1000;

/// The brokers that are known: those of the settings, and those of the last answer.
#[derive(Debug)]
pub(super) struct BrokerList {
    bootstrap: Vec<BrokerAddress>,
    learnt: Vec<BrokerAddress>,
    /// The order of failures: the higher, the later. A broker that answered is not among them.
    failed: BTreeMap<BrokerAddress, u64>,
    failures: u64,
}

impl BrokerList {
    pub(super) const fn new(bootstrap: Vec<BrokerAddress>) -> Self {
        Self { bootstrap, learnt: Vec::new(), failed: BTreeMap::new(), failures: 0 }
    }

    /// Takes the place of what was learnt before. An answer without brokers teaches nothing.
    pub(super) fn learn(&mut self, answer: &MetadataResponse) {
        let brokers = answer.brokers.iter().take(MOST_LEARNT);
        let learnt: Vec<_> =
            brokers.filter_map(|broker| BrokerAddress::new(&broker.host, broker.port)).collect();
        if learnt.is_empty() {
            return;
        }
        self.learnt = learnt;
        let known: BTreeSet<&BrokerAddress> = self.bootstrap.iter().chain(&self.learnt).collect();
        self.failed.retain(|broker, _| known.contains(broker));
    }

    pub(super) fn answered(&mut self, broker: &BrokerAddress) {
        self.failed.remove(broker);
    }

    pub(super) fn failed(&mut self, broker: &BrokerAddress) {
        self.failures += 1;
        self.failed.insert(broker.clone(), self.failures);
    }

    /// Each broker once: `connected` first, then those that have not failed, then those whose failure is the oldest.
    pub(super) fn in_turn(&self, connected: Option<&BrokerAddress>) -> Vec<BrokerAddress> {
        let all = connected.into_iter().chain(&self.bootstrap).chain(&self.learnt);
        let mut seen = BTreeSet::new();
        let mut brokers: Vec<_> = all.filter(|broker| seen.insert(*broker)).cloned().collect();
        brokers.sort_by_key(|broker| self.failed.get(broker).copied());
        brokers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::MetadataResponseBroker;

    fn at(port: u16) -> BrokerAddress {
        BrokerAddress { host: "kafka".to_owned(), port }
    }

    fn answer(ports: &[i32]) -> MetadataResponse {
        let broker = |port: &i32| MetadataResponseBroker {
            host: "kafka".to_owned(),
            port: *port,
            ..MetadataResponseBroker::default()
        };
        MetadataResponse { brokers: ports.iter().map(broker).collect(), ..MetadataResponse::default() }
    }

    fn ports(brokers: &BrokerList, connected: Option<&BrokerAddress>) -> Vec<u16> {
        brokers.in_turn(connected).iter().map(|broker| broker.port).collect()
    }

    #[test]
    fn who_failed_is_asked_last_and_who_is_connected_first() {
        let mut brokers = BrokerList::new(vec![at(1), at(2)]);
        brokers.learn(&answer(&[2, 3, 4]));
        assert_eq!(ports(&brokers, None), [1, 2, 3, 4]);
        assert_eq!(ports(&brokers, Some(&at(3))), [3, 1, 2, 4]);
        brokers.failed(&at(2));
        brokers.failed(&at(1));
        assert_eq!(ports(&brokers, None), [3, 4, 2, 1]);
        brokers.answered(&at(2));
        assert_eq!(ports(&brokers, None), [2, 3, 4, 1]);
    }

    #[test]
    fn brokers_that_are_gone_are_forgotten_and_nonsense_is_not_learnt() {
        let mut brokers = BrokerList::new(vec![at(1)]);
        brokers.learn(&answer(&[2, 3]));
        brokers.failed(&at(2));
        brokers.learn(&answer(&[0, -1, 70_000, 3]));
        assert_eq!(ports(&brokers, None), [1, 3]);
        assert!(brokers.failed.is_empty());
        brokers.learn(&answer(&[]));
        assert_eq!(ports(&brokers, None), [1, 3], "who knows nobody teaches nothing");
        brokers.learn(&answer(&(1..=5000).collect::<Vec<_>>()));
        assert_eq!(ports(&brokers, None).len(), 1000);
    }
}
