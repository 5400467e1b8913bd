//! I5, the freeze: a router that says that it froze a partition has nothing of it on its way, and puts nothing on its way
//! while the handoff that it named holds requests back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::id::TopicPartition;

use super::{Findings, Invariant, Step};
use crate::history::{Entry, What, Word};

/// One partition in the hands of one router's process.
type Lane = (u32, TopicPartition);

#[derive(Debug, Default)]
pub(super) struct Quiet {
    state: Option<Arc<GroupState>>,
    lanes: BTreeMap<u64, Lane>,
    on_their_way: BTreeMap<Lane, BTreeSet<u64>>,
    /// The handoff for which each lane was last said to be frozen.
    frozen: BTreeMap<Lane, String>,
}

impl Quiet {
    fn said(&mut self, lane: Lane, handoff: &str) -> Option<String> {
        let busy = self.on_their_way.get(&lane).and_then(|calls| calls.first());
        let (router, at) = &lane;
        let what = busy.map(|call| format!("router {router} froze {at} with call {call} on its way"));
        self.frozen.insert(lane, handoff.to_owned());
        what
    }

    fn sent(&mut self, call: u64, lane: Lane) -> Option<String> {
        let handoff = self.state.as_ref().and_then(|state| state.handoff_of(&lane.1));
        let holds = handoff.filter(|handoff| handoff.phase.holds_requests());
        let is_frozen = holds.is_some_and(|h| self.frozen.get(&lane).is_some_and(|id| *id == *h.id.as_str()));
        let what = is_frozen.then(|| format!("router {} sends call {call} of the frozen {}", lane.0, lane.1));
        self.lanes.insert(call, lane.clone());
        self.on_their_way.entry(lane).or_default().insert(call);
        what
    }

    fn back(&mut self, call: u64) {
        if let Some(calls) = self.lanes.remove(&call).and_then(|lane| self.on_their_way.get_mut(&lane)) {
            calls.remove(&call);
        }
    }
}

impl Invariant for Quiet {
    fn step(&mut self, step: &Step<'_>, _findings: &mut Findings) {
        self.state = Some(Arc::clone(step.after));
    }

    /// A handoff of the backup may be over for long, and its routers send on.
    fn went_back(&mut self, _at: Duration, state: &Arc<GroupState>, _findings: &mut Findings) {
        self.frozen.clear();
        self.state = Some(Arc::clone(state));
    }

    fn entry(&mut self, entry: &Entry, findings: &mut Findings) {
        let what = match &entry.what {
            What::Said { process, word: Word::Frozen, handoff, of, .. } => {
                self.said((*process, of.clone()), handoff)
            }
            What::Sent { call, router, of, .. } => self.sent(*call, (*router, of.clone())),
            What::Back { call, .. } => {
                self.back(*call);
                None
            }
            _ => None,
        };
        what.into_iter().for_each(|what| findings.report(entry.at, what));
    }
}
