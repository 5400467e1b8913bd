//! Moves under way, and how they ended.

use kafka_assigner_proto::v1;
use serde::Serialize;

use super::values::{gap, known, some};
use crate::output::{Cell, Report, TextPage, TextTable, Tone, span};

/// The moves under way.
#[derive(Debug, Serialize)]
pub(crate) struct Handoffs {
    /// By topic and partition.
    pub(crate) handoffs: Vec<HandoffEntry>,
}

/// One move under way.
#[derive(Debug, Serialize)]
pub(crate) struct HandoffEntry {
    topic: String,
    partition: i32,
    handoff_id: String,
    old_owner: Option<String>,
    new_owner: Option<String>,
    /// `warming`, `ready`, `freezing`, `draining`, `catching up`, `complete`, `cancelled` or `unknown`.
    phase: &'static str,
    /// `overlap`, `exclusive` or `routed`.
    mode: &'static str,
    since_unix_ms: Option<i64>,
    /// `null` = the instance that answers does not lead the group, and in events.
    phase_age_ms: Option<u64>,
    /// Likewise.
    deadline_ms: Option<u64>,
    /// In the consumer's own unit; `null` = nothing was reported.
    progress: Option<WarmUpProgress>,
    taken: bool,
    /// True = the member that it waits for is busy with a record.
    busy: bool,
    waiting_for: String,
    /// The routers that a freeze waits for.
    missing_routers: Vec<String>,
    why: String,
    cancelled_because: Option<String>,
}

/// The progress of a warm-up.
#[derive(Debug, Serialize)]
struct WarmUpProgress {
    done: u64,
    /// `null` = the consumer does not know.
    total: Option<u64>,
    /// At the pace so far; `null` = not known.
    left_ms: Option<u64>,
}

impl From<v1::Handoff> for HandoffEntry {
    fn from(wire: v1::Handoff) -> Self {
        let (phase, mode) = (phase(wire.phase()), mode(wire.mode()));
        Self {
            topic: wire.topic,
            partition: wire.partition,
            handoff_id: wire.handoff_id,
            old_owner: some(wire.old_owner),
            new_owner: some(wire.new_owner),
            phase,
            mode,
            since_unix_ms: known(wire.since_unix_ms),
            phase_age_ms: wire.phase_age_ms,
            deadline_ms: wire.deadline_ms,
            progress: wire.progress.map(WarmUpProgress::from),
            taken: wire.taken,
            busy: wire.busy,
            waiting_for: wire.waiting_for,
            missing_routers: wire.missing_routers,
            why: wire.why,
            cancelled_because: some(wire.cancelled_because),
        }
    }
}

const fn phase(phase: v1::Phase) -> &'static str {
    match phase {
        v1::Phase::Unspecified => "unknown",
        v1::Phase::Warming => "warming",
        v1::Phase::Ready => "ready",
        v1::Phase::Freezing => "freezing",
        v1::Phase::Draining => "draining",
        v1::Phase::CatchingUp => "catching up",
        v1::Phase::Complete => "complete",
        v1::Phase::Cancelled => "cancelled",
    }
}

/// The name of a mode.
pub(super) const fn mode(mode: v1::Mode) -> &'static str {
    match mode {
        v1::Mode::Overlap => "overlap",
        v1::Mode::Exclusive => "exclusive",
        v1::Mode::Routed => "routed",
    }
}

impl From<v1::WarmProgress> for WarmUpProgress {
    fn from(wire: v1::WarmProgress) -> Self {
        Self { done: wire.done, total: wire.total, left_ms: wire.left_ms }
    }
}

impl WarmUpProgress {
    fn words(&self) -> String {
        let Some(total) = self.total else { return self.done.to_string() };
        let left = self.left_ms.map_or_else(String::new, |ms| format!(", {} left", span(ms)));
        format!("{} of {total}{left}", self.done)
    }
}

