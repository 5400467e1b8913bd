//! The amount of work so far.

use kafka_assigner_writer::Meter;

use crate::producer::Produced;

/// The load so far; clones share it.
#[derive(Debug, Clone)]
pub(crate) enum Workload {
    /// Records to handle.
    Records(Produced),
    /// Requests to answer.
    Requests(Meter),
}

/// The words for this kind of load in the output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    pub(crate) what: &'static str,
    /// The word for work that was produced or requested.
    pub(crate) given: &'static str,
    /// Consumers have done theirs.
    pub(crate) done: &'static str,
}

impl Words {
    pub(crate) const RECORDS: Self = Self { what: "records", given: "produced", done: "handled" };
    pub(crate) const REQUESTS: Self = Self { what: "requests", given: "acknowledged", done: "executed" };
}

impl Default for Words {
    fn default() -> Self {
        Self::RECORDS
    }
}

impl Workload {
    /// Records that the cluster took, or requests that were acknowledged.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::Records(produced) => produced.acknowledged(),
            Self::Requests(meter) => meter.count(),
        }
    }

    pub(crate) const fn words(&self) -> Words {
        match self {
            Self::Records(_) => Words::RECORDS,
            Self::Requests(_) => Words::REQUESTS,
        }
    }
}
