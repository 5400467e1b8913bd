//! Scenarios that are measured several times, each on new keys.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::time::timeout;

use crate::report::{Figure, Report};

/// Rounds of one scenario, all of one size.
#[derive(Debug)]
pub(crate) struct Rounds<R> {
    scenario: &'static str,
    size: String,
    rounds: Vec<R>,
}

impl<R> Rounds<R> {
    /// Measures `count` rounds, each under a prefix of its own and for at most `bound`.
    pub(crate) async fn measure<F: Future<Output = Result<R>>>(
        scenario: &'static str,
        size: String,
        (count, bound): (usize, Duration),
        mut measure: impl FnMut(String) -> F,
    ) -> Result<Self> {
        let mut rounds = Vec::with_capacity(count);
        for number in 0..count {
            let round = measure(format!("/bench/{scenario}-{number}/"));
            rounds.push(timeout(bound, round).await.context("a round takes too long")??);
        }
        Ok(Self { scenario, size, rounds })
    }

    /// One value of each round.
    pub(crate) fn each<V>(&self, part: impl Fn(&R) -> V) -> Vec<V> {
        self.rounds.iter().map(part).collect()
    }

    /// Tells the middle and the worst of the times of one part, in milliseconds.
    pub(crate) fn tell_times(
        &self,
        report: &Report,
        [middle, worst]: [&'static str; 2],
        aim: Option<f64>,
        part: fn(&R) -> Duration,
    ) -> Result<()> {
        report.tell_times(&self.figure(middle, 0.0, "ms", aim), worst, self.each(part))
    }

    /// A figure of this scenario and size.
    pub(crate) fn figure(
        &self,
        what: &'static str,
        value: f64,
        unit: &'static str,
        aim: Option<f64>,
    ) -> Figure {
        Figure { scenario: self.scenario, size: self.size.clone(), what, value, unit, aim }
    }
}
