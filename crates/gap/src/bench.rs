//! Everything that is to be measured, one after the other.

use std::time::Instant;

use anyhow::{Result, bail};
use kafka_assigner_ledger::Micros;

use crate::arguments::Measure;
use crate::event::{Done, Event};
use crate::group::Group;
use crate::row::{self, Row};
use crate::stage::{FULL, QUICK, REHEARSAL, Stage};
use crate::system::{System, chosen};

/// Measures, and tells a row for each event as soon as its group has ended. A group that can't be measured costs its
/// own rows only.
///
/// # Errors
/// When there was one.
pub(crate) async fn run(arguments: &Measure) -> Result<()> {
    let (begun, mut failures) = (Instant::now(), 0);
    let stages = if arguments.quick { QUICK } else { FULL };
    if !arguments.json {
        println!("{}", row::HEAD);
    }
    let systems = chosen(&arguments.systems, arguments.quick)?;
    if let Some(first) = systems.first() {
        eprintln!("{:>5.0} s  rehearsal", begun.elapsed().as_secs_f64());
        measure(first, &REHEARSAL, arguments).await?;
    }
    for system in systems {
        for stage in stages {
            eprintln!("{:>5.0} s  {}, {}", begun.elapsed().as_secs_f64(), system.name, stage.name);
            let rows = measure(&system, stage, arguments).await.unwrap_or_else(|error| {
                eprintln!("error: {}, {}: {error:#}", system.name, stage.name);
                failures += 1;
                Vec::new()
            });
            tell(&rows, arguments.json)?;
        }
    }
    if failures > 0 {
        bail!("{failures} groups could not be measured");
    }
    Ok(())
}

fn tell(rows: &[Row], json: bool) -> Result<()> {
    for row in rows {
        println!("{}", if json { serde_json::to_string(row)? } else { row.to_string() });
    }
    Ok(())
}

async fn measure(system: &System, stage: &Stage, arguments: &Measure) -> Result<Vec<Row>> {
    let mut group = Group::form(system, stage, arguments).await?;
    let peace = group.rest().await;
    let mut events: Vec<(Event, Done)> = Vec::new();
    for event in stage.events {
        events.push((*event, event.play(&mut group).await?));
    }
    answer_for_the_end(&mut events);
    let audit = group.end().await?;
    let calm = audit.of_event(&[peace]).stalls;
    let row = |(event, done): &(Event, Done)| {
        Row::new(system, stage, *event, done, &audit.of_event(&done.steps), calm)
    };
    Ok(events.iter().map(row).collect())
}

/// What is still missing at the end is the last event's.
fn answer_for_the_end(events: &mut [(Event, Done)]) {
    let last = events.last_mut().and_then(|(_, done)| done.steps.last_mut());
    if let Some(step) = last {
        step.until = Micros::MAX;
    }
}
