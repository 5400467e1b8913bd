//! Groups.

use kafka_assigner_proto::v1;
use serde::Serialize;

use super::values::some;
use crate::output::{Cell, Report, TextPage, TextTable, Tone, or_dash, span};

/// All groups.
#[derive(Debug, Serialize)]
pub(crate) struct Groups {
    /// By name.
    pub(crate) groups: Vec<GroupSummary>,
}

/// A group in one line.
#[derive(Debug, Serialize)]
pub(crate) struct GroupSummary {
    group: String,
    strategy: String,
    consumers: u32,
    topics: u32,
    partitions: u32,
    unowned: u32,
    handoffs: u32,
}

impl From<v1::GroupSummary> for GroupSummary {
    fn from(wire: v1::GroupSummary) -> Self {
        let v1::GroupSummary { group, strategy, consumers, topics, partitions, unowned, handoffs } = wire;
        Self { group, strategy, consumers, topics, partitions, unowned, handoffs }
    }
}

impl GroupSummary {
    fn unowned_cell(&self) -> Cell {
        Cell::from(self.unowned).tone(if self.unowned > 0 { Tone::Bad } else { Tone::Plain })
    }

    fn handoffs_cell(&self) -> Cell {
        Cell::from(self.handoffs).tone(if self.handoffs > 0 { Tone::Busy } else { Tone::Plain })
    }

    /// The group in a sentence.
    pub(crate) fn sentence(&self) -> String {
        format!(
            "group {}: {}, consumers {}, topics {}, partitions {}, unowned {}, handoffs {}",
            self.group,
            self.strategy,
            self.consumers,
            self.topics,
            self.partitions,
            self.unowned,
            self.handoffs
        )
    }
}

impl Report for Groups {
    fn show(&self, page: &mut TextPage) {
        let mut table =
            TextTable::new(["GROUP", "STRATEGY", "CONSUMERS", "TOPICS", "PARTITIONS", "UNOWNED", "HANDOFFS"]);
        for group in &self.groups {
            table.row([
                (&group.group).into(),
                (&group.strategy).into(),
                group.consumers.into(),
                group.topics.into(),
                group.partitions.into(),
                group.unowned_cell(),
                group.handoffs_cell(),
            ]);
        }
        page.table(table, "no groups");
    }
}

/// The configuration of a group; a field is `null` only if the instance did not send it.
#[derive(Debug, Serialize)]
pub(crate) struct GroupSettings {
    strategy: Option<String>,
    mode: Option<String>,
    session_timeout_ms: Option<u64>,
    max_session_timeout_ms: Option<u64>,
    debounce_ms: Option<u64>,
    warm_deadline_ms: Option<u64>,
    phase_deadline_ms: Option<u64>,
    drain_deadline_ms: Option<u64>,
    hold_deadline_ms: Option<u64>,
    takeover_after_ms: Option<u64>,
    max_moves_in_flight: Option<u32>,
    max_warming: Option<u32>,
    rejoin_grace_ms: Option<u64>,
    catch_up: Option<bool>,
    wait_out_revocations: Option<bool>,
    spread_topics: Option<String>,
}

impl From<v1::GroupConfig> for GroupSettings {
    fn from(wire: v1::GroupConfig) -> Self {
        Self {
            strategy: wire.strategy,
            mode: wire.mode,
            session_timeout_ms: wire.session_timeout_ms,
            max_session_timeout_ms: wire.max_session_timeout_ms,
            debounce_ms: wire.debounce_ms,
            warm_deadline_ms: wire.warm_deadline_ms,
            phase_deadline_ms: wire.phase_deadline_ms,
            drain_deadline_ms: wire.drain_deadline_ms,
            hold_deadline_ms: wire.hold_deadline_ms,
            takeover_after_ms: wire.takeover_after_ms,
            max_moves_in_flight: wire.max_moves_in_flight,
            max_warming: wire.max_warming,
            rejoin_grace_ms: wire.rejoin_grace_ms,
            catch_up: wire.catch_up,
            wait_out_revocations: wire.wait_out_revocations,
            spread_topics: wire.spread_topics,
        }
    }
}

