//! One strategy, one group, one event; and what it costs, in a process of its own.

use std::hint::black_box;
use std::time::Duration;
use std::{fmt, fs};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::contestant::Contestant;
use crate::count::Moves;
use crate::digest::Digest;
use crate::event::Event;
use crate::input::Input;
use crate::shape::Shape;
use crate::stopwatch;

/// One measurement: a strategy, a shape of a group and an event.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct Cell {
    /// The name of the strategy.
    pub(crate) strategy: String,
    #[command(flatten)]
    pub(crate) shape: Shape,
    /// The event that happened to the group.
    pub(crate) event: Event,
}

/// The result of our side of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// From names to names.
    pub(crate) ms: f64,
    pub(crate) moves: usize,
    pub(crate) moves_lower_bound: usize,
    pub(crate) peak_rss_mb: f64,
    pub(crate) digest: Digest,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { members, partitions, topics, subscriptions, racks } = &self.shape;
        let racks = if *racks { ", racks" } else { "" };
        let Self { strategy, event, .. } = self;
        write!(f, "{strategy}, {event}: {members} members, {partitions} partitions, {topics} topics, ")?;
        write!(f, "subscriptions {subscriptions}{racks}")
    }
}

impl Cell {
    /// As arguments of a program, of ours or in Java.
    pub(crate) fn arguments(&self) -> [String; 7] {
        let Shape { members, partitions, topics, subscriptions, racks } = &self.shape;
        [
            self.strategy.clone(),
            members.to_string(),
            partitions.to_string(),
            topics.to_string(),
            subscriptions.to_string(),
            racks.to_string(),
            self.event.to_string(),
        ]
    }

    /// Measures it in this very process.
    pub(crate) fn measure(&self) -> Result<Measured> {
        let strategy = &self.strategy;
        let contestant = Contestant::named(strategy).with_context(|| format!("there is no {strategy}"))?;
        let input = self.input(&contestant);
        keep_what_is_freed();
        let question = contestant.asked(&input);
        let time = stopwatch::median(|| question.answer());
        let peak_rss_mb = peak_rss_mb()?;
        let shares = question.answer().shares(&input);
        let Moves { moves, lower_bound } = Moves::between(&input, &shares);
        Ok(Measured {
            ms: in_ms(time),
            moves,
            moves_lower_bound: lower_bound,
            peak_rss_mb,
            digest: Digest::of(&shares),
        })
    }

    /// The group after the event, whose members own what the same strategy gave those before it.
    fn input(&self, contestant: &Contestant) -> Input {
        let mut input = Input::new(&self.shape, &self.event.after(self.shape.members));
        if self.event != Event::Fresh {
            let before = Input::new(&self.shape, &self.event.before(self.shape.members));
            input.own(&contestant.solve(&before).shares(&before));
            contestant.take_notes(&mut input);
        }
        input
    }
}

/// Makes glibc's allocator keep what is freed for what is needed next, as Java's heap does. Otherwise groups of ten
/// thousand partitions give memory back after each run, and take longer than larger ones.
fn keep_what_is_freed() {
    // More than a group takes that is small enough for that to matter; nothing touches it.
    drop(black_box(Vec::<u8>::with_capacity(16 << 20)));
}

fn in_ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The most memory that this process ever had, in megabytes (10⁶ bytes).
fn peak_rss_mb() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status").context("failed to read /proc/self/status")?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    let kib: u32 = kib.context("this system tells no peak of memory")?.parse()?;
    Ok(f64::from(kib) * 1024.0 / 1e6)
}
