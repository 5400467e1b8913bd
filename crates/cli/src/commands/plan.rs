//! `plan`.

use clap::Args;
use kafka_assigner_proto::{Reason, ReasonExt as _, v1};
use kafka_assigner_strategies::Registry;

use super::arguments::GroupArgument;
use crate::admin::{Admin, Operation};
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

    fn group(&self) -> Option<&str> {
        Some(&self.of.group)
    }

    async fn perform(self, admin: &Admin) -> Result<reports::PlanReport, CommandError> {
        let request = v1::PlanRequest {
            group: self.of.group.clone(),
            without_consumers: self.without.clone(),
            strategy: self.strategy.clone().unwrap_or_default(),
        };
        match admin.ask(admin.client().plan(request)).await {
            Ok(response) => Ok(response.into()),
            Err(error) => Err(self.in_typed_words(admin, error).await),
        }
    }
}

impl ShowPlan {
    /// The refusal of a name that was typed, with the name that was probably meant; every other error as it is.
    async fn in_typed_words(&self, admin: &Admin, error: CommandError) -> CommandError {
        let CommandError::Refused { status, .. } = &error else { return error };
        let better = match status.reason() {
            Some(Reason::ConsumerNotFound) => self.unknown_consumer(admin).await,
            Some(Reason::InvalidField) => self.unknown_strategy(),
            _ => None,
        };
        better.unwrap_or(error)
    }

    async fn unknown_consumer(&self, admin: &Admin) -> Option<CommandError> {
        let group = &self.of.group;
        let all = super::consumers::all(admin, group).await.ok()?;
        let known: Vec<&str> = all.iter().map(|consumer| consumer.name.as_str()).collect();
        let name = self.without.iter().find(|name| !known.contains(&name.as_str()))?;
        let alike = did_you_mean(name, known);
        Some(CommandError::NotInGroup { kind: "consumer", name: name.clone(), group: group.clone(), alike })
    }

    /// `None` where this program knows the strategy, so that something else is wrong.
    fn unknown_strategy(&self) -> Option<CommandError> {
        let (name, strategies) = (self.strategy.as_ref()?, Registry::builtin());
        if strategies.named(name).is_some() {
            return None;
        }
        let alike = did_you_mean(name, strategies.all().iter().map(|strategy| strategy.name()));
        Some(CommandError::UnknownStrategy { name: name.clone(), alike })
    }
}
