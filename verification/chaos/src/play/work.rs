//! The work of a run's consumers.

use std::collections::BTreeMap;

use anyhow::Result;
use kafka_assigner_audit::requests::Written;
use kafka_assigner_rig::producer::Production;
use kafka_assigner_writer::{Traffic, read_log};
use tokio::task::block_in_place;

use super::rest;
use crate::arguments::Settings;
use crate::check::Requested;
use crate::load::{PARTITIONS, TOPIC};
use crate::returning::Returning;
use crate::sink::Sink;

/// Work that goes on.
#[derive(Debug)]
pub(crate) enum Work {
    /// Records to handle.
    Records(Production),
    /// Requests to answer.
    Requests(Traffic),
}

/// The work that there was to do: the end of each partition, and what was asked.
pub(crate) type Done = (BTreeMap<i32, i64>, Option<Requested>);

impl Work {
    /// Ends when all of it was done.
    pub(crate) async fn end(
        self,
        settings: &Settings,
        sink: &Sink,
        returning: &mut Returning,
    ) -> Result<Done> {
        match self {
            Self::Records(mut production) => {
                let mut ends = production.stop().await?.ends();
                ends.extend(returning.end().await?);
                rest::do_the_rest(sink, &ends).await;
                Ok((ends, None))
            }
            Self::Requests(traffic) => {
                let asked = traffic.stop().await?;
                let log = block_in_place(|| read_log(&settings.kafka, TOPIC, PARTITIONS))?;
                let end = |written: &Vec<Written>| written.last().map_or(0, |last| last.offset.next().get());
                let ends = log.iter().map(|(partition, written)| (*partition, end(written))).collect();
                Ok((ends, Some(Requested { asked, log })))
            }
        }
    }
}
