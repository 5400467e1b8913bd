//! Scenarios: one situation each, in many groups side by side, with a report of its own.
//!
//! ```text
//!  scenario ─► Site ─┬─► its own etcd, instances: 2 × kafka-assigner serve
//!                    ├─► Workers: processes of this program, each a consumer in every group that it is given
//!                    │     └─► sink: a file for each group, to which all of them append what they do
//!                    ├─► Chronicle: every change of the store, with its time
//!                    └─► Supply: records, and which of them Kafka acknowledged
//!                               all of it ──► cases ──► a table, or one object of JSON
//! ```
//!
//! The order of a sink's lines is the order in which effects took place, whichever process wrote them: a line is
//! appended with one write. Each scenario counts in a pure function over sink and chronicle, and judges its report in one
//! place, [`report::ScenarioReport::failures`].

mod cache;
mod chronicle;
mod churn;
mod edges;
mod java;
mod kafka_groups;
mod killed;
mod moves;
mod native;
mod panics;
mod recreate;
mod report;
mod restored_store;
mod settings;
mod sink;
mod site;
mod slow_drain;
mod supply;
mod worker;
mod workers;

use std::process::ExitCode;

use anyhow::Result;

pub(crate) use edges::{EdgeWorkerSettings, work as work_edges};
pub(crate) use panics::serve;
pub(crate) use settings::{Scenario, ServerSettings, Settings, WorkerSettings};
pub(crate) use worker::work;

/// Plays a scenario, prints its report, and returns the code of its judgement.
pub(crate) async fn play(settings: &Settings) -> Result<ExitCode> {
    Ok(match settings.scenario {
        Scenario::Cache => report::conclude(&cache::play(settings).await?, settings.json),
        Scenario::Churn => report::conclude(&churn::play(settings).await?, settings.json),
        Scenario::Edges => report::conclude(&edges::play(settings).await?, settings.json),
        Scenario::KafkaGroups => report::conclude(&kafka_groups::play(settings).await?, settings.json),
        Scenario::Killed => report::conclude(&killed::play(settings).await?, settings.json),
        Scenario::Native => report::conclude(&native::play(settings).await?, settings.json),
        Scenario::Panics => report::conclude(&panics::play(settings).await?, settings.json),
        Scenario::Recreate => report::conclude(&recreate::play(settings).await?, settings.json),
        Scenario::RestoredStore => report::conclude(&restored_store::play(settings).await?, settings.json),
        Scenario::SlowDrain => report::conclude(&slow_drain::play(settings).await?, settings.json),
    })
}
