//! The work of a run's consumers, and its result.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use kafka_assigner_audit::requests::{self, Asked, Window, Written};
use kafka_assigner_audit::{Incident, Ledger, Record};
use kafka_assigner_rig::clock::wall;
use kafka_assigner_rig::journal;
use kafka_assigner_rig::producer::{Produced, Production};
use kafka_assigner_rig::topics::Committed;
use kafka_assigner_types::id::TopicPartition;
use kafka_assigner_types::mode::Mode;
use kafka_assigner_writer::{Pace, Traffic, read_log};
use tokio::task::block_in_place;
use tokio::time::sleep;

use crate::arguments::Arguments;
use crate::consumers::{GROUP, Journals};
use crate::load::{self, TOPIC};
use crate::report::Report;
use crate::routers::Routers;
use crate::scale::Scale;

/// How long the last records may stand still: without any progress for so long, nobody will handle them.
const STANDSTILL: Duration = Duration::from_secs(30);

/// How often Kafka is asked about them.
const ASK: Duration = Duration::from_millis(100);

/// Work that goes on.
#[derive(Debug)]
pub(crate) enum Work {
    /// Records to handle.
    Records(Production),
    /// Requests to answer.
    Requests(Traffic),
}

/// Work that is over.
#[derive(Debug)]
pub(crate) enum Done {
    /// The records to handle.
    Records(Produced),
    /// The requests that were sent, and the entries in the log.
    Requests(Asked, BTreeMap<i32, Vec<Written>>),
}

/// What was done to the run on purpose.
#[derive(Debug, Default)]
pub(crate) struct Harm {
    /// Everything.
    pub(crate) incidents: Vec<Incident>,
    /// When partitions were without an owner because of it.
    pub(crate) crashes: Vec<Window>,
}

impl Work {
    /// Begins, as soon as there is somebody who takes it.
    pub(crate) fn start(arguments: &Arguments, routers: &Routers) -> Result<Self> {
        Ok(if arguments.mode == Mode::Routed {
            let Scale { partitions, interval, .. } = *arguments.scale();
            let pace = Pace { callers: partitions.unsigned_abs(), interval, most: None, now: wall };
            Self::Requests(Traffic::start(&routers.addresses(), pace))
        } else {
            Self::Records(load::start(&arguments.kafka, arguments.scale())?)
        })
    }

    /// How much was produced, or acknowledged.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Records(production) => production.produced().count() as u64,
            Self::Requests(traffic) => traffic.count(),
        }
    }

    /// Ends when the consumers have done all of it.
    pub(crate) async fn end(self, arguments: &Arguments) -> Result<Done> {
        match self {
            Self::Records(mut production) => {
                let produced = production.stop().await?;
                handle_the_rest(&arguments.kafka, &produced).await?;
                Ok(Done::Records(produced))
            }
            Self::Requests(traffic) => {
                let asked = traffic.stop().await?;
                let partitions = arguments.scale().partitions;
                let log = block_in_place(|| read_log(&arguments.kafka, TOPIC, partitions))?;
                Ok(Done::Requests(asked, log))
            }
        }
    }
}

impl Done {
    /// Adds it up against what the consumers wrote down.
    pub(crate) fn add_up(
        &self,
        journals: &[Journals],
        harm: Harm,
        scale: &Scale,
        report: &mut Report,
    ) -> Result<()> {
        let Harm { incidents, crashes } = harm;
        let mut ledger = Ledger { produced: self.produced(scale), incidents, ..Ledger::default() };
        for Journals { handled, states } in journals {
            ledger.handled.extend(journal::read(handled)?);
            ledger.states.extend(journal::read(states)?);
        }
        (report.audit, report.stale) = (ledger.audit(), ledger.stale());
        report.calm_ms = ledger.calm(u64::try_from(scale.interval.as_micros())?);
        if let Self::Requests(asked, log) = self {
            requests::unexcused(asked, &crashes).take(10).for_each(|failed| eprintln!("{failed:?}"));
            report.requests = Some(requests::put_right(&mut report.audit, asked, log, &crashes));
        }
        Ok(())
    }

    /// What had to be handled: in the mode routed, what was acknowledged.
    fn produced(&self, scale: &Scale) -> BTreeMap<TopicPartition, Vec<Record>> {
        match self {
            Self::Records(produced) => load::by_slot(produced, scale),
            Self::Requests(asked, log) => requests::to_handle(asked, log, TOPIC).expect("the topic has them"),
        }
    }
}

/// Waits until the group has committed all that was produced, for as long as it goes on with it. What it has not by
/// then is lost, and counted so.
async fn handle_the_rest(brokers: &str, produced: &Produced) -> Result<()> {
    let (committed, ends) = (Committed::new(brokers, GROUP, TOPIC)?, produced.ends());
    let (mut least, mut since) = (u64::MAX, Instant::now());
    while since.elapsed() < STANDSTILL {
        // This program has nothing else to do meanwhile.
        let missing = block_in_place(|| committed.missing(&ends))?;
        if missing == 0 {
            break;
        }
        if missing < least {
            (least, since) = (missing, Instant::now());
        }
        sleep(ASK).await;
    }
    Ok(())
}
