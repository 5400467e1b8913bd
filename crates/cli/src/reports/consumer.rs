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
    session_timeout_ms: u64,
    /// `client` or `server`.
    renewal: &'static str,
    since_unix_ms: Option<i64>,
    client: Option<String>,
    instance: Option<String>,
    ending_because: Option<String>,
    rack: Option<String>,
    /// `null` = as much as others.
    capacity: Option<f64>,
    generation: Option<String>,
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
            session_timeout_ms: wire.session_timeout_ms,
            renewal,
            since_unix_ms: known(wire.since_unix_ms),
            client: some(wire.client),
            instance: some(wire.instance),
            ending_because: some(wire.ending_because),
            rack: some(wire.rack),
            capacity: wire.capacity,
            generation: some(wire.generation),
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
            "active" => Tone::Good,
            "draining" => Tone::Busy,
            _ => Tone::Bad,
        })
    }

    fn topics_text(&self) -> String {
        if self.topics.is_empty() { "all".to_owned() } else { self.topics.join(",") }
    }

    /// The consumer in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { name, state, owned, warming, releasing, .. } = self;
        let because = self.ending_because.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        format!("consumer {name} {state}, owns {owned}, warms {warming}, releases {releasing}{because}")
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
            "TOPICS",
            "SESSION",
            "AGE",
            "CLIENT",
            "RACK",
            "CAPACITY",
        ])
        .wide(&["TOPICS", "CLIENT", "RACK", "CAPACITY"]);
        for consumer in &self.consumers {
            table.row([
                (&consumer.name).into(),
                consumer.state_cell(),
                consumer.owned.into(),
                consumer.warming.into(),
                consumer.releasing.into(),
                consumer.topics_text().into(),
                span(consumer.session_timeout_ms).into(),
                age(consumer.since_unix_ms).into(),
                or_dash(consumer.client.as_ref()).into(),
                or_dash(consumer.rack.as_ref()).into(),
                consumer.capacity.map_or_else(|| "-".to_owned(), |capacity| capacity.to_string()).into(),
            ]);
        }
        page.table(table, "no consumers");
    }
}
