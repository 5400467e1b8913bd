//! `strategies`.

use clap::Args;
use kafka_assigner_core::record::GroupConfig;
use kafka_assigner_strategies::{Registry, Strategy};

use crate::command_error::CommandError;
use crate::output::Output;
use crate::reports;

/// Lists the strategies.
#[derive(Debug, Args)]
pub(crate) struct ListStrategies {
    #[command(flatten)]
    output: Output,
}

impl ListStrategies {
    /// Writes the list.
    ///
    /// # Errors
    /// [`CommandError::Output`].
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let default = GroupConfig::default().strategy;
        let report = |strategy: &&'static dyn Strategy| {
            let (name, summary) = (strategy.name(), strategy.summary());
            reports::StrategyEntry { name, default: name == default, summary }
        };
        let strategies = Registry::builtin().all().iter().map(report).collect();
        self.output.write(&reports::StrategyList { strategies })
    }
}
