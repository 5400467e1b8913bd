//! A cell with both sides, as it is told.

use serde::Serialize;

use crate::cell::{Cell, Measured};
use crate::side::{Answer, KafkaMeasured};

/// Kafka's side of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Theirs {
    /// Kafka has no such strategy.
    NoClass,
    /// There is no Java here, or no Kafka.
    NoJava,
    /// All cells together would have taken too long.
    NoTime,
    /// It was asked.
    Asked(Answer<KafkaMeasured>),
}

/// The result of a cell.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) cell: Cell,
    pub(crate) ours: Answer<Measured>,
    pub(crate) theirs: Theirs,
}

/// The line that programs read. A time that there is none of is `null`.
#[derive(Debug, Serialize)]
struct Line<'a> {
    strategy: &'a str,
    members: usize,
    partitions: usize,
    topics: usize,
    subscriptions: String,
    racks: bool,
    event: String,
    ours_ms: Option<f64>,
    kafka_ms: Option<f64>,
    kafka_timed_out: bool,
    /// The reason why there is no time of Kafka's, unless it timed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    kafka_missing: Option<&'static str>,
    ratio: Option<f64>,
    moves: Option<usize>,
    moves_lower_bound: Option<usize>,
    peak_rss_mb: Option<f64>,
}

/// The head of the table that [`Row::for_people`] makes the lines of.
pub(crate) const HEAD: &str = "\
strategy             members partitions topics subscr. racks event        ours ms   Kafka ms   ratio      \
moves    at least    Kafka's     MB";

impl Row {
    /// The time of Kafka's class as a multiple of ours.
    pub(crate) fn ratio(&self) -> Option<f64> {
        Some(self.kafka()?.ms / self.ours.told()?.ms)
    }

    /// True if both sides gave owners, and they are not the same although they should be.
    pub(crate) fn differs(&self) -> bool {
        let same_rule = self.cell.strategy != "balanced";
        let both = self.kafka().zip(self.ours.told());
        same_rule && both.is_some_and(|(theirs, ours)| theirs.digest != ours.digest)
    }

    fn kafka(&self) -> Option<&KafkaMeasured> {
        match &self.theirs {
            Theirs::Asked(answer) => answer.told(),
            Theirs::NoClass | Theirs::NoJava | Theirs::NoTime => None,
        }
    }

    /// One JSON object, without a line's end.
    pub(crate) fn for_programs(&self) -> serde_json::Result<String> {
        let Cell { strategy, shape, event } = &self.cell;
        let ours = self.ours.told();
        serde_json::to_string(&Line {
            strategy,
            members: shape.members,
            partitions: shape.partitions,
            topics: shape.topics,
            subscriptions: shape.subscriptions.to_string(),
            racks: shape.racks,
            event: event.to_string(),
            ours_ms: ours.map(|ours| rounded(ours.ms)),
            kafka_ms: self.kafka().map(|kafka| rounded(kafka.ms)),
            kafka_timed_out: self.theirs == Theirs::Asked(Answer::TimedOut),
            kafka_missing: self.missing(),
            ratio: self.ratio().map(rounded),
            moves: ours.map(|ours| ours.moves),
            moves_lower_bound: ours.map(|ours| ours.moves_lower_bound),
            peak_rss_mb: ours.map(|ours| rounded(ours.peak_rss_mb)),
        })
    }

    fn missing(&self) -> Option<&'static str> {
        match self.theirs {
            Theirs::NoClass => Some("no class"),
            Theirs::NoJava => Some("no java"),
            Theirs::NoTime => Some("no time"),
            Theirs::Asked(_) => None,
        }
    }

    /// A line of a table.
    pub(crate) fn for_people(&self) -> String {
        let Cell { strategy, shape, event } = &self.cell;
        let (subscriptions, event) = (shape.subscriptions.to_string(), event.to_string());
        let racks = if shape.racks { "on" } else { "off" };
        let ours = self.ours.told();
        let ours_ms = ours.map_or_else(|| "> 20 s".to_owned(), |ours| format!("{:.2}", ours.ms));
        let kafka_ms = match (self.kafka(), self.missing()) {
            (Some(kafka), _) => format!("{:.2}", kafka.ms),
            (None, Some(reason)) => reason.to_owned(),
            (None, None) => "timed out".to_owned(),
        };
        let ratio = shown(self.ratio().map(|ratio| format!("{ratio:.1}")));
        let moves = shown(ours.map(|ours| ours.moves));
        let bound = shown(ours.map(|ours| ours.moves_lower_bound));
        let memory = shown(ours.map(|ours| format!("{:.0}", ours.peak_rss_mb)));
        format!(
            "{strategy:<20} {:>7} {:>10} {:>6} {subscriptions:<7} {racks:<5} {event:<9} {ours_ms:>10} \
             {kafka_ms:>10} {ratio:>7} {moves:>10} {bound:>11} {:>10} {memory:>6}",
            shape.members,
            shape.partitions,
            shape.topics,
            self.kafkas_moves()
        )
    }
}

impl Row {
    /// The moves of Kafka's class, if that is another rule than ours.
    fn kafkas_moves(&self) -> String {
        match self.kafka() {
            None => "-".to_owned(),
            Some(_) if self.differs() => "DIFFERS".to_owned(),
            Some(kafka) if self.cell.strategy == "balanced" => kafka.moves.to_string(),
            Some(_) => "same".to_owned(),
        }
    }
}

fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// To thousandths, which is finer than anything here is measured.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
#[path = "row_test.rs"]
mod tests;