impl GroupSettings {
    /// The values under the names by which `group set` changes them.
    pub(super) fn rows(&self, table: &mut TextTable) {
        let number = |value: Option<u32>| value.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let flag = |value: Option<bool>| value.map_or_else(|| "-".to_owned(), |flag| flag.to_string());
        let time = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), span);
        table.row(["strategy".into(), or_dash(self.strategy.as_ref()).into()]);
        table.row(["mode".into(), or_dash(self.mode.as_ref()).into()]);
        table.row(["session-timeout".into(), time(self.session_timeout_ms).into()]);
        table.row(["max-session-timeout".into(), time(self.max_session_timeout_ms).into()]);
        table.row(["debounce".into(), time(self.debounce_ms).into()]);
        table.row(["warm-deadline".into(), time(self.warm_deadline_ms).into()]);
        table.row(["phase-deadline".into(), time(self.phase_deadline_ms).into()]);
        table.row(["drain-deadline".into(), time(self.drain_deadline_ms).into()]);
        table.row(["hold-deadline".into(), time(self.hold_deadline_ms).into()]);
        table.row(["takeover-after".into(), time(self.takeover_after_ms).into()]);
        table.row(["max-moves-in-flight".into(), number(self.max_moves_in_flight).into()]);
        table.row(["max-warming".into(), number(self.max_warming).into()]);
        table.row(["rejoin-grace".into(), time(self.rejoin_grace_ms).into()]);
        table.row(["catch-up".into(), flag(self.catch_up).into()]);
        table.row(["wait-out-revocations".into(), flag(self.wait_out_revocations).into()]);
        table.row(["spread-topics".into(), or_dash(self.spread_topics.as_ref()).into()]);
    }
}

/// The instance that leads a group.
#[derive(Debug, Serialize)]
pub(crate) struct GroupLeader {
    instance: String,
    endpoint: Option<String>,
    term: u64,
}

impl GroupLeader {
    /// The leader, or none where the wire names no instance.
    pub(crate) fn new(wire: v1::Leader) -> Option<Self> {
        let v1::Leader { instance, endpoint, term } = wire;
        if instance.is_empty() { None } else { Some(Self { instance, endpoint: some(endpoint), term }) }
    }

    /// The leader in words.
    pub(crate) fn words(&self) -> String {
        let endpoint = or_dash(self.endpoint.as_ref());
        format!("{} at {endpoint}, term {}", self.instance, self.term)
    }
}

/// One group.
#[derive(Debug, Serialize)]
pub(crate) struct GroupDescription {
    #[serde(flatten)]
    summary: GroupSummary,
    config: GroupSettings,
    leader: Option<GroupLeader>,
    revision: u64,
    cluster_id: String,
    unreadable: Vec<String>,
    switching: u32,
}

impl From<v1::DescribeGroupResponse> for GroupDescription {
    fn from(wire: v1::DescribeGroupResponse) -> Self {
        Self {
            summary: wire.summary.unwrap_or_default().into(),
            config: wire.config.unwrap_or_default().into(),
            leader: wire.leader.and_then(GroupLeader::new),
            revision: wire.revision,
            cluster_id: wire.cluster_id,
            unreadable: wire.unreadable,
            switching: wire.switching,
        }
    }
}

impl Report for GroupDescription {
    fn show(&self, page: &mut TextPage) {
        let leader = self.leader.as_ref();
        let mut table = TextTable::of_pairs();
        table.row(["group".into(), (&self.summary.group).into()]);
        table.row(["consumers".into(), self.summary.consumers.to_string().into()]);
        table.row(["topics".into(), self.summary.topics.to_string().into()]);
        table.row(["partitions".into(), self.summary.partitions.to_string().into()]);
        table.row(["unowned".into(), self.summary.unowned.to_string().into()]);
        table.row(["handoffs".into(), self.summary.handoffs.to_string().into()]);
        if self.switching > 0 {
            let waits = format!("{} partitions, whose owners have not confirmed their mode", self.switching);
            table.row(["switching".into(), waits.into()]);
        }
        table.row([
            "leader".into(),
            leader.map_or_else(|| "none just now".to_owned(), GroupLeader::words).into(),
        ]);
        table.row(["revision".into(), self.revision.to_string().into()]);
        table.row(["cluster id".into(), (&self.cluster_id).into()]);
        page.table(table, "");
        page.gap();
        let mut config = TextTable::new(["SETTING", "VALUE"]);
        self.config.rows(&mut config);
        page.table(config, "");
        self.show_unreadable(page);
    }
}

impl GroupDescription {
    fn show_unreadable(&self, page: &mut TextPage) {
        if self.unreadable.is_empty() {
            return;
        }
        page.gap();
        page.line("records that can't be read; what they are about is left alone:");
        for record in &self.unreadable {
            page.line(format!("  {record}"));
        }
    }
}
