//! Consumers.

use kafka_assigner_proto::v1;
use serde::Serialize;

use super::values::{known, some};
use crate::output::{Cell, Report, TextPage, TextTable, Tone, age, or_dash, span};

/// The consumers of a group.
#[derive(Debug, Serialize)]
pub(crate) struct ConsumerList {
    /// By name.
    pub(crate) consumers: Vec<ConsumerEntry>,
}

/// A registered consumer.
#[derive(Debug, Serialize)]
pub(crate) struct ConsumerEntry {
    name: String,
    incarnation: String,
    /// `active`, `draining`, `ending` or `unknown`.
    state: &'static str,
    /// Empty = all.
    topics: Vec<String>,
    /// `null` = no limit.
    max_partitions: Option<u32>,
    owned: u32,
    warming: u32,
    releasing: u32,
    /// Those of the owned ones that stand before a record.
    stopped: u32,
    /// Those of the owned ones whose next record has failed for long.
    failing: u32,
    /// Those that it has not begun, or of which it has not said yet that it has.
    not_begun: u32,
    /// Those that it was fenced of, and has not said to have dropped.
    fenced: u32,
    session_timeout_ms: u64,
    /// `client` or `server`.
    renewal: &'static str,
    since_unix_ms: Option<i64>,
    client: Option<String>,
    /// The caller that opened the session, by its certificate or token.
    caller: Option<String>,
    instance: Option<String>,
    ending_because: Option<String>,
    rack: Option<String>,
    /// `null` = as much as others.
    capacity: Option<f64>,
    generation: Option<String>,
    /// `null` = nothing speaks for the death of its process.
    suspected: Option<ConsumerSuspicion>,
}

/// A sign that the process of a consumer is dead.
#[derive(Debug, Serialize)]
struct ConsumerSuspicion {
    /// `detached`, `silent` or `unknown`.
    sign: &'static str,
    instance: Option<String>,
    since_unix_ms: Option<i64>,
}

impl From<v1::Suspicion> for ConsumerSuspicion {
    fn from(wire: v1::Suspicion) -> Self {
        let sign = match wire.sign() {
            v1::DeathSign::Detached => "detached",
            v1::DeathSign::Silent => "silent",
            v1::DeathSign::Unspecified => "unknown",
        };
        Self { sign, instance: some(wire.instance), since_unix_ms: known(wire.since_unix_ms) }
    }
}

impl From<v1::Consumer> for ConsumerEntry {
    fn from(wire: v1::Consumer) -> Self {
        let (state, renewal) = (state(wire.state()), renewal(wire.renewal()));
        Self {
            name: wire.name,
            incarnation: wire.incarnation,
            state,
            topics: wire.topics,
            max_partitions: if wire.max_partitions == 0 { None } else { Some(wire.max_partitions) },
            owned: wire.owned,
            warming: wire.warming,
            releasing: wire.releasing,
            stopped: wire.stopped,
            failing: wire.failing,
            not_begun: wire.not_begun,
            fenced: wire.fenced,
            session_timeout_ms: wire.session_timeout_ms,
            renewal,
            since_unix_ms: known(wire.since_unix_ms),
            client: some(wire.client),
            caller: some(wire.caller),
            instance: some(wire.instance),
            ending_because: some(wire.ending_because),
            rack: some(wire.rack),
            capacity: wire.capacity,
            generation: some(wire.generation),
            suspected: wire.suspected.map(ConsumerSuspicion::from),
        }
    }
}

const fn state(state: v1::ConsumerState) -> &'static str {
    match state {
        v1::ConsumerState::Unspecified => "unknown",
        v1::ConsumerState::Active => "active",
        v1::ConsumerState::Draining => "draining",
        v1::ConsumerState::Ending => "ending",
    }
}

const fn renewal(renewal: v1::Renewal) -> &'static str {
    match renewal {
        v1::Renewal::Server => "server",
        v1::Renewal::Client => "client",
    }
}

impl ConsumerEntry {
    fn state_cell(&self) -> Cell {
        Cell::from(self.state).tone(match self.state {
            _ if self.suspected.is_some() => Tone::Bad,
            "active" => Tone::Good,
            "draining" => Tone::Busy,
            _ => Tone::Bad,
        })
    }

