//! `strategies`.

use clap::Args;
use kafka_assigner_core::record::GroupConfig;
use kafka_assigner_strategies::{Registry, Strategy};

use crate::failure::Failure;
use crate::output::Output;
use crate::reports;

/// Lists the strategies.
#[derive(Debug, Args)]
pub(crate) struct Strategies {
    #[command(flatten)]
    output: Output,
}

impl Strategies {
    /// Writes the list.
    ///
    /// # Errors
    /// [`Failure::Output`].
    pub(crate) fn run(self) -> Result<(), Failure> {
        let default = GroupConfig::default().strategy;
        let report = |strategy: &&'static dyn Strategy| {
            let (name, summary) = (strategy.name(), strategy.summary());
            reports::Strategy { name, default: name == default, summary }
        };
        let strategies = Registry::builtin().all().iter().map(report).collect();
        self.output.write(&reports::Strategies { strategies })
    }
}
