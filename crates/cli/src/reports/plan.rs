//! Plans.

use kafka_assigner_proto::v1;
use serde::Serialize;

use super::handoff::path;
use super::values::some;
use crate::output::{Report, TextPage, TextTable, or_dash};

/// The plan that the leader would carry out.
#[derive(Debug, Serialize)]
pub(crate) struct PlanReport {
    revision: u64,
    strategy: String,
    total_moves: u32,
    total_deferred: u32,
    moves: Vec<PlannedMove>,
    deferred: Vec<DeferralEntry>,
    loads: Vec<Load>,
}

/// One planned move.
#[derive(Debug, Serialize)]
pub(crate) struct PlannedMove {
    topic: String,
    partition: i32,
    from: Option<String>,
    to: Option<String>,
    /// `grant`, `handoff`, `forget` or `unknown`.
    step: &'static str,
    why: String,
}

/// One partition that waits.
#[derive(Debug, Serialize)]
struct DeferralEntry {
    topic: String,
    partition: i32,
    to: Option<String>,
    /// A stable word.
    reason: String,
    why: String,
}

/// The number of partitions of one consumer, before and after.
#[derive(Debug, Serialize)]
struct Load {
    consumer: String,
    before: u32,
    after: u32,
}

impl From<v1::PlanResponse> for PlanReport {
    fn from(wire: v1::PlanResponse) -> Self {
        Self {
            revision: wire.revision,
            strategy: wire.strategy,
            total_moves: wire.total_moves,
            total_deferred: wire.total_deferred,
            moves: wire.moves.into_iter().map(Into::into).collect(),
            deferred: wire.deferred.into_iter().map(Into::into).collect(),
            loads: wire.loads.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<v1::PlannedMove> for PlannedMove {
    fn from(wire: v1::PlannedMove) -> Self {
        let step = match wire.step() {
            v1::PlannedStep::Unspecified => "unknown",
            v1::PlannedStep::Grant => "grant",
            v1::PlannedStep::Handoff => "handoff",
            v1::PlannedStep::Forget => "forget",
        };
        let (from, to) = (some(wire.from), some(wire.to));
        Self { topic: wire.topic, partition: wire.partition, from, to, step, why: wire.why }
    }
}

impl From<v1::PlannedDeferral> for DeferralEntry {
    fn from(wire: v1::PlannedDeferral) -> Self {
        let v1::PlannedDeferral { topic, partition, to, reason, why } = wire;
        Self { topic, partition, to: some(to), reason, why }
    }
}

impl From<v1::ConsumerLoad> for Load {
    fn from(wire: v1::ConsumerLoad) -> Self {
        let v1::ConsumerLoad { consumer, before, after } = wire;
        Self { consumer, before, after }
    }
}

impl PlannedMove {
    /// The move in a sentence.
    pub(super) fn sentence(&self) -> String {
        let path = path(self.from.as_ref(), self.to.as_ref());
        match self.step {
            "handoff" => format!("move it {path} by a handoff: {}", self.why),
            "grant" => format!("grant it to {} at once: {}", or_dash(self.to.as_ref()), self.why),
            "forget" => format!("forget it: {}", self.why),
            _ => format!("move it {path}: {}", self.why),
        }
    }
}

impl Report for PlanReport {
    fn show(&self, page: &mut TextPage) {
        page.line(format!("plan by {} at revision {}; nothing was changed", self.strategy, self.revision));
        page.gap();
        self.show_moves(page);
        self.show_deferred(page);
        self.show_loads(page);
    }
}

impl PlanReport {
    fn show_moves(&self, page: &mut TextPage) {
        let mut table = TextTable::new(["TOPIC", "PARTITION", "FROM", "TO", "STEP", "WHY"]);
        for planned in &self.moves {
            table.row([
                (&planned.topic).into(),
                planned.partition.into(),
                or_dash(planned.from.as_ref()).into(),
                or_dash(planned.to.as_ref()).into(),
                planned.step.into(),
                (&planned.why).into(),
            ]);
        }
        page.table(table, "nothing would move");
        show_rest(page, self.moves.len(), self.total_moves);
    }

    fn show_deferred(&self, page: &mut TextPage) {
        if self.deferred.is_empty() {
            return;
        }
        page.gap();
        page.line("these wait:");
        let mut table = TextTable::new(["TOPIC", "PARTITION", "TO", "WHY"]);
        for deferral in &self.deferred {
            table.row([
                (&deferral.topic).into(),
                deferral.partition.into(),
                or_dash(deferral.to.as_ref()).into(),
                (&deferral.why).into(),
            ]);
        }
        page.table(table, "");
        show_rest(page, self.deferred.len(), self.total_deferred);
    }

    fn show_loads(&self, page: &mut TextPage) {
        page.gap();
        let mut table = TextTable::new(["CONSUMER", "OWNS", "WOULD OWN"]);
        for load in &self.loads {
            table.row([(&load.consumer).into(), load.before.into(), load.after.into()]);
        }
        page.table(table, "no consumers");
    }
}

/// Says how many are not listed.
fn show_rest(page: &mut TextPage, listed: usize, total: u32) {
    let rest = u64::from(total).saturating_sub(listed as u64);
    if rest > 0 {
        page.line(format!("… and {rest} more"));
    }
}
