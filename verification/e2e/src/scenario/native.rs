//! Members of Kafka groups without a service: ours alone and with librdkafka's, in both protocols, under what members meet.
//!
//! ```text
//!  supply ──► topic ──► members: the example native-consumer ×2 or 3, or a client of librdkafka
//!                          └─ events ──► judge: what was handled, and the order of callbacks
//!             the coordinator's description of the group ──► the plan of Kafka's own class for the same members, in a Java process
//! ```

mod described;
mod judge;
mod librdkafka;
mod members;
mod planned;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kafka_assigner_rig::producer::{Content, Load, Production};
use kafka_assigner_rig::{Kafka, topics, within};
use tokio::task::block_in_place;

use self::judge::{Handled, are_in_order, handled, have_one_owner, owned};
use self::members::{Client, GroupMembers, Peer};
use self::report::{NativeCase, NativeReport};
use super::settings::Settings;

/// Partitions of each topic.
const PARTITIONS: u32 = 6;

/// The time between two records of a partition.
const INTERVAL: Duration = Duration::from_millis(50);

/// Groups settle within seconds; the longest wait is for a session to end.
const SETTLES: Duration = Duration::from_secs(60);

/// The session of members, in milliseconds: Kafka's default, so that a busy machine ends none.
const SESSION_MS: u32 = 45_000;

/// The session where it is to end; the shortest that brokers take by default.
const SHORT_SESSION_MS: u32 = 6_000;

/// The time between two looks at events.
const LOOK: Duration = Duration::from_millis(300);

/// Members whose assignment does not change for so long are settled.
const STANDS: Duration = Duration::from_secs(2);

/// One situation.
#[derive(Debug, Clone, Copy)]
struct Situation {
    name: &'static str,
    strategy: &'static str,
    /// The clients of the members, in the order in which they join.
    clients: [Client; 3],
    twist: Twist,
}

/// The event after all have joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Twist {
    /// The first member leaves.
    Leave,
    /// The first member, a static one, stops and comes back at once.
    Restart,
    /// The first member stands still for longer than its session.
    Freeze,
    /// The broker, which coordinates the group, is killed and started again.
    Coordinator,
}

const OURS: [Client; 3] = [Client::Classic; 3];
const MIXED: [Client; 3] = [Client::Classic, Client::Librdkafka, Client::Classic];
const LED_BY_LIBRDKAFKA: [Client; 3] = [Client::Librdkafka, Client::Classic, Client::Classic];

const SITUATIONS: [Situation; 11] = [
    Situation { name: "eager", strategy: "range", clients: OURS, twist: Twist::Leave },
    Situation { name: "cooperative", strategy: "cooperative-sticky", clients: OURS, twist: Twist::Leave },
    Situation { name: "balanced", strategy: "balanced", clients: OURS, twist: Twist::Leave },
    Situation {
        name: "static-restart",
        strategy: "cooperative-sticky",
        clients: [Client::Static; 3],
        twist: Twist::Restart,
    },
    Situation { name: "kip-848", strategy: "uniform", clients: [Client::Broker; 3], twist: Twist::Leave },
    Situation { name: "frozen", strategy: "cooperative-sticky", clients: OURS, twist: Twist::Freeze },
    Situation { name: "mixed-range", strategy: "range", clients: MIXED, twist: Twist::Leave },
    Situation { name: "mixed-roundrobin", strategy: "roundrobin", clients: MIXED, twist: Twist::Leave },
    Situation {
        name: "mixed-cooperative",
        strategy: "cooperative-sticky",
        clients: MIXED,
        twist: Twist::Leave,
    },
    Situation {
        name: "led-by-librdkafka",
        strategy: "cooperative-sticky",
        clients: LED_BY_LIBRDKAFKA,
        twist: Twist::Leave,
    },
    Situation {
        name: "coordinator",
        strategy: "cooperative-sticky",
        clients: OURS,
        twist: Twist::Coordinator,
    },
];

/// The situation of a short run.
const SHORT: &str = "mixed-cooperative";

/// Plays all situations, one after the other: each has the machine for itself.
pub(crate) async fn play(settings: &Settings) -> Result<NativeReport> {
    let mut cases = Vec::new();
    for situation in SITUATIONS.iter().filter(|situation| !settings.short || situation.name == SHORT) {
        let case = play_one(settings, situation).await;
        let case = case.with_context(|| format!("{} could not be played", situation.name))?;
        if !settings.json {
            eprintln!("{case:?}");
        }
        cases.push(case);
    }
    Ok(NativeReport { cases })
}