impl HandoffEntry {
    fn phase_cell(&self) -> Cell {
        Cell::from(self.phase).tone(match self.phase {
            "complete" => Tone::Good,
            "warming" | "ready" | "freezing" | "draining" | "catching up" => Tone::Busy,
            _ => Tone::Bad,
        })
    }

    fn progress_text(&self) -> String {
        self.progress.as_ref().map_or_else(|| "-".to_owned(), WarmUpProgress::words)
    }

    /// True if it was cancelled and its record is not removed yet.
    pub(super) fn is_cancelled(&self) -> bool {
        self.phase == phase(v1::Phase::Cancelled)
    }

    /// The move in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { topic, partition, phase, why, .. } = self;
        let path = path(self.old_owner.as_ref(), self.new_owner.as_ref());
        let age = self.phase_age_ms.map_or_else(String::new, |ms| format!(" for {}", span(ms)));
        let progress = self.progress.as_ref().map_or_else(String::new, |p| format!(", warmed {}", p.words()));
        let waiting = if self.waiting_for.is_empty() {
            String::new()
        } else {
            format!(", waits for {}", self.waiting_for)
        };
        let because = self.cancelled_because.as_ref().unwrap_or(why);
        format!("{topic}/{partition} moves {path}: {phase}{age}{progress}{waiting}: {because}")
    }
}

/// The old and the new owner.
pub(super) fn path(from: Option<&String>, to: Option<&String>) -> String {
    let name = |side: Option<&String>| side.map_or("nobody", String::as_str).to_owned();
    format!("from {} to {}", name(from), name(to))
}

impl Report for Handoffs {
    fn show(&self, page: &mut TextPage) {
        let mut table = TextTable::new([
            "TOPIC",
            "PARTITION",
            "FROM",
            "TO",
            "MODE",
            "PHASE",
            "WARMED",
            "IN PHASE",
            "TIME LEFT",
            "WAITING FOR",
            "WHY",
        ])
        .wide(["MODE", "TIME LEFT", "WAITING FOR", "WHY"]);
        for handoff in &self.handoffs {
            table.row([
                (&handoff.topic).into(),
                handoff.partition.into(),
                handoff.old_owner.as_deref().unwrap_or("-").into(),
                handoff.new_owner.as_deref().unwrap_or("-").into(),
                handoff.mode.into(),
                handoff.phase_cell(),
                handoff.progress_text().into(),
                handoff.phase_age_ms.map_or_else(|| "-".to_owned(), span).into(),
                handoff.deadline_ms.map_or_else(|| "-".to_owned(), span).into(),
                (&handoff.waiting_for).into(),
                handoff.cancelled_because.as_ref().unwrap_or(&handoff.why).into(),
            ]);
        }
        page.table(table, "no moves under way");
    }
}

/// A move that ended.
#[derive(Debug, Serialize)]
pub(crate) struct HandoffEnded {
    topic: String,
    partition: i32,
    handoff_id: Option<String>,
    old_owner: Option<String>,
    new_owner: Option<String>,
    moved: bool,
    why: String,
    /// `null` = the two consumers did not tell, or it did not move.
    gap_ms: Option<u64>,
}

impl From<v1::HandoffEnded> for HandoffEnded {
    fn from(wire: v1::HandoffEnded) -> Self {
        Self {
            topic: wire.topic,
            partition: wire.partition,
            handoff_id: some(wire.handoff_id),
            old_owner: some(wire.old_owner),
            new_owner: some(wire.new_owner),
            moved: wire.moved,
            why: wire.why,
            gap_ms: wire.gap_ms,
        }
    }
}

impl HandoffEnded {
    /// The end in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { topic, partition, why, .. } = self;
        let path = path(self.old_owner.as_ref(), self.new_owner.as_ref());
        if self.moved {
            let gap = self.gap_ms.map_or_else(String::new, |ms| format!(" with {}", gap(ms)));
            format!("{topic}/{partition} moved {path}{gap}: {why}")
        } else {
            format!("{topic}/{partition} stays, its move {path} was called off: {why}")
        }
    }
}
