//! The live view as text: at most 80 columns and 24 lines, whatever happens.

use std::time::Duration;

use crate::report::RunEvent;
use crate::workload::Words;

/// The widest line.
const COLUMNS: usize = 80;
/// The most lines.
const LINES: usize = 24;
/// The mark of a partition that moves.
pub(crate) const MOVING: char = '▒';
/// The mark of a partition that nobody owns.
pub(crate) const UNOWNED: char = '-';
/// Consumers and handoffs that are shown by name.
const CONSUMERS: usize = 6;
const HANDOFFS: usize = 4;

/// The state that is shown at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct LiveView {
    pub(crate) elapsed: Duration,
    pub(crate) address: String,
    pub(crate) leader: Option<String>,
    pub(crate) consumers: Vec<Row>,
    pub(crate) handoffs: Vec<MovingPartition>,
    /// By partition: the last digit of its owner's number, [`MOVING`] during a move, [`UNOWNED`] without an owner.
    pub(crate) owners: Vec<char>,
    pub(crate) partitions: u32,
    pub(crate) words: Words,
    pub(crate) given: u64,
    pub(crate) done: u64,
    pub(crate) per_second: u64,
    pub(crate) completed: usize,
    pub(crate) cancelled: usize,
    pub(crate) events: Vec<RunEvent>,
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
pub(crate) struct MovingPartition {
    pub(crate) partition: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) phase: String,
    pub(crate) progress: Option<(u64, Option<u64>)>,
}

impl LiveView {
    /// The lines to show.
    pub(crate) fn render(&self) -> Vec<String> {
        let mut lines = self.head();
        lines.extend(self.consumer_lines());
        lines.push(String::new());
        lines.extend(self.owner_lines());
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
            format!("{what} {} {given}, {} {done}, {}/s", self.given, self.done, self.per_second),
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

    fn owner_lines(&self) -> [String; 2] {
        let mut strip: String = self.owners.iter().take(COLUMNS).collect();
        if self.owners.len() > COLUMNS {
            strip.pop();
            strip.push('…');
        }
        [format!("OWNER OF EACH PARTITION, by number ({MOVING} = it moves, {UNOWNED} = nobody)"), strip]
    }

    fn handoff_lines(&self) -> Vec<String> {
        let ended = format!("{} moves completed, {} cancelled", self.completed, self.cancelled);
        if self.handoffs.is_empty() {
            return vec![format!("no partition is on the move ({ended})")];
        }
        let mut lines = vec![format!("{} PARTITIONS ON THE MOVE ({ended})", self.handoffs.len())];
        lines.extend(self.handoffs.iter().take(HANDOFFS).map(MovingPartition::line));
        lines.extend(more(self.handoffs.len(), HANDOFFS));
        lines
    }

    /// The last events, as many as there is room for.
    fn event_lines(&self, room: usize) -> Vec<String> {
        let recent = self.events.len().saturating_sub(room);
        let line = |event: &RunEvent| {
            format!("{:>6.1}s  {}", Duration::from_millis(event.at_ms).as_secs_f64(), event.text)
        };
        self.events[recent..].iter().map(line).collect()
    }
}

impl MovingPartition {
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
        let handoff = MovingPartition {
            partition: "t".repeat(90),
            from: "a".into(),
            to: "b".into(),
            phase: "warming".into(),
            progress: Some((1, Some(2))),
        };
        let event = RunEvent { at_ms: 1, event: "x", text: "e".repeat(200) };
        let view = LiveView {
            consumers: vec![row; 40],
            handoffs: vec![handoff; 40],
            events: vec![event; 40],
            partitions: 1,
            ..LiveView::default()
        };
        let lines = view.render();
        assert!(lines.len() < LINES, "{}", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= COLUMNS));
        assert!(lines.iter().any(|line| line.contains("and 34 more")), "{lines:?}");
        assert!(lines.last().is_some_and(|line| line.contains("eeee")), "{lines:?}");
    }

    #[test]
    fn large_counts_of_requests_are_not_cut() {
        let view = LiveView {
            words: Words::REQUESTS,
            given: 9_999_999,
            done: 9_999_999,
            per_second: 99_999,
            completed: 9_999,
            cancelled: 9_999,
            ..LiveView::default()
        };
        let text = view.render().join("\n");
        assert!(text.contains("9999 moves completed, 9999 cancelled"), "{text}");
        assert!(text.contains("executed, 99999/s") || text.contains("99999/s"), "{text}");
    }

    #[test]
    fn a_partition_on_the_move_is_marked_in_the_strip_of_owners() {
        let view = LiveView { owners: vec!['1', MOVING, '2', UNOWNED], ..LiveView::default() };
        assert!(view.render().contains(&"1▒2-".to_owned()), "{:?}", view.render());
        let wide = LiveView { owners: vec!['1'; 100], ..LiveView::default() };
        assert!(wide.render().iter().any(|line| line.ends_with("1…") && line.chars().count() == COLUMNS));
    }
}