async fn play_one(settings: &Settings, situation: &Situation) -> Result<NativeCase> {
    let mut own = match situation.twist {
        Twist::Coordinator => {
            let jars = settings.kafka_jars.as_deref().context("--kafka-jars is needed")?;
            Some(block_in_place(|| Kafka::start(jars))?)
        }
        _ => None,
    };
    let kafka = own.as_ref().map_or_else(|| settings.kafka.clone(), Kafka::address);
    let topic = format!("native-{}", situation.name);
    topics::create(&kafka, &topic, PARTITIONS.cast_signed()).await?;
    let load = Load {
        topic: topic.clone(),
        partitions: PARTITIONS.cast_signed(),
        interval: INTERVAL,
        linger: Duration::ZERO,
    };
    let content = |round: usize, _| Content { key: None, value: round.to_string() };
    let mut production = Production::start(&kafka, load, content)?;

    let session = if situation.twist == Twist::Freeze { SHORT_SESSION_MS } else { SESSION_MS };
    let mut members = GroupMembers::new(settings, &kafka, &topic, situation.strategy, session);
    for client in situation.clients {
        members.join(client)?;
        settle(&members).await?;
    }
    let compared = described::compared(settings, &kafka, &topic, &members).await?;
    let keeps_callbacks = twist(&mut members, situation, own.as_mut()).await?;

    let produced = production.stop().await?;
    let ends = produced.ends();
    is_handled(&members, &ends).await?;
    // What is told while members leave counts too.
    members.stop().await?;
    members.must_run()?;
    let Handled { lost, duplicated } = handled(&members.events(), &ends);
    let events: Vec<_> = members.peers().map(Peer::events).collect();
    let callbacks_in_order =
        keeps_callbacks && events.iter().all(|events| are_in_order(events)) && have_one_owner(&events);
    // A member that has lost a partition could not commit what it had handled.
    let may_duplicate = events.iter().any(|events| judge::has_lost(events));
    Ok(NativeCase {
        name: situation.name,
        broker: settings.kafka_version.clone(),
        produced: produced.count(),
        lost,
        duplicated,
        callbacks_in_order,
        assignment_equal: compared.equal,
        assignment_sound: compared.sound,
        may_duplicate,
    })
}

/// Waits until every member has a part, all parts together are the topic, and none changes.
async fn settle(members: &GroupMembers) -> Result<()> {
    let (mut before, mut since) = (None, tokio::time::Instant::now());
    let settled = within(SETTLES, LOOK, || {
        members.must_run()?;
        let parts: Vec<BTreeSet<(String, u32)>> =
            members.live_peers().map(|peer| owned(&peer.events())).collect();
        let all: BTreeSet<_> = parts.iter().flatten().collect();
        let is_whole = all.len() == parts.iter().map(BTreeSet::len).sum::<usize>()
            && all.len() == PARTITIONS as usize
            && parts.iter().all(|part| !part.is_empty());
        if !is_whole || before.as_ref() != Some(&parts) {
            (before, since) = (Some(parts), tokio::time::Instant::now());
            return Ok(None);
        }
        Ok((since.elapsed() >= STANDS).then_some(()))
    });
    settled.await?.with_context(|| format!("the group did not settle: {}", members.shown()))
}

/// The event after all have joined. False where members heard of it that should not have.
async fn twist(
    members: &mut GroupMembers,
    situation: &Situation,
    broker: Option<&mut Kafka>,
) -> Result<bool> {
    match situation.twist {
        Twist::Leave => {
            members.leave(0).await?;
            settle(members).await?;
            Ok(true)
        }
        Twist::Restart => {
            let heard = |members: &GroupMembers| -> Vec<usize> {
                members.live_peers().skip(1).map(|peer| judge::callbacks(&peer.events())).collect()
            };
            let before = heard(members);
            members.restart(0).await?;
            settle(members).await?;
            Ok(before == heard(members))
        }
        Twist::Freeze => {
            members.freeze(0)?;
            settle(members).await?;
            members.thaw(0)?;
            settle(members).await?;
            // Its partitions were lost, and not given up.
            Ok(members.peers().next().is_some_and(|peer| judge::has_lost(&peer.events())))
        }
        Twist::Coordinator => {
            let broker = broker.context("there is no broker to restart")?;
            block_in_place(|| broker.restart())?;
            settle(members).await?;
            Ok(true)
        }
    }
}

/// Waits until everything was handled, for as long as that goes on.
async fn is_handled(members: &GroupMembers, ends: &BTreeMap<i32, i64>) -> Result<()> {
    let (mut least, mut since) = (usize::MAX, tokio::time::Instant::now());
    let standstill = Duration::from_secs(20);
    let done = within(SETTLES * 2, LOOK, || {
        let lost = handled(&members.events(), ends).lost;
        if lost < least {
            (least, since) = (lost, tokio::time::Instant::now());
        }
        Ok((lost == 0 || since.elapsed() >= standstill).then_some(()))
    });
    done.await.map(drop)
}
