//! The edges to Kafka and to handlers: what the client library promises where logs, brokers and handlers are not as in a
//! quiet test.
//!
//! ```text
//!  edges ─┬─► a broker as it is installed ─► retention, states, poison, markers   side by side
//!         ├─► a broker that forgets offsets after a minute ─► offset-expiry        beside them
//!         └─► two brokers with TLS and logins ─► secured, broker-frozen            beside them
//!                                              └─► leaderless                      alone, since its time is judged
//!             each case: a log with known ids ─► consumers (this program) ─► notes ─► verdict
//! ```
//!
//! A consumer notes each record that it handles together with the state after it, and each gap that it was told of. The
//! verdict compares that with the log: [`verdict::Truth`].

mod brokers;
mod cluster;
mod handler;
mod markers;
mod notes;
mod poison;
mod report;
mod retention;
mod stage;
mod states;
mod verdict;
mod worker;

use anyhow::{Context as _, Result};
use kafka_assigner_rig::Kafka;
use tokio::task::block_in_place;

use self::cluster::Cluster;
pub(crate) use self::report::EdgesReport;
use self::report::{
    BROKER_FROZEN, EdgeCase, FAILING_CATCH_UP, LEADERLESS, MARKERS, NAMES, OFFSET_EXPIRY, POISON_DEAD_LETTER,
    POISON_SKIP, POISON_STOP, RETENTION_BEFORE_START, RETENTION_WHILE_RUNNING, SECURED, SHORT_NAMES,
    SLOW_REBUILD, TWO_CHANGES,
};
use self::stage::Ground;
pub(crate) use self::worker::{EdgeWorkerSettings, work};
use super::settings::Settings;
use super::site::Site;

/// A broker that forgets what was committed a minute ago, and looks every five seconds.
const FORGETFUL: [&str; 2] = ["offsets.retention.minutes=1", "offsets.retention.check.interval.ms=5000"];

/// Plays it.
pub(crate) async fn play(settings: &Settings) -> Result<EdgesReport> {
    if settings.short {
        return play_short(settings).await;
    }
    let mut cluster = Cluster::start(settings).await?;
    let of_cluster = cluster.settings(settings);
    let secured = cluster.site(&of_cluster).await?;
    let ground = Ground { settings: &of_cluster, site: &secured };
    let (plain, expiry, two) =
        tokio::try_join!(on_one_broker(settings), on_a_forgetful_broker(settings), async {
            Ok(on_two_brokers(ground, &cluster).await)
        },)?;
    let mut cases = [plain, vec![expiry], two].concat();
    cases.push(played(LEADERLESS, brokers::leaderless(ground, &mut cluster)).await);
    secured.stop().await?;
    cases.sort_by_key(|case| NAMES.iter().position(|name| *name == case.name));
    Ok(EdgesReport { cases, wanted: NAMES.to_vec() })
}

/// Plays some cases, on the broker that is there.
async fn play_short(settings: &Settings) -> Result<EdgesReport> {
    let site = Site::start(settings, "edges").await?;
    let ground = Ground { settings, site: &site };
    let (failing, stop, markers) = tokio::join!(
        played(FAILING_CATCH_UP, states::failing_catch_up(ground)),
        played(POISON_STOP, poison::stop(ground)),
        played(MARKERS, markers::play(ground)),
    );
    site.stop().await?;
    Ok(EdgesReport { cases: vec![failing, stop, markers], wanted: SHORT_NAMES.to_vec() })
}

/// The result of a case. One that ends with an error shows nothing, and the others go on.
async fn played(name: &'static str, case: impl Future<Output = Result<EdgeCase>>) -> EdgeCase {
    case.await.unwrap_or_else(|error| {
        eprintln!("{name}: {error:#}");
        EdgeCase::named(name)
    })
}

async fn on_one_broker(settings: &Settings) -> Result<Vec<EdgeCase>> {
    let site = Site::start(settings, "edges").await?;
    let ground = Ground { settings, site: &site };
    let cases = tokio::join!(
        played(RETENTION_BEFORE_START, retention::before_start(ground)),
        played(RETENTION_WHILE_RUNNING, retention::while_running(ground)),
        played(SLOW_REBUILD, states::slow_rebuild(ground)),
        played(FAILING_CATCH_UP, states::failing_catch_up(ground)),
        played(TWO_CHANGES, states::two_changes(ground)),
        played(POISON_SKIP, poison::skip(ground)),
        played(POISON_DEAD_LETTER, poison::dead_letter(ground)),
        played(POISON_STOP, poison::stop(ground)),
        played(MARKERS, markers::play(ground)),
    );
    site.stop().await?;
    let (before, running, slow, failing, changes, skip, dead_letter, stop, markers) = cases;
    Ok(vec![before, running, slow, failing, changes, skip, dead_letter, stop, markers])
}

async fn on_a_forgetful_broker(settings: &Settings) -> Result<EdgeCase> {
    let jars = settings.kafka_jars.as_deref().context("the scenario needs the folder with Kafka's jars")?;
    let kafka = block_in_place(|| Kafka::start_with(jars, &FORGETFUL))?;
    let settings = Settings { kafka: kafka.address(), ..settings.clone() };
    let site = Site::start(&settings, "edges-forgetful").await?;
    let ground = Ground { settings: &settings, site: &site };
    let case = played(OFFSET_EXPIRY, retention::of_offsets(ground)).await;
    site.stop().await?;
    Ok(case)
}

async fn on_two_brokers(ground: Ground<'_>, cluster: &Cluster) -> Vec<EdgeCase> {
    let (secured, frozen) = tokio::join!(
        played(SECURED, brokers::secured(ground, cluster)),
        played(BROKER_FROZEN, brokers::frozen(ground, cluster)),
    );
    vec![secured, frozen]
}
