//! The members of a group.

use serde::Serialize;

use super::{GroupColumns, or_dash, tell_state};
use crate::kafka_groups::kind::KafkaGroupKind;
use crate::kafka_groups::view::group::{KafkaGroupView, KafkaMemberView, MemberWork, SpokenProtocol};
use crate::kafka_groups::view::waits::{WaitView, waits};
use crate::output::{Report, TextPage, TextTable};

/// The members of a group, who waits for whom, and who still speaks the classic protocol.
#[derive(Debug, Serialize)]
pub(in crate::kafka_groups) struct MembersReport {
    #[serde(flatten)]
    group: KafkaGroupView,
    /// By topic and partition.
    waits: Vec<WaitView>,
    /// The members that speak the classic protocol though the broker plans.
    classic_members: Vec<String>,
    #[serde(skip)]
    is_verbose: bool,
}

impl MembersReport {
    pub(in crate::kafka_groups) fn new(group: KafkaGroupView, is_verbose: bool) -> Self {
        let classic_members = group.classic_speakers().map(|member| member.id.clone()).collect();
        Self { waits: waits(&group), classic_members, group, is_verbose }
    }

    /// The columns with the values of a member, in the order of Kafka's tool for the type.
    fn columns(&self, member: &KafkaMemberView) -> GroupColumns {
        match self.group.kind {
            KafkaGroupKind::Classic | KafkaGroupKind::Consumer => self.consumer_columns(member),
            KafkaGroupKind::Share => self.share_columns(member),
            KafkaGroupKind::Streams => self.streams_columns(member),
        }
    }

    fn consumer_columns(&self, member: &KafkaMemberView) -> GroupColumns {
        let mut columns: GroupColumns =
            vec![("GROUP", (&self.group.group).into()), ("CONSUMER-ID", (&member.id).into())];
        if self.group.members.iter().any(|member| member.instance_id.is_some()) {
            let instance = member.instance_id.as_deref().unwrap_or_default();
            columns.push(("GROUP-INSTANCE-ID", instance.into()));
        }
        columns.extend([
            ("HOST", (&member.host).into()),
            ("CLIENT-ID", (&member.client_id).into()),
            ("#PARTITIONS", or_dash(Some(member.partitions().count()))),
        ]);
        if self.is_verbose {
            columns.extend(self.plan_columns(member));
        }
        columns
    }

    fn plan_columns(&self, member: &KafkaMemberView) -> GroupColumns {
        let target = match &member.work {
            MemberWork::Partitions { target_assignment, .. } => or_dash(target_assignment.as_ref()),
            MemberWork::Tasks { .. } => "-".into(),
        };
        let mut columns: GroupColumns = vec![
            ("CURRENT-EPOCH", or_dash(member.epoch)),
            ("CURRENT-ASSIGNMENT", member.partitions().to_string().into()),
            ("TARGET-EPOCH", or_dash(self.group.target_epoch)),
            ("TARGET-ASSIGNMENT", target),
        ];
        let speaks = |protocol| self.group.members.iter().any(|member| member.protocol == protocol);
        if speaks(SpokenProtocol::Classic) && speaks(SpokenProtocol::Consumer) {
            let is_upgraded = member.protocol == SpokenProtocol::Consumer;
            columns.push(("UPGRADED", is_upgraded.to_string().into()));
        }
        columns
    }

    fn share_columns(&self, member: &KafkaMemberView) -> GroupColumns {
        let partitions = member.partitions();
        let mut columns: GroupColumns = vec![
            ("GROUP", (&self.group.group).into()),
            ("CONSUMER-ID", (&member.id).into()),
            ("HOST", (&member.host).into()),
            ("CLIENT-ID", (&member.client_id).into()),
            ("#PARTITIONS", or_dash(Some(partitions.count()))),
        ];
        if self.is_verbose {
            columns.push(("MEMBER-EPOCH", or_dash(member.epoch)));
        }
        columns.push(("ASSIGNMENT", partitions.to_string().into()));
        columns
    }

    fn streams_columns(&self, member: &KafkaMemberView) -> GroupColumns {
        let (id, process) = (("MEMBER", (&member.id).into()), ("PROCESS", or_dash(member.process.as_ref())));
        let client = ("CLIENT-ID", (&member.client_id).into());
        let tasks = ("ASSIGNMENTS", self.tasks(member).into());
        let group = ("GROUP", (&self.group.group).into());
        if !self.is_verbose {
            return vec![group, id, process, client, tasks];
        }
        let is_classic = member.protocol == SpokenProtocol::Classic;
        vec![
            group,
            ("TARGET-ASSIGNMENT-EPOCH", or_dash(self.group.target_epoch)),
            ("TOPOLOGY-EPOCH", or_dash(self.group.topology_epoch)),
            id,
            ("MEMBER-PROTOCOL", if is_classic { "classic" } else { "streams" }.into()),
            ("MEMBER-EPOCH", or_dash(member.epoch)),
            process,
            client,
            tasks,
        ]
    }

    fn tasks(&self, member: &KafkaMemberView) -> String {
        let MemberWork::Tasks { assignment, target_assignment } = &member.work else { return "-".to_owned() };
        let target = target_assignment.shown("TARGET-").to_string();
        let text = assignment.shown("").to_string() + if self.is_verbose { &target } else { "" };
        text.trim_end().to_owned()
    }

    /// The part that Kafka's tools do not show.
    fn show_more(&self, page: &mut TextPage) {
        for member in self.group.members.iter().filter(|member| member.unreadable.is_some()) {
            let why = member.unreadable.as_deref().unwrap_or_default();
            page.line(format!("the assignment of {} can't be read: {why}", member.id));
        }
        if !self.waits.is_empty() {
            page.gap();
            page.table(self.waits_table(), "");
        }
        for member in self.group.classic_speakers() {
            let KafkaMemberView { id, client_id, host, .. } = member;
            page.line(format!("client {client_id} at {host} still speaks the classic protocol ({id})"));
        }
    }

    fn waits_table(&self) -> TextTable {
        let row = |wait: &WaitView| -> GroupColumns {
            let holder = wait.holder.as_deref().unwrap_or("-");
            vec![
                ("WAITS", (&wait.member).into()),
                ("FOR", format!("{}:{}", wait.of, wait.partition).into()),
                ("OF", holder.into()),
            ]
        };
        TextTable::of_columns(self.waits.iter().map(row).collect()).overflowing()
    }
}

impl Report for MembersReport {
    fn show(&self, page: &mut TextPage) {
        tell_state(&self.group, page);
        if !self.group.members.is_empty() {
            let rows = self.group.members.iter().map(|member| self.columns(member)).collect();
            page.table(TextTable::of_columns(rows).overflowing(), "");
        }
        self.show_more(page);
    }
}

#[cfg(test)]
#[path = "members_test.rs"]
mod members_test;
