//! `strategies`.

use clap::Args;

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
        let strategies = kafka_assigner_strategies::all()
            .iter()
            .map(|strategy| reports::Strategy { name: strategy.name(), summary: strategy.summary() })
            .collect();
        self.output.write(&reports::Strategies { strategies })
    }
}
