//! The live view as text: at most 80 columns and 24 lines, whatever happens.

use std::time::Duration;

use crate::load::Words;
use crate::report::Event;

/// The widest line.
const COLUMNS: usize = 80;
/// The most lines.
const LINES: usize = 24;
/// Consumers and handoffs that are shown by name.
const CONSUMERS: usize = 6;
const HANDOFFS: usize = 4;

/// The state that is shown at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Board {
    pub(crate) elapsed: Duration,
    pub(crate) address: String,
    pub(crate) leader: Option<String>,
    pub(crate) consumers: Vec<Row>,
    pub(crate) handoffs: Vec<Move>,
    pub(crate) partitions: u32,
    pub(crate) words: Words,
    pub(crate) given: u64,
    pub(crate) done: u64,
    pub(crate) per_second: u64,
    pub(crate) completed: usize,
    pub(crate) cancelled: usize,
    pub(crate) events: Vec<Event>,
}

/// One consumer.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) owned: u32,
    pub(crate) handled: usize,
    pub(crate) note: &'static str,
}

/// One handoff.
#[derive(Debug, Clone)]
pub(crate) struct Move {
    pub(crate) partition: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) phase: String,
    pub(crate) progress: Option<(u64, Option<u64>)>,
}

impl Board {
    /// The lines to show.
    pub(crate) fn render(&self) -> Vec<String> {
        let mut lines = self.head();
        lines.extend(self.consumer_lines());
        lines.push(String::new());
        lines.extend(self.handoff_lines());
        lines.push(String::new());
        lines.extend(self.event_lines(LINES - 1 - lines.len()));
        lines.into_iter().map(|line| line.chars().take(COLUMNS).collect()).collect()
    }

    fn head(&self) -> Vec<String> {
        let leader = self.leader.as_deref().unwrap_or("nobody");
        let Words { what, given, done } = self.words;
        vec![
            format!(
                "kafka-assigner demo  {:>5.1}s   leader {leader}   --server {}",
                self.elapsed.as_secs_f64(),
                self.address
            ),
            format!(
                "{what} {} {given}, {} {done}, {}/s   handoffs {} done, {} cancelled",
                self.given, self.done, self.per_second, self.completed, self.cancelled
            ),
            String::new(),
        ]
    }

    fn consumer_lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{:<12} {:>5}  {:<34} {:>9}",
            "CONSUMER",
            "OWNS",
            "",
            self.words.done.to_uppercase()
        )];
        lines.extend(self.consumers.iter().take(CONSUMERS).map(|row| self.consumer_line(row)));
        lines.extend(more(self.consumers.len(), CONSUMERS));
        lines
    }

    fn consumer_line(&self, row: &Row) -> String {
        const WIDTH: u32 = 34;
        let filled = row.owned * WIDTH / self.partitions.max(1);
        let bar = "█".repeat(filled.min(WIDTH) as usize);
        format!("{:<12} {:>5}  {bar:<34} {:>9}  {}", row.name, row.owned, row.handled, row.note)
    }

    fn handoff_lines(&self) -> Vec<String> {
        if self.handoffs.is_empty() {
            return vec!["no partition is on the move".to_owned()];
        }
        let mut lines = vec![format!("{} PARTITIONS ON THE MOVE", self.handoffs.len())];
        lines.extend(self.handoffs.iter().take(HANDOFFS).map(Move::line));
        lines.extend(more(self.handoffs.len(), HANDOFFS));
        lines
    }

    /// The last events, as many as there is room for.
    fn event_lines(&self, room: usize) -> Vec<String> {
        let recent = self.events.len().saturating_sub(room);
        let line = |event: &Event| {
            format!("{:>6.1}s  {}", Duration::from_millis(event.at_ms).as_secs_f64(), event.text)
        };
        self.events[recent..].iter().map(line).collect()
    }
}

impl Move {
    fn line(&self) -> String {
        let progress = match self.progress {
            None => String::new(),
            Some((done, None)) => format!("{done}"),
            Some((done, Some(total))) => format!("{done}/{total}"),
        };
        format!("  {:<14} {} -> {}  {} {progress}", self.partition, self.from, self.to, self.phase)
    }
}

fn more(all: usize, shown: usize) -> Option<String> {
    (all > shown).then(|| format!("  … and {} more", all - shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_within_eighty_by_twenty_four_whatever_there_is_to_show() {
        let row = Row { name: "w".repeat(90), owned: 1_000, handled: usize::MAX, note: "leaving" };
        let handoff = Move {
            partition: "t".repeat(90),
            from: "a".into(),
            to: "b".into(),
            phase: "warming".into(),
            progress: Some((1, Some(2))),
        };
        let event = Event { at_ms: 1, event: "x", text: "e".repeat(200) };
        let board = Board {
            consumers: vec![row; 40],
            handoffs: vec![handoff; 40],
            events: vec![event; 40],
            partitions: 1,
            ..Board::default()
        };
        let lines = board.render();
        assert!(lines.len() < LINES, "{}", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= COLUMNS));
        assert!(lines.iter().any(|line| line.contains("and 34 more")), "{lines:?}");
        assert!(lines.last().is_some_and(|line| line.contains("eeee")), "{lines:?}");
    }
}
