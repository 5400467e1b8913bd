//! Assignments.

use kafka_assigner_proto::v1;
use serde::Serialize;

use super::values::{gap, known, some};
use crate::output::{Cell, Report, TextPage, TextTable, Tone, age};

/// The assignments of a group.
#[derive(Debug, Serialize)]
pub(crate) struct Assignments {
    /// By topic and partition.
    pub(crate) assignments: Vec<AssignmentEntry>,
}

/// The assignment of one partition.
#[derive(Debug, Serialize)]
pub(crate) struct AssignmentEntry {
    topic: String,
    partition: i32,
    owner: Option<String>,
    incarnation: Option<String>,
    /// `null` = never granted.
    epoch: Option<u64>,
    since_unix_ms: Option<i64>,
    why: String,
    /// `null` = never granted.
    mode: Option<&'static str>,
    /// True if the owner has yet to confirm that mode.
    switching: bool,
    /// That of the move to the owner; `null` = it was no move, or it is unknown. Events have it at the end of the move.
    gap_ms: Option<u64>,
}

impl From<v1::PartitionAssignment> for AssignmentEntry {
    fn from(wire: v1::PartitionAssignment) -> Self {
        let mode = wire.mode();
        Self {
            topic: wire.topic,
            partition: wire.partition,
            owner: some(wire.owner),
            incarnation: some(wire.incarnation),
            epoch: if wire.epoch == 0 { None } else { Some(wire.epoch) },
            since_unix_ms: known(wire.since_unix_ms),
            why: wire.why,
            mode: (wire.epoch > 0).then(|| super::handoff::mode(mode)),
            switching: wire.switching,
            gap_ms: wire.gap_ms,
        }
    }
}

impl AssignmentEntry {
    fn owner_cell(&self) -> Cell {
        self.owner.as_ref().map_or_else(|| Cell::from("none").tone(Tone::Bad), Cell::from)
    }

    fn epoch_cell(&self) -> Cell {
        self.epoch.map_or_else(|| Cell::from("-"), Cell::from)
    }

    pub(crate) const fn has_owner(&self) -> bool {
        self.owner.is_some()
    }

    fn gap_words(&self) -> String {
        self.gap_ms.map_or_else(String::new, |ms| format!("; the move left {}", gap(ms)))
    }

    /// The assignment in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { topic, partition, why, .. } = self;
        let epoch = self.epoch.map_or_else(String::new, |epoch| format!(" at epoch {epoch}"));
        match &self.owner {
            None => format!("{topic}/{partition} has no owner: {why}"),
            Some(owner) => {
                format!("{topic}/{partition} is owned by {owner}{epoch}: {why}{}", self.gap_words())
            }
        }
    }
}

impl Report for Assignments {
    fn show(&self, page: &mut TextPage) {
        let mut table = TextTable::new(["TOPIC", "PARTITION", "OWNER", "EPOCH", "AGE", "WHY"]).wide(&["WHY"]);
        for assignment in &self.assignments {
            table.row([
                (&assignment.topic).into(),
                assignment.partition.into(),
                assignment.owner_cell(),
                assignment.epoch_cell(),
                age(assignment.since_unix_ms).into(),
                (&assignment.why).into(),
            ]);
        }
        page.table(table, "no partitions");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_of_the_last_move_is_told_where_it_is_known() {
        let sentence = |gap_ms| {
            let (topic, owner, why) = ("t".into(), "b".into(), "handed over by a".into());
            let wire = v1::PartitionAssignment { topic, owner, why, epoch: 2, gap_ms, ..Default::default() };
            AssignmentEntry::from(wire).sentence()
        };
        assert_eq!(sentence(None), "t/0 is owned by b at epoch 2: handed over by a");
        assert_eq!(sentence(Some(0)), "t/0 is owned by b at epoch 2: handed over by a; the move left no gap");
        let gap = "t/0 is owned by b at epoch 2: handed over by a; the move left a gap of 1s 20ms";
        assert_eq!(sentence(Some(1_020)), gap);
    }
}
