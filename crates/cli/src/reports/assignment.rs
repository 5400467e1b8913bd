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
    /// `null` = it does not stand.
    stopped: Option<AssignmentStandstill>,
    /// `null` = its owner does not say that its next record fails.
    failing: Option<AssignmentFailure>,
    /// `granted`, `begun`, or why its owner has not begun; `null` = there is no owner, or it does not tell.
    stage: Option<String>,
    /// The last error of an owner that has not begun.
    stage_message: Option<String>,
}

/// The record before which a partition stands.
#[derive(Debug, Serialize)]
struct AssignmentStandstill {
    offset: i64,
    reason: String,
    consumer: String,
    /// `null` = the owner is the first one that stopped there. With it, nobody is granted the partition until it is resumed.
    earlier_consumer: Option<String>,
    since_unix_ms: Option<i64>,
    /// True if no record has failed: its owner could not end its work for a move.
    is_of_drain: bool,
}

/// The next record of a partition, which has failed for long and is tried again.
#[derive(Debug, Serialize)]
struct AssignmentFailure {
    offset: i64,
    /// `null` = the owner did not tell the error.
    reason: Option<String>,
    since_unix_ms: Option<i64>,
}

impl From<v1::FailingRecord> for AssignmentFailure {
    fn from(wire: v1::FailingRecord) -> Self {
        Self { offset: wire.offset, reason: some(wire.reason), since_unix_ms: known(wire.since_unix_ms) }
    }
}

impl From<v1::Standstill> for AssignmentStandstill {
    fn from(wire: v1::Standstill) -> Self {
        Self {
            offset: wire.offset,
            reason: wire.reason,
            consumer: wire.consumer,
            earlier_consumer: some(wire.earlier_consumer),
            since_unix_ms: known(wire.since_unix_ms),
            is_of_drain: wire.is_of_drain,
        }
    }
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
            stopped: wire.stopped.map(AssignmentStandstill::from),
            failing: wire.failing.map(AssignmentFailure::from),
            stage: some(wire.stage),
            stage_message: some(wire.stage_message),
        }
    }
}

impl AssignmentEntry {
    /// The offset at which it stands, and what it waits for where that is an operator.
    fn stopped_cell(&self) -> Cell {
        let Some(stopped) = &self.stopped else { return "-".into() };
        let held = if stopped.earlier_consumer.is_some() { ", held" } else { "" };
        Cell::from(format!("at {}{held}", stopped.offset)).tone(Tone::Bad)
    }

    fn stopped_words(&self) -> String {
        let Some(stopped) = &self.stopped else { return String::new() };
        let held = if stopped.earlier_consumer.is_some() {
            " and is granted to nobody until it is resumed"
        } else {
            ""
        };
        let stands = match stopped.is_of_drain {
            true => "stands, since its work could not be ended, at offset",
            false => "stands before the record at offset",
        };
        format!("; it {stands} {}{held}: {}", stopped.offset, stopped.reason)
    }

    /// The offset of the record that fails, and for how long it has.
    fn failing_cell(&self) -> Cell {
        let Some(failing) = &self.failing else { return "-".into() };
        Cell::from(format!("at {}, {}", failing.offset, age(failing.since_unix_ms))).tone(Tone::Bad)
    }

    fn failing_words(&self) -> String {
        let Some(AssignmentFailure { offset, reason, since_unix_ms }) = &self.failing else {
            return String::new();
        };
        let since = since_unix_ms.map_or_else(String::new, |since| format!(" for {}", age(Some(since))));
        let reason = reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
        format!("; the record at offset {offset} has failed{since} and is tried again{reason}")
    }

    /// True if its owner is not known to have begun it.
    fn waits(&self) -> bool {
        self.stage.as_ref().is_some_and(|stage| stage != "begun")
    }

    fn stage_cell(&self) -> Cell {
        let word = Cell::from(self.stage.as_deref().unwrap_or("-"));
        match self.stage.as_deref() {
            Some("failing") => word.tone(Tone::Bad),
            _ if self.waits() => word.tone(Tone::Busy),
            _ => word,
        }
    }

    fn stage_words(&self) -> String {
        let Some(stage) = self.stage.as_deref().filter(|_| self.waits()) else { return String::new() };
        let message = self.stage_message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
        match stage {
            "granted" => "; its owner has not said yet that it has begun".to_owned(),
            stage => format!("; its owner has not begun ({stage}){message}"),
        }
    }

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
            None => format!("{topic}/{partition} has no owner: {why}{}", self.stopped_words()),
            Some(owner) => {
                let (gap, stage, stopped) = (self.gap_words(), self.stage_words(), self.stopped_words());
                let failing = self.failing_words();
                format!("{topic}/{partition} is owned by {owner}{epoch}: {why}{gap}{stage}{stopped}{failing}")
            }
        }
    }
}

