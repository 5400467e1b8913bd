//! The changes of a partition's owner, and the time without an owner that handled its records.

use std::collections::BTreeMap;

use serde::Serialize;

use kafka_assigner_types::id::{Epoch, TopicPartition};

use crate::span::{Span, spans};
use crate::{Incident, Ledger, Micros};

/// The cause of a change of owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The assigner moved it, with both consumers and a leader alive.
    Planned,
    /// Its owner was killed, or frozen for longer than its session lives.
    Crash,
    /// The assigner moved it, and a leader died while that was under way.
    LeaderLoss,
}

/// One change of hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The partition.
    pub slot: TopicPartition,
    /// The process that had it.
    pub from: String,
    /// The process that has it now.
    pub to: String,
    /// The cause.
    pub class: Class,
    /// From the last record that the old owner handled to the first of the new one; zero where they overlap.
    pub gap: Micros,
    /// The time at which the new owner handled its first record.
    pub at: Micros,
}

impl Ledger {
    /// Every change of hands that the handled records show, by partition, in the order of the epochs. An owner that
    /// handled nothing is passed over.
    #[must_use]
    pub fn moves(&self) -> Vec<Move> {
        spans(&self.handled).into_iter().flat_map(|(slot, spans)| self.moves_of(slot, spans)).collect()
    }

    fn moves_of(&self, slot: &TopicPartition, spans: BTreeMap<Epoch, Span<'_>>) -> Vec<Move> {
        let spans: Vec<Span<'_>> = spans.into_values().collect();
        spans
            .windows(2)
            .filter(|pair| pair[0].process != pair[1].process)
            .map(|pair| self.change(slot, &pair[0], &pair[1]))
            .collect()
    }

    fn change(&self, slot: &TopicPartition, old: &Span<'_>, new: &Span<'_>) -> Move {
        Move {
            slot: slot.clone(),
            from: old.process.to_owned(),
            to: new.process.to_owned(),
            class: self.class(old, new),
            gap: new.first.saturating_sub(old.last),
            at: new.first,
        }
    }

    /// A crash where the old owner was killed before the new one began, or frozen while it was the owner. A leader's loss where the leadership was
    /// vacant at the switch: from the death until the old owner's last record or the new one's first, whichever is
    /// earlier, cannot all be after it.
    fn class(&self, old: &Span<'_>, new: &Span<'_>) -> Class {
        let is_crash = |incident: &Incident| match incident {
            Incident::ConsumerKilled { process, at } => process == old.process && *at <= new.first,
            Incident::ConsumerFrozen { process, at, .. } => {
                process == old.process && (old.first..=new.first).contains(at)
            }
            Incident::LeaderKilled { .. } => false,
        };
        let is_leader_loss = |incident: &Incident| {
            matches!(incident, Incident::LeaderKilled { at, led_again }
                if old.last.min(new.first) <= *led_again + AFTERMATH && new.first >= *at)
        };
        if self.incidents.iter().any(is_crash) {
            Class::Crash
        } else if self.incidents.iter().any(is_leader_loss) {
            Class::LeaderLoss
        } else {
            Class::Planned
        }
    }
}

/// A move that was under way when the leader died ends shortly after another one leads.
const AFTERMATH: Micros = 2_000_000;

#[cfg(test)]
mod tests {
    use kafka_assigner_types::id::Offset;

    use super::*;
    use crate::Handled;

    fn handled(epoch: u64, process: &str, at: Micros) -> Handled {
        let slot = TopicPartition::try_from(("t", 0)).unwrap();
        Handled { slot, offset: Offset::ZERO, id: at, epoch: Epoch(epoch), process: process.to_owned(), at }
    }

    fn ledger(handled: Vec<Handled>, incidents: Vec<Incident>) -> Ledger {
        Ledger { handled, incidents, ..Ledger::default() }
    }

    #[test]
    fn a_gap_runs_from_the_last_record_of_the_old_owner_to_the_first_of_the_new_one() {
        let moves =
            ledger(vec![handled(1, "a", 10), handled(1, "a", 30), handled(5, "b", 70)], vec![]).moves();
        assert_eq!((moves[0].gap, moves[0].class), (40, Class::Planned));
    }

    #[test]
    fn owners_that_overlap_leave_no_gap_and_a_new_epoch_of_the_same_process_is_no_move() {
        let rows = vec![handled(1, "a", 10), handled(2, "b", 20), handled(1, "a", 30), handled(3, "b", 40)];
        let moves = ledger(rows, vec![]).moves();
        assert_eq!(moves.len(), 1);
        assert_eq!(moves[0].gap, 0);
    }

    #[test]
    fn a_move_away_from_a_killed_process_is_a_crash_and_only_that() {
        let killed = Incident::ConsumerKilled { process: "a".to_owned(), at: 1_000_000 };
        let rows = vec![handled(1, "a", 900_000), handled(2, "b", 5_000_000), handled(3, "c", 6_000_000)];
        let moves = ledger(rows, vec![killed]).moves();
        assert_eq!([moves[0].class, moves[1].class], [Class::Crash, Class::Planned]);
    }

    #[test]
    fn a_process_that_was_killed_late_on_a_busy_machine_is_killed_all_the_same() {
        let killed = Incident::ConsumerKilled { process: "a".to_owned(), at: 1_000_000 };
        let rows = vec![handled(1, "a", 3_000_000), handled(2, "b", 9_000_000)];
        assert_eq!(ledger(rows, vec![killed]).moves()[0].class, Class::Crash);
    }

    #[test]
    fn a_move_away_from_a_frozen_process_is_a_crash_and_its_earlier_and_later_ones_are_not() {
        let frozen = Incident::ConsumerFrozen { process: "a".to_owned(), at: 30, thawed: 50 };
        let before = vec![handled(1, "a", 10), handled(2, "b", 20)];
        let across = vec![handled(3, "a", 25), handled(4, "b", 55), handled(3, "a", 56)];
        let after = vec![handled(5, "a", 60), handled(6, "b", 70)];
        let moves = ledger([before, across, after].concat(), vec![frozen]).moves();
        let classes: Vec<Class> = moves.iter().filter(|m| m.from == "a").map(|m| m.class).collect();
        assert_eq!(classes, [Class::Planned, Class::Crash, Class::Planned]);
    }

    #[test]
    fn a_move_across_the_death_of_a_leader_is_told_apart() {
        let lost = Incident::LeaderKilled { at: 5_000_000, led_again: 9_000_000 };
        let across = vec![handled(1, "a", 9_100_000), handled(2, "b", 9_050_000)];
        assert_eq!(ledger(across, vec![lost.clone()]).moves()[0].class, Class::LeaderLoss);
        let long_after = vec![handled(1, "a", 20_100_000), handled(2, "b", 20_050_000)];
        assert_eq!(ledger(long_after, vec![lost.clone()]).moves()[0].class, Class::Planned);
        let before = vec![handled(1, "a", 2_100_000), handled(2, "b", 2_050_000)];
        assert_eq!(ledger(before, vec![lost]).moves()[0].class, Class::Planned);
    }
}
