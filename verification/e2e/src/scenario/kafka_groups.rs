//! One live group of each type: `kafka-assigner kafka-groups` beside Kafka's own tools, field by field.
//!
//! ```text
//!  supply ──► four topics ──► members of four groups, in one Java process
//!                                └─► describe, by this program and by Kafka's tool ──► tables ──► equal?
//! ```

mod report;
mod table;
mod tools;

use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_rig::producer::{Content, Load, Production};
use kafka_assigner_rig::{NamedProcess, topics, until, within};
use tokio::task::block_in_place;

use self::report::{GroupsCase, GroupsReport};
use self::table::GroupTable;
use self::tools::{GroupTools, GroupType, View};
use super::java::JavaProgram;
use super::settings::Settings;

const MEMBERS: JavaProgram =
    JavaProgram { file: "Groups.java", source: include_str!("../../java/Groups.java") };

/// The partitions of each topic.
const PARTITIONS: i32 = 4;

/// The records of each partition; some more than the members commit.
const RECORDS: usize = 6;

/// Groups form within seconds; a loaded machine takes many times that.
const SETTLES: Duration = Duration::from_secs(180);

/// The time for which a view may differ: offsets are committed while both programs look.
const EQUALS: Duration = Duration::from_secs(90);

/// The time between two looks.
const LOOK: Duration = Duration::from_millis(500);

/// Plays it.
pub(crate) async fn play(settings: &Settings) -> Result<GroupsReport> {
    let jars = settings.kafka_tools.as_deref().context("--kafka-tools is needed")?;
    for kind in GroupType::ALL {
        topics::create(&settings.kafka, kind.group(), PARTITIONS).await?;
    }
    let mut command = MEMBERS.command(jars, &settings.folder)?;
    command.arg(&settings.kafka);
    let members = NamedProcess::start("members", command, settings.folder.join("members.log"))?;
    let tools = GroupTools::new(settings, jars);
    for kind in GroupType::ALL {
        let settled = until("that a group has its members", SETTLES, || {
            block_in_place(|| Ok(tools.is_settled(kind)?.then_some(())))
        });
        settled.await.with_context(|| format!("{}: {}", kind.group(), members.log()))?;
        supply(settings, kind.group()).await?;
    }
    let mut cases = Vec::new();
    for (kind, view) in GroupType::ALL.into_iter().flat_map(|kind| View::ALL.map(|view| (kind, view))) {
        let case = compared(&tools, kind, view).await?;
        if !settings.json {
            eprintln!("{case:?}");
        }
        cases.push(case);
    }
    Ok(GroupsReport { cases })
}

/// Some records in each partition.
async fn supply(settings: &Settings, topic: &str) -> Result<()> {
    let load = Load {
        topic: topic.to_owned(),
        partitions: PARTITIONS,
        interval: Duration::from_millis(20),
        linger: Duration::ZERO,
    };
    let content = |round: usize, _| Content { key: None, value: round.to_string() };
    let mut production = Production::start(&settings.kafka, load, content)?;
    let wanted = RECORDS * PARTITIONS.unsigned_abs() as usize;
    let enough = || Ok((production.produced().count() >= wanted).then_some(()));
    until("that records are produced", SETTLES, enough).await?;
    production.stop().await.map(drop)
}

/// Compares a view until it is equal, for as long as offsets may still be committed.
async fn compared(tools: &GroupTools<'_>, kind: GroupType, view: View) -> Result<GroupsCase> {
    let mut last = None;
    let equal = within(EQUALS, LOOK, || {
        let (ours, kafkas) =
            block_in_place(|| Ok::<_, anyhow::Error>((tools.ours(kind, view)?, tools.kafkas(kind, view)?)))?;
        let (ours, kafkas) = (GroupTable::read(&ours, kind.group()), GroupTable::read(&kafkas, kind.group()));
        let is_equal = ours == kafkas && kafkas.fields() > 0;
        let fields = kafkas.fields();
        last = Some((fields, ours, kafkas));
        Ok(is_equal.then_some(fields))
    });
    let ok = equal.await?.is_some();
    let (fields, ours, kafkas) = last.context("it was looked at once at least")?;
    if !ok {
        eprintln!("{} {view}: ours {ours:?}, Kafka's {kafkas:?}", kind.name());
    }
    Ok(GroupsCase { kind: kind.name(), view: view.to_string(), fields, ok })
}
