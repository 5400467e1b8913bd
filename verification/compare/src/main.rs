//! This project's strategies and Kafka's own assignors on the same groups: how long they take, and what they move.
//!
//! Start reading at [`Cell`]: one strategy, one group, one event. [`Input`](input::Input) is such a group in names,
//! [`Contestant`] asks a strategy, `java/` does the same with Kafka's class, and [`side`] runs either in a process of
//! its own. [`grid`] lists the cells.
//!
//! `cargo xtask bench strategies` builds this and what it needs.

mod aims;
mod allowance;
mod cell;
mod contestant;
mod count;
mod digest;
mod event;
mod grid;
mod growth;
mod holdings;
mod input;
mod output;
mod row;
mod shape;
mod side;
mod stopwatch;

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};

use crate::aims::Aims;
use crate::allowance::Allowance;
use crate::cell::Cell;
use crate::contestant::Contestant;
use crate::growth::Growth;
use crate::row::{HEAD, Row, Theirs};
use crate::side::{Answer, Kafka, LIMIT};

#[derive(Debug, Parser)]
#[command(about = "Measure strategies next to Kafka's own", args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    part: Option<Part>,
    /// Strategies to measure; all by default.
    strategies: Vec<String>,
    /// A part of the grid that takes less than four minutes.
    #[arg(long)]
    quick: bool,
    /// One JSON object a line in place of a table.
    #[arg(long)]
    json: bool,
    /// The path of Kafka's classes and those that call them; nothing of Kafka's is measured without.
    #[arg(long)]
    classpath: Option<OsString>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// One cell on our side, in this process.
    Cell(Cell),
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match &arguments.part {
        Some(Part::Cell(cell)) => println!("{}", serde_json::to_string(&cell.measure()?)?),
        None => compare(&arguments)?,
    }
    Ok(())
}

/// Measures and tells row after row. Fails in the end if a strategy did not come to what Kafka's does, or an aim is missed.
fn compare(arguments: &Arguments) -> Result<()> {
    let cells = cells(arguments)?;
    let kafka = arguments.classpath.clone().map(|classpath| Kafka { java: "java".into(), classpath });
    let allowance = Allowance::from_now(arguments.quick);
    let (mut growth, mut aims) = (Growth::default(), Aims::default());
    let mut different = 0;
    if !arguments.json {
        println!("{HEAD}");
    }
    for (at, cell) in cells.iter().enumerate() {
        eprintln!("{}/{}: {cell}", at + 1, cells.len());
        let row = measure(cell, kafka.as_ref(), allowance.limit(cells.len() - at))?;
        println!("{}", if arguments.json { row.for_programs()? } else { row.for_people() });
        growth.note(&row);
        aims.note(&row);
        different += usize::from(row.differs());
    }
    if !arguments.json {
        print!("{growth}");
    }
    eprint!("{aims}");
    if different > 0 {
        bail!("in {different} cells members got something else than from Kafka's class");
    }
    if !aims.are_met() {
        bail!("an aim is missed");
    }
    Ok(())
}

/// The cells of the strategies that are asked for. Those of the quick part come with the smallest groups and equal
/// subscriptions first, so that if time should run out it is there where Kafka's classes take longest.
fn cells(arguments: &Arguments) -> Result<Vec<Cell>> {
    let known = Contestant::names();
    if let Some(unknown) = arguments.strategies.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no strategy {unknown}; there are {}", known.join(", "));
    }
    let is_asked =
        |name: &&str| arguments.strategies.is_empty() || arguments.strategies.iter().any(|n| n == name);
    let part = if arguments.quick { grid::quick } else { grid::full };
    let mut cells: Vec<_> = known.into_iter().filter(is_asked).flat_map(part).collect();
    if arguments.quick {
        cells.sort_by_key(|cell| (cell.shape.partitions, cell.shape.subscriptions));
    }
    Ok(cells)
}

/// Measures both sides, Kafka's within `limit` if there is one.
fn measure(cell: &Cell, kafka: Option<&Kafka>, limit: Option<Duration>) -> Result<Row> {
    let ours = side::ours(cell)?;
    let theirs = match (kafka, limit) {
        _ if !Kafka::has(cell) => Theirs::NoClass,
        (None, _) => Theirs::NoJava,
        (_, None) => Theirs::NoTime,
        (Some(kafka), Some(limit)) => match kafka.measure(cell, limit)? {
            Answer::TimedOut if limit < LIMIT => Theirs::NoTime,
            answer => Theirs::Asked(answer),
        },
    };
    Ok(Row { cell: cell.clone(), ours, theirs })
}
