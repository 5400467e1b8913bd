//! The lag of a group.

use serde::Serialize;

use super::{GroupColumns, or_dash, tell_state};
use crate::kafka_groups::kind::KafkaGroupKind;
use crate::kafka_groups::view::group::KafkaGroupView;
use crate::kafka_groups::view::offsets::{LagSum, OffsetsRow, RowMember, sum};
use crate::output::{Report, TextPage, TextTable};

/// The offsets of a group.
#[derive(Debug, Serialize)]
pub(in crate::kafka_groups) struct OffsetsReport {
    #[serde(flatten)]
    group: KafkaGroupView,
    offsets: Vec<OffsetsRow>,
    lag: LagSum,
    #[serde(skip)]
    is_verbose: bool,
}

impl OffsetsReport {
    pub(in crate::kafka_groups) fn new(
        group: KafkaGroupView,
        offsets: Vec<OffsetsRow>,
        is_verbose: bool,
    ) -> Self {
        Self { lag: sum(&offsets), group, offsets, is_verbose }
    }

    /// The columns with the values of a row, in the order of Kafka's tool for the type.
    fn columns(&self, row: &OffsetsRow) -> GroupColumns {
        let mut columns: GroupColumns = vec![
            ("GROUP", (&self.group.group).into()),
            ("TOPIC", (&row.topic).into()),
            ("PARTITION", or_dash(Some(row.partition))),
        ];
        columns.extend(match self.group.kind {
            KafkaGroupKind::Classic | KafkaGroupKind::Consumer => self.consumer_columns(row),
            KafkaGroupKind::Share => self.share_columns(row),
            KafkaGroupKind::Streams => self.streams_columns(row),
        });
        columns
    }

    fn consumer_columns(&self, row: &OffsetsRow) -> GroupColumns {
        let mut columns = GroupColumns::new();
        if self.is_verbose {
            columns.push(("LEADER-EPOCH", or_dash(row.leader_epoch)));
        }
        let member = |part: fn(&RowMember) -> &String| or_dash(row.member.as_ref().map(part));
        columns.extend([
            ("CURRENT-OFFSET", or_dash(row.offset)),
            ("LOG-END-OFFSET", or_dash(row.end)),
            ("LAG", or_dash(row.lag)),
            ("CONSUMER-ID", member(|member| &member.id)),
            ("HOST", member(|member| &member.host)),
            ("CLIENT-ID", member(|member| &member.client_id)),
        ]);
        columns
    }

    fn share_columns(&self, row: &OffsetsRow) -> GroupColumns {
        let mut columns = GroupColumns::new();
        if self.is_verbose {
            columns.push(("LEADER-EPOCH", or_dash(row.leader_epoch)));
        }
        columns.extend([("START-OFFSET", or_dash(row.offset)), ("LAG", or_dash(row.lag))]);
        columns
    }

    fn streams_columns(&self, row: &OffsetsRow) -> GroupColumns {
        let mut columns = GroupColumns::new();
        if self.is_verbose {
            columns.extend([
                ("CURRENT-OFFSET", or_dash(row.offset)),
                ("LEADER-EPOCH", or_dash(row.leader_epoch)),
                ("LOG-END-OFFSET", or_dash(row.end)),
            ]);
        }
        columns.push(("OFFSET-LAG", or_dash(row.lag)));
        columns
    }

    fn sentence(&self) -> String {
        let LagSum { records, unknown } = self.lag;
        let partitions = self.offsets.len();
        let rest = if unknown > 0 { format!("; that of {unknown} is not known") } else { String::new() };
        format!("lag {records} in {partitions} partitions{rest}")
    }
}

impl Report for OffsetsReport {
    fn show(&self, page: &mut TextPage) {
        tell_state(&self.group, page);
        let rows = self.offsets.iter().map(|row| self.columns(row)).collect();
        page.table(TextTable::of_columns(rows).overflowing(), "no offsets");
        if !self.offsets.is_empty() {
            page.line(self.sentence());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka_groups::view::group::group_test::{classic_group, consumer_group, streams_group};
    use crate::output::text_of;

    fn row() -> OffsetsRow {
        let member =
            RowMember { id: "a".to_owned(), host: "/127.0.0.1".to_owned(), client_id: "client".to_owned() };
        OffsetsRow {
            topic: "t".to_owned(),
            partition: 0,
            offset: Some(5),
            leader_epoch: Some(2),
            end: Some(8),
            lag: Some(3),
            member: Some(member),
        }
    }

    fn shown(group: KafkaGroupView, rows: Vec<OffsetsRow>, is_verbose: bool) -> Vec<String> {
        let text = text_of(&OffsetsReport::new(group, rows, is_verbose));
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn a_classic_group_has_the_columns_of_kafkas_tool_and_the_sum_of_its_lag() {
        let unread = OffsetsRow { topic: "t".to_owned(), partition: 1, ..OffsetsRow::default() };
        assert_eq!(
            shown(classic_group("Stable"), vec![row(), unread], false),
            [
                "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID",
                "orders t 0 5 8 3 a /127.0.0.1 client",
                "orders t 1 - - - - - -",
                "lag 3 in 2 partitions; that of 1 is not known",
            ]
        );
        assert_eq!(
            shown(classic_group("Stable"), vec![row()], true)[1],
            "orders t 0 2 5 8 3 a /127.0.0.1 client"
        );
        assert_eq!(
            shown(classic_group("Empty"), Vec::new(), false),
            ["Consumer group 'orders' has no active members.", "no offsets"]
        );
    }

    #[test]
    fn share_and_streams_groups_have_those_of_their_tools() {
        let share = || KafkaGroupView {
            kind: KafkaGroupKind::Share,
            state: "Stable".to_owned(),
            ..consumer_group(Vec::new())
        };
        let lines = shown(share(), vec![row()], true);
        assert_eq!(lines[..2], ["GROUP TOPIC PARTITION LEADER-EPOCH START-OFFSET LAG", "billing t 0 2 5 3"]);
        let lines = shown(streams_group(), vec![row()], false);
        assert_eq!(lines[..2], ["GROUP TOPIC PARTITION OFFSET-LAG", "app t 0 3"]);
        let lines = shown(streams_group(), vec![row()], true);
        assert_eq!(
            lines[..2],
            [
                "GROUP TOPIC PARTITION CURRENT-OFFSET LEADER-EPOCH LOG-END-OFFSET OFFSET-LAG",
                "app t 0 5 2 8 3"
            ]
        );
    }
}
