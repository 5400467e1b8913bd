//! `plan`.

use clap::Args;
use kafka_assigner_proto::{Reason, ReasonExt as _, v1};
use kafka_assigner_strategies::Registry;

use super::arguments::GroupArgument;
use crate::admin::{Admin, Operation, TypedNames};
use crate::command_error::CommandError;
use crate::reports;
use crate::suggestion::did_you_mean;

/// Shows what the leader would do.
#[derive(Debug, Args)]
pub(crate) struct ShowPlan {
    #[command(flatten)]
    of: GroupArgument,
    /// As if this consumer were leaving; may be repeated
    #[arg(long, value_name = "CONSUMER")]
    without: Vec<String>,
    /// As if the group had this strategy
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
}

impl Operation for ShowPlan {
    type Report = reports::PlanReport;

    fn names(&self) -> TypedNames {
        TypedNames { consumers: self.without.clone(), ..self.of.names() }
    }

    async fn perform(self, admin: &Admin) -> Result<reports::PlanReport, CommandError> {
        let request = v1::PlanRequest {
            group: self.of.group.clone(),
            without_consumers: self.without.clone(),
            strategy: self.strategy.clone().unwrap_or_default(),
        };
        admin
            .ask(admin.client().plan(request))
            .await
            .map(Into::into)
            .map_err(|error| self.unknown_strategy(&error).unwrap_or(error))
    }
}

impl ShowPlan {
    /// The refusal of a strategy that this program does not know either, with the one that was probably meant; `None` for
    /// every other error.
    fn unknown_strategy(&self, error: &CommandError) -> Option<CommandError> {
        let CommandError::Refused { status, .. } = error else { return None };
        if status.reason() != Some(Reason::InvalidField) {
            return None;
        }
        let (name, strategies) = (self.strategy.as_ref()?, Registry::builtin());
        if strategies.named(name).is_some() {
            return None;
        }
        let alike = did_you_mean(name, strategies.all().iter().map(|strategy| strategy.name()));
        Some(CommandError::UnknownStrategy { name: name.clone(), alike })
    }
}