    fn topics_text(&self) -> String {
        if self.topics.is_empty() { "all".to_owned() } else { self.topics.join(",") }
    }

    fn stopped_cell(&self) -> Cell {
        let count = Cell::from(self.stopped);
        if self.stopped == 0 { count } else { count.tone(Tone::Bad) }
    }

    fn failing_cell(&self) -> Cell {
        let count = Cell::from(self.failing);
        if self.failing == 0 { count } else { count.tone(Tone::Bad) }
    }

    fn not_begun_cell(&self) -> Cell {
        let count = Cell::from(self.not_begun);
        if self.not_begun == 0 { count } else { count.tone(Tone::Busy) }
    }

    fn fenced_cell(&self) -> Cell {
        let count = Cell::from(self.fenced);
        if self.fenced == 0 { count } else { count.tone(Tone::Bad) }
    }

    /// The sign that it is dead, and for how long that has been seen.
    fn suspected_cell(&self) -> Cell {
        let words = |mark: &ConsumerSuspicion| format!("{} {}", mark.sign, age(mark.since_unix_ms));
        self.suspected.as_ref().map_or_else(|| "-".into(), |mark| Cell::from(words(mark)).tone(Tone::Bad))
    }

    /// The consumer in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { name, state, owned, warming, releasing, .. } = self;
        let because = self.ending_because.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        let sign = |mark: &ConsumerSuspicion| format!(", suspected to be dead ({})", mark.sign);
        let suspected = self.suspected.as_ref().map_or_else(String::new, sign);
        let parts = [
            (self.not_begun, "not begun"),
            (self.stopped, "stopped"),
            (self.failing, "failing"),
            (self.fenced, "fenced of"),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
        format!(
            "consumer {name} {state}, owns {owned}{parts}, warms {warming}, releases {releasing}{suspected}{because}"
        )
    }
}

impl ConsumerList {
    /// The columns that are left out where there is no room for them, or nothing in them.
    fn wide_columns(&self) -> Vec<&'static str> {
        let has = |what: fn(&ConsumerEntry) -> bool| self.consumers.iter().any(what);
        let empty = [
            ("NOT BEGUN", !has(|consumer| consumer.not_begun > 0)),
            ("STOPPED", !has(|consumer| consumer.stopped > 0)),
            ("FAILING", !has(|consumer| consumer.failing > 0)),
            ("FENCED", !has(|consumer| consumer.fenced > 0)),
            ("SUSPECTED", !has(|consumer| consumer.suspected.is_some())),
        ];
        let empty = empty.into_iter().filter(|(_, is_empty)| *is_empty).map(|(column, _)| column);
        empty.chain(["TOPICS", "CLIENT", "CALLER", "RACK", "CAPACITY"]).collect()
    }
}

impl Report for ConsumerList {
    fn show(&self, page: &mut TextPage) {
        let mut table = TextTable::new([
            "CONSUMER",
            "STATE",
            "OWNED",
            "WARMING",
            "RELEASING",
            "NOT BEGUN",
            "STOPPED",
            "FAILING",
            "FENCED",
            "SUSPECTED",
            "TOPICS",
            "SESSION",
            "AGE",
            "CLIENT",
            "CALLER",
            "RACK",
            "CAPACITY",
        ])
        .wide(self.wide_columns());
        for consumer in &self.consumers {
            table.row([
                (&consumer.name).into(),
                consumer.state_cell(),
                consumer.owned.into(),
                consumer.warming.into(),
                consumer.releasing.into(),
                consumer.not_begun_cell(),
                consumer.stopped_cell(),
                consumer.failing_cell(),
                consumer.fenced_cell(),
                consumer.suspected_cell(),
                consumer.topics_text().into(),
                span(consumer.session_timeout_ms).into(),
                age(consumer.since_unix_ms).into(),
                or_dash(consumer.client.as_ref()).into(),
                or_dash(consumer.caller.as_ref()).into(),
                or_dash(consumer.rack.as_ref()).into(),
                consumer.capacity.map_or_else(|| "-".to_owned(), |capacity| capacity.to_string()).into(),
            ]);
        }
        page.table(table, "no consumers");
    }
}
