//! The cells that are measured.

use crate::cell::Cell;
use crate::event::Event;
use crate::shape::{Shape, Subscriptions};

const MEMBERS: [usize; 4] = [100, 1_000, 2_000, 10_000];
const PARTITIONS: [usize; 3] = [10_000, 100_000, 1_000_000];
const SUBSCRIPTIONS: [Subscriptions; 4] =
    [Subscriptions::All, Subscriptions::MixedA, Subscriptions::MixedB, Subscriptions::MixedC];

/// Every cell of `strategy`, the smallest groups first.
pub(crate) fn full(strategy: &str) -> Vec<Cell> {
    let sizes = MEMBERS.iter().flat_map(|members| PARTITIONS.map(|partitions| (*members, partitions)));
    let shapes = sizes.flat_map(|(members, partitions)| shapes(members, partitions));
    let cells = shapes.flat_map(|shape| Event::ALL.map(|event| cell(strategy, shape.clone(), event)));
    cells.chain(everything(strategy)).collect()
}

/// The largest row of `balanced` with all that it heeds; other strategies heed but a part.
fn everything(strategy: &str) -> Vec<Cell> {
    let subscriptions = Subscriptions::Everything;
    let shape = Shape { members: 2_000, partitions: 1_000_000, topics: 500, subscriptions, racks: true };
    let events = Event::ALL.iter().filter(|_| strategy == "balanced");
    events.map(|event| cell(strategy, shape.clone(), *event)).collect()
}

fn shapes(members: usize, partitions: usize) -> impl Iterator<Item = Shape> {
    // The largest row is one that Kafka's own tests have.
    let most_topics = if (members, partitions) == (2_000, 1_000_000) { 500 } else { 1_000 };
    let kinds = [1, 100, most_topics].into_iter().flat_map(|topics| SUBSCRIPTIONS.map(|kind| (topics, kind)));
    // A member that subscribes to one topic of one subscribes to all.
    let kinds = kinds.filter(|(topics, kind)| *topics > 1 || *kind == Subscriptions::All);
    kinds.flat_map(move |(topics, subscriptions)| {
        [false, true].map(|racks| Shape { members, partitions, topics, subscriptions, racks })
    })
}

fn cell(strategy: &str, shape: Shape, event: Event) -> Cell {
    Cell { strategy: strategy.to_owned(), shape, event }
}

/// The members of the groups of [`quick`], which are Kafka's own tests' largest.
const QUICK_MEMBERS: usize = 2_000;

/// The cells without racks and with 2 000 members: 100 000 and a million partitions. `balanced` also with 10 000, to
/// show its growth, and with mixed subscriptions.
pub(crate) fn quick(strategy: &str) -> Vec<Cell> {
    let everywhere = [(100_000, 100), (1_000_000, 500)].map(|size| (size, SUBSCRIPTIONS[0]));
    let events = if is_memoryless(strategy) { &Event::ALL[..1] } else { &Event::ALL[..2] };
    let mut cells = quick_cells(strategy, everywhere, events);
    if strategy == "balanced" {
        let mixed = [(100_000, 100), (1_000_000, 500)]
            .into_iter()
            .flat_map(|size| SUBSCRIPTIONS[1..].iter().map(move |kind| (size, *kind)));
        cells.extend(quick_cells(strategy, everywhere, &Event::ALL[2..]));
        cells.extend(quick_cells(strategy, [((10_000, 100), Subscriptions::All)], &Event::ALL));
        cells.extend(quick_cells(strategy, mixed, &Event::ALL[..2]));
        cells.extend(everything(strategy));
    }
    cells
}

/// True if the strategy does not look at current owners, so that it does the same work after every event.
fn is_memoryless(strategy: &str) -> bool {
    ["range", "roundrobin", "jump-hash"].contains(&strategy)
}

fn quick_cells(
    strategy: &str,
    kinds: impl IntoIterator<Item = ((usize, usize), Subscriptions)>,
    events: &[Event],
) -> Vec<Cell> {
    let shape = |((partitions, topics), subscriptions)| Shape {
        members: QUICK_MEMBERS,
        partitions,
        topics,
        subscriptions,
        racks: false,
    };
    let shapes = kinds.into_iter().map(shape);
    shapes.flat_map(|shape| events.iter().map(move |event| cell(strategy, shape.clone(), *event))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_in_the_grid_once() {
        let cells = full("sticky");
        // 12 sizes; with one topic 1 kind of subscription, with more 4; racks on and off; 4 events.
        assert_eq!(cells.len(), 12 * (1 + 4 + 4) * 2 * 4);
        assert!((1..cells.len()).all(|at| !cells[..at].contains(&cells[at])));
    }

    #[test]
    fn topics_divide_the_partitions() {
        assert!(full("range").iter().all(|cell| cell.shape.partitions % cell.shape.topics == 0));
        assert!(quick("range").iter().all(|cell| cell.shape.partitions % cell.shape.topics == 0));
    }

    #[test]
    fn the_largest_row_has_500_topics_of_2_000() {
        let is_largest = |shape: &&Shape| (shape.members, shape.partitions) == (2_000, 1_000_000);
        let cells = full("sticky");
        let topics = cells.iter().map(|cell| &cell.shape).filter(is_largest).map(|shape| shape.topics);
        let topics: std::collections::BTreeSet<_> = topics.collect();
        assert_eq!(topics.into_iter().collect::<Vec<_>>(), [1, 100, 500]);
    }

    #[test]
    fn quick_is_a_part_of_the_grid() {
        for strategy in ["balanced", "range", "sticky"] {
            let full = full(strategy);
            assert!(quick(strategy).iter().all(|cell| full.contains(cell)), "{strategy}");
        }
    }
}
