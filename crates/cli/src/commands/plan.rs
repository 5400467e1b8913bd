//! `plan`.

use clap::Args;
use kafka_assigner_proto::v1;

use super::Group;
use crate::admin::{Admin, Operation};
use crate::failure::Failure;
use crate::reports;

/// Shows what the leader would do.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    of: Group,
    /// As if this consumer were leaving; may be repeated
    #[arg(long, value_name = "CONSUMER")]
    without: Vec<String>,
    /// As if the group had this strategy
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
}

impl Operation for Plan {
    type Report = reports::Plan;

    fn group(&self) -> Option<&str> {
        Some(&self.of.group)
    }

    async fn perform(self, admin: &Admin) -> Result<reports::Plan, Failure> {
        let request = v1::PlanRequest {
            group: self.of.group,
            without_consumers: self.without,
            strategy: self.strategy.unwrap_or_default(),
        };
        Ok(admin.ask(admin.client().plan(request)).await?.into())
    }
}
