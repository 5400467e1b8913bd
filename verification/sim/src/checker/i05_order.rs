//! I5, the order: what one router takes in for one partition is executed in that order.
//!
//! With a window above one, a request that was refused may be overtaken by those that the same owner executed under the
//! same epoch: they were on their way together.

use std::collections::{BTreeMap, BTreeSet};

use kafka_assigner_types::id::{Epoch, TopicPartition};

use super::{Findings, Invariant};
use crate::history::{Entry, What};

/// One partition in the hands of one router's process.
type Lane = (u32, TopicPartition);

#[derive(Debug)]
pub(super) struct Order {
    window: usize,
    asked: u64,
    /// Each call's lane and place.
    places: BTreeMap<u64, (Lane, u64)>,
    sent: BTreeMap<u64, Epoch>,
    refused: BTreeMap<u64, BTreeSet<Epoch>>,
    executed: BTreeMap<Lane, BTreeMap<u64, Epoch>>,
}

impl Order {
    pub(super) const fn new(window: usize) -> Self {
        Self {
            window,
            asked: 0,
            places: BTreeMap::new(),
            sent: BTreeMap::new(),
            refused: BTreeMap::new(),
            executed: BTreeMap::new(),
        }
    }

    fn executed(&mut self, call: u64, epoch: Epoch) -> Option<String> {
        let (lane, place) = self.places.get(&call)?;
        let lines = self.executed.entry(lane.clone()).or_default();
        let refused = self.refused.get(&call).filter(|_| self.window > 1);
        let is_forgiven = |epoch: &Epoch| refused.is_some_and(|refused| refused.contains(epoch));
        let overtaker = lines.range(place..).find(|(_, epoch)| !is_forgiven(epoch));
        let what = overtaker.map(|(later, _)| {
            format!("call {call} of {} is number {place} of its router, executed after {later}", lane.1)
        });
        lines.insert(*place, epoch);
        what
    }
}

impl Invariant for Order {
    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        match &entry.what {
            What::Asked { call, router, of, .. } => {
                self.asked += 1;
                self.places.insert(call.number, ((*router, of.clone()), self.asked));
            }
            What::Sent { call, epoch, .. } => drop(self.sent.insert(*call, *epoch)),
            What::Back { call, refused: true } => {
                let epoch = self.sent.get(call).copied();
                self.refused.entry(*call).or_default().extend(epoch);
            }
            What::Executed { call, epoch, .. } => {
                let what = self.executed(call.number, *epoch);
                what.into_iter().for_each(|what| findings.report(entry.at, what));
            }
            _ => {}
        }
    }
}
