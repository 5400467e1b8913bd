//! The run from its beginning to its end.

mod rest;
mod setting;
mod work;

use std::future::Future;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_rig::clock::Moment;
use kafka_assigner_rig::journal::{self, Journal};
use kafka_assigner_rig::report::conclude;
use kafka_assigner_types::mode::Mode;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use self::rest::Rest;
use self::setting::Setting;
use crate::arguments::Settings;
use crate::check::{Lived, Run};
use crate::consumers::Life;
use crate::report::Report;
use crate::sink::Judged;
use crate::stage::Stage;
use crate::track::{self, Consumers, Ways};

/// Sets everything up, does harm to it, lets it come to rest, and tells what came of it; the last line printed is
/// the report.
pub(crate) async fn play(settings: &Settings) -> Result<ExitCode> {
    let mut setting = setting::set_up(settings).await?;
    let begin = Moment::now();
    setting = disturb(setting, Duration::from_secs(settings.seconds)).await?;
    let end = Moment::now();
    setting.stage.tell("no more faults");
    let rest = rest::come_to_rest(&setting).await?;
    let Setting { stage, sink, work, mut instances, mut routers, mut returning, .. } = setting;
    let (ends, requested) = work.end(settings, &sink, &mut returning).await?;
    let seen = stage.witness.seen().context("the sessions were not watched to the end")?;
    let generations = returning.generations();
    let (watched_until, happened) = (Moment::now(), stage.events.add().clone());
    let deaths = [instances.deaths()?, routers.deaths()?, stage.crew.deaths()?];
    deaths.into_iter().flatten().for_each(|death| stage.accident(death));
    let lives = stage.crew.end();
    drop(instances);
    let judged = sink.judged();
    keep(&judged, &settings.folder)?;
    let run = Run {
        is_exclusive: settings.mode != Mode::Overlap,
        faulty: (begin, end),
        ends,
        judged,
        lives: lives.into_iter().map(lived).collect::<Result<_>>()?,
        revoked: happened.revoked,
        away: happened.away,
        generations,
        seen,
        watched_until,
        requested,
    };
    Ok(tell(&stage, &run, rest))
}

/// All tracks side by side.
async fn disturb(setting: Setting, lasting: Duration) -> Result<Setting> {
    let Setting { stage, sink, work, instances, routers, returning, cluster } = setting;
    let until = Instant::now() + lasting;
    let ((), Consumers, instances, Ways, routers, returning, cluster) = tokio::try_join!(
        spawn(track::churn(Arc::clone(&stage), until)),
        spawn(track::follow(Arc::clone(&stage), Consumers, until)),
        spawn(track::follow(Arc::clone(&stage), instances, until)),
        spawn(track::follow(Arc::clone(&stage), Ways, until)),
        spawn(track::follow(Arc::clone(&stage), routers, until)),
        spawn(track::follow(Arc::clone(&stage), returning, until)),
        spawn(track::follow(Arc::clone(&stage), cluster, until)),
    )?;
    Ok(Setting { stage, sink, work, instances, routers, returning, cluster })
}

/// On a task of its own, since tracks block for moments; it ends with this call.
async fn spawn<T: Send + 'static>(track: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    AbortOnDropHandle::new(tokio::spawn(track)).await?
}

fn lived(life: Life) -> Result<Lived> {
    let Life { process, history, died } = life;
    Ok(Lived { entries: journal::read(&history)?, process, died })
}

/// For whoever wants to see what happened.
fn keep(judged: &[Judged], folder: &Path) -> Result<()> {
    let journal = Journal::open(&folder.join("sink.jsonl"))?;
    judged.iter().try_for_each(|one| journal.write(one)).context("the sink's history can't be kept")
}

fn tell(stage: &Stage, run: &Run, rest: Rest) -> ExitCode {
    let (findings, happened) = (run.findings(), stage.events.add().clone());
    let violations: Vec<String> =
        [findings.violations, rest.violations, happened.accidents].into_iter().flatten().collect();
    let report = Report {
        seed: stage.settings.seed,
        mode: stage.settings.mode,
        seconds: stage.settings.seconds,
        violations: violations.len(),
        stuck_handoffs: rest.stuck,
        handoffs: stage.observer.look().completed(),
        figures: findings.figures,
        settled_ms: rest.took.as_millis(),
        faults: happened.faults,
    };
    if !violations.is_empty() {
        eprintln!("The histories are in {}", stage.settings.folder.display());
    }
    conclude(&violations, &report)
}
