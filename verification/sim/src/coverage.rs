//! Counters of what occurred.

use std::collections::BTreeMap;

use bytes::Bytes;
use kafka_assigner_core::key::{Key, Layout};
use kafka_assigner_core::reason::{FenceReason, Reason};
use kafka_assigner_core::record::{Assignment, Consumer, DeathSign, HandoffRecord, Phase, Standing, decode};
use kafka_assigner_router::Unsent;
use kafka_assigner_types::id::Epoch;
use kafka_assigner_types::kv::Change;

use crate::fault::{Fault, Strike};
use crate::history::{Answer, Entry, What, Word};
use crate::world::World;

/// Counters by their names.
pub type Counters = BTreeMap<String, u64>;

/// Counters of what occurred in one world, or in many.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// Faults, by kind.
    pub faults: Counters,
    /// Deaths in handoffs by moment and party, what links and the network did, and how handoffs went.
    pub coverage: Counters,
    /// Handoffs that went through.
    pub handoffs: u64,
    /// The partitions of which each registration is fenced, as it was written last.
    fences: BTreeMap<Bytes, BTreeMap<String, Epoch>>,
}

impl Coverage {
    pub(crate) fn of(entries: &[Entry], world: &World, judged: &Counters) -> Self {
        let mut coverage = Self { coverage: judged.clone(), ..Self::default() };
        for entry in entries {
            coverage.take_in(&entry.what, &world.layout);
        }
        let (network, links) = (world.network.counts(), world.link_counts());
        let (large_set, drift) = (world.shape.has_a_large_set(), world.shape.drift_ppm != 0);
        for (name, count) in [
            ("calls_lost", network.lost),
            ("acks_repeated", network.repeated),
            ("writes_applied_unknown", links.applied_unknown),
            ("writes_lost_unknown", links.lost_unknown),
            ("watches_cut", links.watches_cut),
            ("worlds_with_a_large_set", u64::from(large_set)),
            ("worlds_with_clocks_apart", u64::from(drift)),
        ] {
            *coverage.coverage.entry(name.to_owned()).or_default() += count;
        }
        coverage
    }