impl Assignments {
    /// The columns that are left out where there is no room for them, or nothing in them that calls for a look.
    fn wide_columns(&self) -> Vec<&'static str> {
        let has = |what: fn(&AssignmentEntry) -> bool| self.assignments.iter().any(what);
        let empty = [
            ("STAGE", !has(AssignmentEntry::waits)),
            ("STOPPED", !has(|assignment| assignment.stopped.is_some())),
            ("FAILING", !has(|assignment| assignment.failing.is_some())),
        ];
        let empty = empty.into_iter().filter(|(_, is_empty)| *is_empty).map(|(column, _)| column);
        empty.chain(["WHY"]).collect()
    }
}

impl Report for Assignments {
    fn show(&self, page: &mut TextPage) {
        let headings = ["TOPIC", "PARTITION", "OWNER", "EPOCH", "AGE", "STAGE", "STOPPED", "FAILING", "WHY"];
        let mut table = TextTable::new(headings).wide(self.wide_columns());
        for assignment in &self.assignments {
            table.row([
                (&assignment.topic).into(),
                assignment.partition.into(),
                assignment.owner_cell(),
                assignment.epoch_cell(),
                age(assignment.since_unix_ms).into(),
                assignment.stage_cell(),
                assignment.stopped_cell(),
                assignment.failing_cell(),
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

    #[test]
    fn a_grant_that_has_not_begun_says_so() {
        let sentence = |stage: &str, stage_message: &str| {
            let (topic, owner, why) = ("t".into(), "b".into(), "it had no owner".into());
            let (stage, stage_message) = (stage.into(), stage_message.into());
            let wire = v1::PartitionAssignment {
                topic,
                owner,
                why,
                epoch: 2,
                stage,
                stage_message,
                ..Default::default()
            };
            AssignmentEntry::from(wire).sentence()
        };
        let owned = "t/0 is owned by b at epoch 2: it had no owner";
        assert_eq!(sentence("begun", ""), owned);
        assert_eq!(sentence("", ""), owned, "its owner does not tell");
        assert_eq!(sentence("granted", ""), format!("{owned}; its owner has not said yet that it has begun"));
        let failing = format!("{owned}; its owner has not begun (failing): no disk");
        assert_eq!(sentence("failing", "no disk"), failing);
    }

    #[test]
    fn a_partition_whose_record_fails_says_which_one_and_for_how_long() {
        let hour_ago = std::time::UNIX_EPOCH.elapsed().unwrap() - std::time::Duration::from_secs(3_605);
        let hour_ago = i64::try_from(hour_ago.as_millis()).unwrap();
        let entry = |reason: &str, since_unix_ms| {
            let failing = Some(v1::FailingRecord { offset: 5, reason: reason.into(), since_unix_ms });
            let (topic, owner, why) = ("t".into(), "b".into(), "it had no owner".into());
            let wire = v1::PartitionAssignment { topic, owner, why, epoch: 2, failing, ..Default::default() };
            AssignmentEntry::from(wire)
        };
        let fails = "t/0 is owned by b at epoch 2: it had no owner; the record at offset 5 has failed";
        assert_eq!(
            entry("no disk", hour_ago).sentence(),
            format!("{fails} for 1h and is tried again: no disk")
        );
        assert_eq!(entry("", 0).sentence(), format!("{fails} and is tried again"));
    }

    #[test]
    fn a_partition_that_stands_says_before_which_record_and_why() {
        let sentence = |earlier: &str, is_of_drain: bool| {
            let (offset, reason, consumer) = (5, "no amount".into(), "b".into());
            let stopped = Some(v1::Standstill {
                offset,
                reason,
                consumer,
                earlier_consumer: earlier.into(),
                since_unix_ms: 0,
                is_of_drain,
            });
            let (topic, owner, why) = ("t".into(), "b".into(), "it had no owner".into());
            let wire = v1::PartitionAssignment { topic, owner, why, epoch: 2, stopped, ..Default::default() };
            AssignmentEntry::from(wire).sentence()
        };
        let stands = "t/0 is owned by b at epoch 2: it had no owner; it stands before the record at offset 5";
        assert_eq!(sentence("", false), format!("{stands}: no amount"));
        assert_eq!(
            sentence("a", false),
            format!("{stands} and is granted to nobody until it is resumed: no amount")
        );
        assert!(
            sentence("", true)
                .ends_with("it stands, since its work could not be ended, at offset 5: no amount")
        );
    }
}
