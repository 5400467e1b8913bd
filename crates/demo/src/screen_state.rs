//! The state that the screen reads during a run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kafka_assigner_audit::watcher::Observer;
use kafka_assigner_core::record::Progress;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::moment::millis;
use kafka_assigner_types::name::MemberName;
use tokio::time::{Instant, sleep};

use crate::consumers::Book;
use crate::live_view::{LiveView, MOVING, MovingPartition, Row, UNOWNED};
use crate::report::RunEvent;
use crate::screen::Screen;
use crate::workload::Workload;

/// The state that the screen reads; clones share it.
#[derive(Clone)]
pub(crate) struct ScreenState {
    start: Instant,
    partitions: u32,
    observer: Observer,
    load: Workload,
    shown: Arc<Mutex<Shown>>,
    screen: Arc<Screen>,
}

/// The notes of consumers that are over.
pub(crate) const KILLED: &str = "killed";
const LEFT: &str = "left";

#[derive(Default)]
struct Shown {
    address: String,
    books: Vec<(Arc<Book>, &'static str)>,
    events: Vec<RunEvent>,
}

impl ScreenState {
    pub(crate) fn new(partitions: u32, observer: Observer, load: Workload, screen: Arc<Screen>) -> Self {
        Self { start: Instant::now(), partitions, observer, load, shown: Arc::default(), screen }
    }

    /// Notes something that happened.
    pub(crate) fn note(&self, event: &'static str, text: String) {
        let event = RunEvent { at_ms: millis(self.start.elapsed()), event, text };
        self.screen.event(&event);
        self.shown().events.push(event);
    }

    /// The events so far.
    pub(crate) fn events(&self) -> Vec<RunEvent> {
        self.shown().events.clone()
    }

    pub(crate) fn show_address(&self, address: String) {
        self.shown().address = address;
    }

    /// Shows one more consumer process.
    pub(crate) fn add(&self, book: Arc<Book>) {
        self.shown().books.push((book, ""));
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The books of all consumer processes that there were.
    pub(crate) fn books(&self) -> Vec<Arc<Book>> {
        self.shown().books.iter().map(|(book, _)| Arc::clone(book)).collect()
    }

    pub(crate) fn mark(&self, of: &Arc<Book>, note: &'static str) {
        for (book, shown) in &mut self.shown().books {
            if Arc::ptr_eq(book, of) {
                *shown = note;
            }
        }
    }

    pub(crate) fn mark_gone(&self, name: &str) {
        let prefix = format!("{name}#");
        for (book, shown) in &mut self.shown().books {
            if book.process.starts_with(&prefix) {
                *shown = LEFT;
            }
        }
    }

    fn view(&self, handled_before: u64, period: Duration) -> LiveView {
        let seen = self.observer.look();
        let shown = self.shown();
        let owned = seen.owned();
        let rows: Vec<Row> = shown.books.iter().map(|(book, note)| row(book, note, &owned)).collect();
        let handled: u64 = rows.iter().map(|row| row.handled as u64).sum();
        let per_second = handled.saturating_sub(handled_before) * 1_000 / millis(period).max(1);
        LiveView {
            elapsed: self.start.elapsed(),
            address: shown.address.clone(),
            leader: seen.leader(),
            consumers: shown_rows(rows),
            handoffs: moves(&seen.state),
            owners: owners(&seen.state),
            partitions: self.partitions,
            words: self.load.words(),
            given: self.load.count(),
            done: handled,
            per_second,
            completed: seen.completed(),
            cancelled: seen.cancelled(),
            events: shown.events.clone(),
        }
    }
}

/// The rows of consumers that are there, and of the killed ones the last and those that partitions still wait for.
fn shown_rows(rows: Vec<Row>) -> Vec<Row> {
    let last_killed = rows.iter().rposition(|row| row.note == KILLED);
    let is_shown = |(at, row): &(usize, Row)| match row.note {
        LEFT => false,
        KILLED => row.owned > 0 || last_killed == Some(*at),
        _ => true,
    };
    rows.into_iter().enumerate().filter(is_shown).map(|(_, row)| row).collect()
}

fn row(book: &Book, note: &'static str, owned: &BTreeMap<MemberName, u32>) -> Row {
    let name = book.process.split('#').next().unwrap_or_default();
    Row {
        name: name.to_owned(),
        owned: owned.get(name).copied().unwrap_or_default(),
        handled: book.count(),
        note,
    }
}

/// The mark of each partition in the strip of owners.
fn owners(state: &GroupState) -> Vec<char> {
    let mark =
        |at: &TopicPartition| match state.assignment(at).and_then(|assignment| assignment.owner.as_ref()) {
            _ if state.handoff_of(at).is_some_and(|handoff| handoff.phase.is_in_flight()) => MOVING,
            Some(owner) => owner.name.as_str().chars().next_back().unwrap_or(UNOWNED),
            None => UNOWNED,
        };
    state.assignments().keys().map(mark).collect()
}

fn moves(state: &GroupState) -> Vec<MovingPartition> {
    let handoffs = state.handoffs().keys().filter_map(|at| state.handoff(at));
    handoffs
        .map(|handoff| {
            let at = handoff.lead().to_string();
            let progress = state.registration(&handoff.new.name).and_then(|c| c.progress.get(&at));
            MovingPartition {
                partition: at,
                from: handoff.old.name.to_string(),
                to: handoff.new.name.to_string(),
                phase: handoff.phase.to_string(),
                progress: progress.map(|Progress { done, total, .. }| (*done, *total)),
            }
        })
        .collect()
}

/// Shows the run until it is aborted.
pub(crate) async fn show(state: ScreenState, screen: Arc<Screen>) {
    let period = screen.period();
    let mut handled = 0;
    loop {
        sleep(period).await;
        let view = state.view(handled, period);
        handled = view.done;
        screen.view(&view);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_killed_go_from_the_screen_once_others_have_what_they_had() {
        let row = |name: &str, owned, note| Row { name: name.to_owned(), owned, handled: 0, note };
        let rows = vec![
            row("a", 0, KILLED),
            row("b", 2, KILLED),
            row("c", 0, LEFT),
            row("d", 0, ""),
            row("e", 0, KILLED),
        ];
        let names: Vec<String> = shown_rows(rows).into_iter().map(|row| row.name).collect();
        assert_eq!(names, ["b", "d", "e"]);
    }
}
