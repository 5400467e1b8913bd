//! The growth of the time of `balanced` with the number of partitions.

use std::collections::BTreeMap;
use std::fmt;

use crate::event::Event;
use crate::row::Row;
use crate::shape::Subscriptions;

/// The properties that a series of cells has in common: all but the size of topics.
type Key = (usize, Subscriptions, bool, Event);

/// Times by numbers of partitions, of every series.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    points: BTreeMap<Key, Vec<(usize, f64)>>,
}

impl Growth {
    /// Takes note of a row, if it is one of `balanced` that has a time.
    pub(crate) fn note(&mut self, row: &Row) {
        let Some(ours) = row.ours.told().filter(|_| row.cell.strategy == "balanced") else { return };
        let shape = &row.cell.shape;
        let key = (shape.members, shape.subscriptions, shape.racks, row.cell.event);
        self.points.entry(key).or_default().push((shape.partitions, ours.ms));
    }
}

/// One line for each series with three sizes or more.
impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grown = self.points.iter().filter(|(_, points)| sizes(points) >= 3);
        for ((members, subscriptions, racks, event), points) in grown {
            let racks = if *racks { ", racks" } else { "" };
            let exponent = exponent(points);
            writeln!(f, "{members} members, {subscriptions}{racks}, {event}: partitions^{exponent:.2}")?;
        }
        Ok(())
    }
}

fn sizes(points: &[(usize, f64)]) -> usize {
    let mut sizes: Vec<_> = points.iter().map(|(partitions, _)| partitions).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.len()
}

/// The slope of the straight line that is nearest to the logarithms: 1 if time doubles with the partitions.
#[expect(clippy::cast_precision_loss, reason = "partitions are counted in millions")]
fn exponent(points: &[(usize, f64)]) -> f64 {
    let logs: Vec<_> = points.iter().map(|(partitions, ms)| ((*partitions as f64).ln(), ms.ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / logs.len() as f64;
    let (x, y) = (mean(|log| log.0), mean(|log| log.1));
    let along: f64 = logs.iter().map(|log| (log.0 - x) * (log.1 - y)).sum();
    along / logs.iter().map(|log| (log.0 - x).powi(2)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_in_proportion_has_the_exponent_one() {
        let linear = [(10_000, 0.3), (100_000, 3.0), (1_000_000, 30.0)];
        assert!((exponent(&linear) - 1.0).abs() < 1e-9);
        let quadratic = linear.map(|(partitions, ms)| (partitions, ms * ms));
        assert!((exponent(&quadratic) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn two_sizes_make_no_series() {
        assert_eq!(sizes(&[(1, 1.0), (2, 1.0), (1, 2.0)]), 2);
    }
}
