//! Everything that is to be measured, one after the other.

use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use kafka_assigner_audit::Micros;

use crate::arguments::Measure;
use crate::event::{Done, Event};
use crate::group::Group;
use crate::row::{self, Beside, Row};
use crate::stage::{FULL, QUICK, REHEARSAL, Stage};
use crate::system::{System, chosen};

/// Measures, and tells a row for each event as soon as its group has ended. A group that can't be measured costs its
/// own rows only.
///
/// # Errors
/// When there was one, or where a gap missed its aim.
pub(crate) async fn run(arguments: &Measure) -> Result<()> {
    let (begun, mut failures, mut missed) = (Instant::now(), 0, 0);
    let stages = stages(arguments)?;
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
            let misses: Vec<String> = rows.iter().filter_map(Row::missed).collect();
            misses.iter().for_each(|miss| eprintln!("MISSED: {miss}"));
            missed += misses.len();
        }
    }
    match (failures, missed) {
        (0, 0) => Ok(()),
        (0, _) => bail!("{missed} gaps missed their aim"),
        _ => bail!("{failures} groups could not be measured, {missed} gaps missed their aim"),
    }
}

/// The stages to measure; a name that no stage has is refused.
fn stages(arguments: &Measure) -> Result<&'static [Stage]> {
    let Some(wanted) = &arguments.stage else {
        return Ok(if arguments.quick { QUICK } else { FULL });
    };
    let found = FULL.iter().position(|stage| stage.name == wanted);
    let names: Vec<&str> = FULL.iter().map(|stage| stage.name).collect();
    let at =
        found.with_context(|| format!("{wanted:?} is no stage: it must be one of {}", names.join(", ")))?;
    Ok(&FULL[at..=at])
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
        let done = event.play(&mut group).await?;
        add(&mut events, *event, done);
    }
    answer_for_the_end(&mut events);
    let (audit, round_trip) = group.end().await?;
    let beside = Beside { calm: audit.of_event(&[peace]).stalls, round_trip };
    let row = |(event, done): &(Event, Done)| {
        Row::new(system, stage, *event, done, &audit.of_event(&done.steps), beside)
    };
    Ok(events.iter().map(row).collect())
}

/// An event that is played again has one row for all times.
fn add(events: &mut Vec<(Event, Done)>, event: Event, done: Done) {
    match events.iter_mut().find(|(other, _)| *other == event) {
        Some((_, all)) => all.add(done),
        None => events.push((event, done)),
    }
}

/// Records that are still missing at the end are the last step's.
fn answer_for_the_end(events: &mut [(Event, Done)]) {
    let steps = events.iter_mut().flat_map(|(_, done)| &mut done.steps);
    if let Some(step) = steps.max_by_key(|step| step.at) {
        step.until = Micros::MAX;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::check::Step;

    fn done(at: Micros) -> Done {
        let steps = vec![Step { at, until: at + 1 }];
        Done { steps, departures: vec![Duration::from_micros(at)], unsettled: 1 }
    }

    #[test]
    fn all_times_of_an_event_have_one_row() {
        let mut events = Vec::new();
        for (event, at) in [(Event::Join, 1), (Event::Leave, 3), (Event::Join, 5)] {
            add(&mut events, event, done(at));
        }
        let told: Vec<_> = events.iter().map(|(event, done)| (*event, done.steps.len())).collect();
        assert_eq!(told, [(Event::Join, 2), (Event::Leave, 1)]);
        assert_eq!((events[0].1.departures.len(), events[0].1.unsettled), (2, 2));
    }

    #[test]
    fn what_is_missing_at_the_end_is_the_last_steps() {
        let mut events = Vec::new();
        for (event, at) in [(Event::Join, 1), (Event::Leave, 3), (Event::Join, 5)] {
            add(&mut events, event, done(at));
        }
        answer_for_the_end(&mut events);
        let untils: Vec<_> = events.iter().flat_map(|(_, done)| &done.steps).map(|step| step.until).collect();
        assert_eq!(untils, [2, Micros::MAX, 4]);
    }
}
