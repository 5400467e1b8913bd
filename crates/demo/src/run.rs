//! A whole run: start everything, run the scenario, handle the remaining records, and count.

use std::path::Path;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::kafka::Kafka;
use crate::options::Options;
use crate::producer::{RecordSource, produce};
use crate::report::RunReport;
use crate::scenario;
use crate::screen::Screen;
use crate::screen_state::show;
use crate::world::World;

/// Runs the demonstration, and returns its result. `interrupt` ends it early, in good order.
///
/// # Errors
/// [`Error`] where something that is not part of the scenario failed.
pub async fn run(options: Options, interrupt: CancellationToken) -> Result<RunReport, Error> {
    options.validate()?;
    let seed = options.seed.unwrap_or_else(rand::random);
    let kafka = Arc::new(kafka(&options, seed).await?);
    let source = source(options.input.as_deref())?;
    let screen = Arc::new(Screen::open(options.json));
    let mut world = World::start(&options, Arc::clone(&kafka), Arc::clone(&screen), seed).await?;
    let showing = tokio::spawn(show(world.screen_state(), screen));
    let result = perform(&mut world, &options, source, interrupt).await;
    showing.abort();
    // The live view is gone before anything is printed over it.
    let _aborted = showing.await;
    result?;
    world.end().await
}

async fn kafka(options: &Options, seed: u64) -> Result<Kafka, Error> {
    Ok(match &options.brokers {
        None => Kafka::embedded(options.partitions)?,
        Some(brokers) => Kafka::real(brokers.clone(), options.partitions, seed).await?,
    })
}

fn source(input: Option<&Path>) -> Result<RecordSource, Error> {
    let Some(path) = input else { return Ok(RecordSource::Endless) };
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::Input { path: path.display().to_string(), source })?;
    Ok(RecordSource::Lines(text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter()))
}

/// Produces while the scenario runs, then waits for the last records.
async fn perform(
    world: &mut World,
    options: &Options,
    source: RecordSource,
    interrupt: CancellationToken,
) -> Result<(), Error> {
    scenario::settle(world).await;
    if world.let_requests_in().await? {
        return play(world, options, interrupt).await;
    }
    let stop = CancellationToken::new();
    let _stopped_in_any_case = stop.clone().drop_guard();
    let production = spawn_production(world, options, source, stop.clone());
    play(world, options, interrupt).await?;
    stop.cancel();
    // A panic there was already printed by the runtime; nothing would be produced, which the counts show.
    production.await.unwrap_or(Ok(()))?;
    tell_production(world);
    world.handle_the_rest().await;
    Ok(())
}

/// Runs the scenario until its end or an interrupt; the records produced until then are still handled.
async fn play(world: &mut World, options: &Options, interrupt: CancellationToken) -> Result<(), Error> {
    tokio::select! {
        biased;
        // By hand.
        () = interrupt.cancelled() => {}
        // In time.
        played = scenario::play(world, options.production()) => return played,
    }
    world.note("interrupt", "interrupted: what is there is still done".into());
    Ok(())
}

fn tell_production(world: &World) {
    if world.produced().is_full() {
        world.note("full", "stopped producing: the embedded cluster, or this process, has no room".into());
    }
    if world.produced().failed() > 0 {
        world.note(
            "refused",
            format!("Kafka did not take {} records; they don't count", world.produced().failed()),
        );
    }
    world.note(
        "production_over",
        format!("{} records produced; handling the rest", world.produced().acknowledged()),
    );
}

fn spawn_production(
    world: &World,
    options: &Options,
    source: RecordSource,
    stop: CancellationToken,
) -> JoinHandle<Result<(), rdkafka::error::KafkaError>> {
    let (kafka, produced) = (Arc::clone(world.kafka()), world.produced().clone());
    let (partitions, every) = (options.partitions, options.record_interval());
    tokio::spawn(async move { produce(&kafka, partitions, every, source, produced, stop).await })
}
