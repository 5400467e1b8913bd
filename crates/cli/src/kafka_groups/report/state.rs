//! The state of a group.

use serde::Serialize;

use super::{GroupColumns, or_dash, tell_state};
use crate::kafka_groups::kind::KafkaGroupKind;
use crate::kafka_groups::view::group::KafkaGroupView;
use crate::output::{Report, TextPage, TextTable};

/// The state of a group.
#[derive(Debug, Serialize)]
pub(in crate::kafka_groups) struct StateReport {
    #[serde(flatten)]
    group: KafkaGroupView,
    #[serde(skip)]
    is_verbose: bool,
}

impl StateReport {
    pub(in crate::kafka_groups) const fn new(group: KafkaGroupView, is_verbose: bool) -> Self {
        Self { group, is_verbose }
    }

    /// The columns with their values, in the order of Kafka's tool for the type.
    fn columns(&self) -> GroupColumns {
        let group = &self.group;
        // Kafka's tools differ in this.
        let gap = if group.kind == KafkaGroupKind::Streams { " " } else { "  " };
        let coordinator = format!("{}{gap}({})", group.coordinator.address, group.coordinator.id);
        let mut columns: GroupColumns =
            vec![("GROUP", (&group.group).into()), ("COORDINATOR (ID)", coordinator.into())];
        match group.kind {
            KafkaGroupKind::Classic | KafkaGroupKind::Consumer => {
                columns.push(("ASSIGNMENT-STRATEGY", or_dash(group.strategy.as_ref())));
            }
            KafkaGroupKind::Streams => columns.push(("ASSIGNOR", or_dash(group.strategy.as_ref()))),
            KafkaGroupKind::Share => {}
        }
        columns.push(("STATE", (&group.state).into()));
        if self.is_verbose {
            columns.push(("GROUP-EPOCH", or_dash(group.group_epoch)));
            let is_share = group.kind == KafkaGroupKind::Share;
            let name = if is_share { "ASSIGNMENT-EPOCH" } else { "TARGET-ASSIGNMENT-EPOCH" };
            columns.push((name, or_dash(group.target_epoch)));
        }
        columns.push(("#MEMBERS", or_dash(Some(group.members.len()))));
        columns
    }
}

impl Report for StateReport {
    fn show(&self, page: &mut TextPage) {
        tell_state(&self.group, page);
        page.table(TextTable::of_columns(vec![self.columns()]).overflowing(), "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka_groups::view::group::group_test::{classic_group, consumer_group, streams_group};
    use crate::output::text_of;

    #[test]
    fn each_type_has_the_columns_of_its_tool() {
        let head = |group, is_verbose| {
            let text = text_of(&StateReport::new(group, is_verbose));
            let line = text.lines().find(|line| line.starts_with("GROUP ")).unwrap().to_owned();
            line.replace("COORDINATOR (ID)", "COORDINATOR").split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            head(classic_group("Stable"), false),
            "GROUP COORDINATOR ASSIGNMENT-STRATEGY STATE #MEMBERS"
        );
        assert_eq!(
            head(consumer_group(Vec::new()), true),
            "GROUP COORDINATOR ASSIGNMENT-STRATEGY STATE GROUP-EPOCH TARGET-ASSIGNMENT-EPOCH #MEMBERS"
        );
        assert_eq!(head(streams_group(), false), "GROUP COORDINATOR ASSIGNOR STATE #MEMBERS");
        let share = KafkaGroupView { kind: KafkaGroupKind::Share, ..consumer_group(Vec::new()) };
        assert_eq!(head(share, true), "GROUP COORDINATOR STATE GROUP-EPOCH ASSIGNMENT-EPOCH #MEMBERS");
    }

    #[test]
    fn what_a_classic_group_does_not_have_is_a_dash() {
        let text = text_of(&StateReport::new(classic_group("Empty"), true));
        assert!(text.starts_with("Consumer group 'orders' has no active members.\n"), "{text}");
        let row: Vec<_> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(row, ["orders", "kafka-1:9092", "(1)", "range", "Empty", "-", "-", "0"]);
    }
}
