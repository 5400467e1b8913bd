//! The aims of the comparison, and the measured cells that miss them.

use std::fmt;

use crate::cell::Cell;
use crate::event::Event;
use crate::row::Row;
use crate::shape::Subscriptions;

/// A cell counts as fast if Kafka's class takes this multiple of our time.
const FAST: f64 = 2.0;

/// At least so many of ten cells that both sides finished are fast.
const FAST_OF_TEN: usize = 9;

/// The longest times of `balanced` for a million partitions and 2 000 members that subscribe to all, in milliseconds.
const LONGEST_FRESH: f64 = 25.0;
const LONGEST_CHANGE: f64 = 20.0;

/// The counts that the aims are about.
#[derive(Debug, Default)]
pub(crate) struct Aims {
    compared: usize,
    fast: usize,
    slower: Vec<String>,
    late: Vec<String>,
}

impl Aims {
    /// Takes a row into account.
    pub(crate) fn note(&mut self, row: &Row) {
        if let Some(ratio) = row.ratio() {
            self.compared += 1;
            self.fast += usize::from(ratio >= FAST);
            if ratio < 1.0 {
                self.slower.push(format!("{}: {ratio:.2} times as fast as Kafka's class", row.cell));
            }
        }
        if let (Some(longest), Some(ours)) = (longest(&row.cell), row.ours.told())
            && ours.ms > longest
        {
            self.late.push(format!("{}: {:.1} ms, and the aim is {longest} ms", row.cell, ours.ms));
        }
    }

    /// True if every aim is met by the rows so far.
    pub(crate) fn are_met(&self) -> bool {
        self.slower.is_empty() && self.late.is_empty() && self.is_fast_enough()
    }

    fn is_fast_enough(&self) -> bool {
        self.fast * 10 >= self.compared * FAST_OF_TEN
    }
}

/// The aim for a cell of ours alone.
fn longest(cell: &Cell) -> Option<f64> {
    let shape = &cell.shape;
    let is_largest = (shape.members, shape.partitions) == (2_000, 1_000_000)
        && shape.subscriptions == Subscriptions::All
        && !shape.racks;
    match cell.event {
        _ if !is_largest || cell.strategy != "balanced" => None,
        Event::Fresh => Some(LONGEST_FRESH),
        Event::Join | Event::Leave => Some(LONGEST_CHANGE),
        Event::Unchanged => None,
    }
}

/// One line for each aim, and one for each cell that misses it.
impl fmt::Display for Aims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |is_met: bool| if is_met { "met" } else { "MISSED" };
        let Self { compared, fast, slower, late } = self;
        writeln!(f, "no cell slower than Kafka's class: {}", word(slower.is_empty()))?;
        slower.iter().try_for_each(|cell| writeln!(f, "  {cell}"))?;
        let is_fast = word(self.is_fast_enough());
        writeln!(f, "{FAST_OF_TEN} of 10 cells twice as fast: {fast} of {compared}, {is_fast}")?;
        writeln!(f, "a million partitions in time: {}", word(late.is_empty()))?;
        late.iter().try_for_each(|cell| writeln!(f, "  {cell}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Measured;
    use crate::row::Theirs;
    use crate::shape::Shape;
    use crate::side::{Answer, KafkaMeasured};

    fn row(strategy: &str, event: Event, ours_ms: f64, kafka_ms: f64) -> Row {
        let digest = || serde_json::from_value(serde_json::json!("aa")).unwrap();
        let subscriptions = Subscriptions::All;
        let shape = Shape { members: 2_000, partitions: 1_000_000, topics: 500, subscriptions, racks: false };
        let ours =
            Measured { ms: ours_ms, moves: 0, moves_lower_bound: 0, peak_rss_mb: 1.0, digest: digest() };
        let theirs = Answer::Told(KafkaMeasured { ms: kafka_ms, moves: 0, digest: digest() });
        let cell = Cell { strategy: strategy.to_owned(), shape, event };
        Row { cell, ours: Answer::Told(ours), theirs: Theirs::Asked(theirs) }
    }

    fn aims(rows: impl IntoIterator<Item = Row>) -> Aims {
        let mut aims = Aims::default();
        rows.into_iter().for_each(|row| aims.note(&row));
        aims
    }

    #[test]
    fn one_cell_of_ten_may_be_less_than_twice_as_fast() {
        let fast = || (0..9).map(|_| row("sticky", Event::Join, 10.0, 20.0));
        let slow = || row("sticky", Event::Join, 10.0, 19.0);
        assert!(aims(fast().chain([slow()])).are_met());
        assert!(!aims(fast().chain([slow(), slow()])).are_met());
    }

    #[test]
    fn no_cell_may_be_slower_than_kafkas_class() {
        let fast = (0..20).map(|_| row("sticky", Event::Join, 10.0, 20.0));
        let missed = aims(fast.chain([row("sticky", Event::Join, 10.0, 9.9)]));
        assert!(!missed.are_met());
        assert!(missed.to_string().contains("0.99 times as fast"), "{missed}");
    }

    #[test]
    fn a_million_partitions_are_placed_in_time() {
        assert!(aims([row("balanced", Event::Fresh, 25.0, 200.0)]).are_met());
        assert!(!aims([row("balanced", Event::Fresh, 25.1, 200.0)]).are_met());
        assert!(!aims([row("balanced", Event::Leave, 20.1, 200.0)]).are_met());
        assert!(aims([row("balanced", Event::Unchanged, 30.0, 200.0)]).are_met());
        assert!(aims([row("jump-hash", Event::Fresh, 100.0, 200.0)]).are_met());
    }
}