    /// Adds what occurred elsewhere.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.faults, &other.faults);
        add(&mut self.coverage, &other.coverage);
        self.handoffs += other.handoffs;
    }

    /// Everything that should occur in a thousand worlds and did not.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let faults = Fault::ALL.iter().map(|fault| fault.name());
        let faults = faults.filter(|name| !self.faults.contains_key(name));
        let strikes = Strike::all().map(|strike| strike.to_string());
        let effects = [
            "calls_lost",
            "acks_repeated",
            "writes_applied_unknown",
            "writes_lost_unknown",
            "watches_cut",
            "worlds_with_a_large_set",
            "worlds_with_clocks_apart",
            "partitions_frozen",
            "partitions_rested",
            "records",
            "takeovers",
            "partitions_fenced",
            "marked_silent",
            "handoffs_ahead",
            "granted_warm",
            "partitions_judged_after_a_restore",
            "requests_done",
            "requests_refused",
            "requests_unknown",
            "requests_router_died",
            "requests_unsent_closed",
            "requests_unsent_stopped",
            "requests_unsent_too_many",
            "requests_unsent_too_old",
        ];
        let covered = strikes.chain(effects.map(str::to_owned));
        let covered = covered.filter(|name| self.coverage.get(name).is_none_or(|count| *count == 0));
        faults.chain(covered).collect()
    }

    fn take_in(&mut self, what: &What, layout: &Layout) {
        match what {
            What::Happened { fault, .. } => count(&mut self.faults, &fault.name()),
            What::Struck(strike) => count(&mut self.coverage, &strike.to_string()),
            What::Executed { .. } => count(&mut self.coverage, "requests_executed"),
            What::Back { refused: true, .. } => count(&mut self.coverage, "requests_refused"),
            What::Answered { answer, .. } => count(&mut self.coverage, &label(*answer)),
            What::Said { word: Word::Frozen, .. } => count(&mut self.coverage, "partitions_frozen"),
            What::Said { word: Word::Rested, .. } => count(&mut self.coverage, "partitions_rested"),
            What::RecordBegun { .. } => count(&mut self.coverage, "records"),
            What::Changed { changes, .. } => {
                changes.iter().for_each(|change| self.handoff(layout, change));
                changes.iter().for_each(|change| self.takeover(layout, change));
            }
            _ => {}
        }
    }

    /// The registration of a session that is taken over is written once more, and a grant once.
    fn takeover(&mut self, layout: &Layout, change: &Change) {
        let Change::Put(record) = change else { return };
        match layout.decode(&record.key) {
            Some(Key::Consumer(_)) => {
                let Ok(consumer) = decode::<Consumer>(&record.value) else { return };
                if consumer.standing == Standing::Ending(FenceReason::Suspected) {
                    count(&mut self.coverage, "takeovers");
                } else if consumer.suspected.as_ref().is_some_and(|mark| mark.sign == DeathSign::Silent) {
                    count(&mut self.coverage, "marked_silent");
                }
                self.fenced(&record.key, &consumer.fenced);
            }
            Some(Key::Assignment(_)) => {
                let why = decode::<Assignment>(&record.value).map(|assignment| assignment.why);
                if why.is_ok_and(|why| matches!(why, Reason::TookOverWarm { .. })) {
                    count(&mut self.coverage, "granted_warm");
                }
            }
            _ => {}
        }
    }

    /// Counts the partitions that a registration is fenced of, and was not when it was written before.
    fn fenced(&mut self, registration: &Bytes, fenced: &BTreeMap<String, Epoch>) {
        let before = self.fences.insert(registration.clone(), fenced.clone()).unwrap_or_default();
        for _ in fenced.iter().filter(|(at, epoch)| before.get(*at) != Some(epoch)) {
            count(&mut self.coverage, "partitions_fenced");
        }
    }

    /// A handoff's record is written once in each phase, once more when it is taken, and in between where something
    /// was said of a part of its unit.
    fn handoff(&mut self, layout: &Layout, change: &Change) {
        let Change::Put(record) = change else { return };
        let Some(Key::Handoff(_)) = layout.decode(&record.key) else { return };
        let Ok(HandoffRecord::Lead(handoff)) = decode::<HandoffRecord>(&record.value) else { return };
        if !handoff.said.is_empty() {
            return;
        }
        match handoff.phase {
            Phase::Complete if handoff.taken.is_none() => {
                self.handoffs += 1;
                count(&mut self.coverage, "handoffs_complete");
            }
            Phase::Complete => count(&mut self.coverage, "handoffs_taken"),
            Phase::Cancelled => count(&mut self.coverage, "handoffs_cancelled"),
            Phase::Warming if handoff.is_ahead() => count(&mut self.coverage, "handoffs_ahead"),
            Phase::Warming => count(&mut self.coverage, "handoffs_begun"),
            Phase::Freezing => count(&mut self.coverage, "handoffs_frozen"),
            Phase::Draining => count(&mut self.coverage, "handoffs_draining"),
            Phase::CatchingUp => count(&mut self.coverage, "handoffs_catching_up"),
            Phase::Ready => {}
        }
    }
}

fn label(answer: Answer) -> String {
    let word = match answer {
        Answer::Done => "done",
        Answer::Unknown => "unknown",
        Answer::Died => "router_died",
        Answer::Unsent(Unsent::TooMany) => "unsent_too_many",
        Answer::Unsent(Unsent::TooOld) => "unsent_too_old",
        Answer::Unsent(Unsent::NoTurn(_)) => "unsent_no_turn",
        Answer::Unsent(Unsent::Closed) => "unsent_closed",
        Answer::Unsent(Unsent::Stopped) => "unsent_stopped",
        Answer::Unsent(Unsent::NoPartition) => "unsent_no_partition",
        Answer::Unsent(Unsent::TooLarge) => "unsent_too_large",
        Answer::Unsent(_) => "unsent_otherwise",
    };
    format!("requests_{word}")
}

fn count(counters: &mut Counters, name: &str) {
    *counters.entry(name.to_owned()).or_default() += 1;
}

fn add(to: &mut Counters, from: &Counters) {
    for (name, count) in from {
        *to.entry(name.clone()).or_default() += count;
    }
}
