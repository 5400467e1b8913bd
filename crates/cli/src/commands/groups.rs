//! `groups` and `group describe|set|delete`.

use std::time::Duration;

use clap::Args;
use kafka_assigner_proto::v1;
use tonic::Code;

use super::arguments::GroupArgument;
use super::confirm::ConfirmationFlag;
use crate::admin::{Admin, Operation, TypedNames};
use crate::command_error::CommandError;
use crate::reports::{GroupDeleted, GroupDescription, GroupSet, Groups};

/// Lists the groups.
#[derive(Debug, Args)]
pub(crate) struct ListGroups {}

impl Operation for ListGroups {
    type Report = Groups;

    fn names(&self) -> TypedNames {
        TypedNames::default()
    }

    async fn perform(self, admin: &Admin) -> Result<Groups, CommandError> {
        let groups = admin.groups().await?.into_iter().map(Into::into).collect();
        Ok(Groups { groups })
    }
}

/// Describes a group.
#[derive(Debug, Args)]
pub(crate) struct Describe {
    #[command(flatten)]
    of: GroupArgument,
}

impl Operation for Describe {
    type Report = GroupDescription;

    fn names(&self) -> TypedNames {
        self.of.names()
    }

    async fn perform(self, admin: &Admin) -> Result<GroupDescription, CommandError> {
        let request = v1::DescribeGroupRequest { group: self.of.group };
        Ok(admin.ask(admin.client().describe_group(request)).await?.into())
    }
}

/// Creates or changes a group.
#[derive(Debug, Args)]
pub(crate) struct SetGroup {
    #[command(flatten)]
    of: GroupArgument,
    /// The strategy, one of those that `kafka-assigner strategies` lists [new groups: balanced]
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
    /// The guarantee of a move: overlap (no gap, both process for a moment), exclusive (one owner at a time) or routed
    /// (requests wait at the routers as well) [new groups: overlap]
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// In the mode exclusive: true lets a new owner read the rest of the log, and take its fences, before it owns
    /// the partition [new groups: false]
    #[arg(long, value_name = "BOOL")]
    catch_up: Option<bool>,
    /// In the modes exclusive and routed: true waits for the full time of a lost session, in case its lease was revoked
    /// from outside [new groups: false]
    #[arg(long, value_name = "BOOL")]
    wait_out_revocations: Option<bool>,
    /// The time after its last heartbeat at which a consumer's session ends, unless it asks for another time; 2s to
    /// --max-session-timeout [new groups: 30s]
    #[arg(long, value_name = "TIME", value_parser = millis)]
    session_timeout: Option<u64>,
    /// The longest such time that a consumer may ask for; 2s to 30m. In the modes exclusive and routed so long nothing is
    /// granted after the store was put back [new groups: 5m]
    #[arg(long, value_name = "TIME", value_parser = millis)]
    max_session_timeout: Option<u64>,
    /// The time that a change of membership waits for the next one; at most 1m [new groups: 100ms]
    #[arg(long, value_name = "TIME", value_parser = millis)]
    debounce: Option<u64>,
    /// The longest time of a warm-up without reported progress; 2s to 1day [new groups: 5m]
    #[arg(long, value_name = "TIME", value_parser = millis)]
    warm_deadline: Option<u64>,
    /// The longest time of every other phase of a move; 1s to 1h [new groups: 30s]
    #[arg(long, value_name = "TIME", value_parser = millis)]
    phase_deadline: Option<u64>,
    /// The longest time of a phase whose member is busy with a record; 1s to 1h [new groups: 5m]
    #[arg(long, value_name = "TIME", value_parser = millis)]
    drain_deadline: Option<u64>,
    /// The longest time for which a move holds requests back (routed); 4s to 1h [new groups: 10s]
    #[arg(long, value_name = "TIME", value_parser = millis)]
    hold_deadline: Option<u64>,
    /// The time after which a consumer whose process seems to be dead is taken over (overlap); at most 1h, 0s = never
    /// [new groups: 3s]
    #[arg(long, value_name = "TIME", value_parser = millis)]
    takeover_after: Option<u64>,
    /// The most moves in flight; at least 1 [new groups: 1000]
    #[arg(long, value_name = "COUNT")]
    max_moves_in_flight: Option<u32>,
    /// The most partitions that one consumer warms at a time; at least 1 [new groups: 64]
    #[arg(long, value_name = "COUNT")]
    max_warming: Option<u32>,
    /// The time for which the partitions of a lost consumer are kept for its name; at most 1h [new groups: 0s]
    #[arg(long, value_name = "TIME", value_parser = millis)]
    rejoin_grace: Option<u64>,
    /// The price that the strategy balanced may pay to spread each topic evenly over consumers: ties (no move more than
    /// balance takes) or moves [new groups: ties]
    #[arg(long, value_name = "PRICE")]
    spread_topics: Option<String>,
    /// Every process that owned partitions of it before, and does not now, has stopped, also those that reach no instance: a
    /// switch to a stricter mode waits for none of them
    #[arg(long)]
    owners_stopped: bool,
}

fn millis(text: &str) -> Result<u64, String> {
    use crate::config::Value as _;
    let wrong = || format!("it must be {}", Duration::EXPECTS);
    let span = Duration::read(&toml::Value::from(text)).ok_or_else(wrong)?;
    u64::try_from(span.as_millis()).map_err(|_| wrong())
}

impl SetGroup {
    fn config(&self) -> v1::GroupConfig {
        v1::GroupConfig {
            strategy: self.strategy.clone(),
            mode: self.mode.clone(),
            session_timeout_ms: self.session_timeout,
            max_session_timeout_ms: self.max_session_timeout,
            debounce_ms: self.debounce,
            warm_deadline_ms: self.warm_deadline,
            phase_deadline_ms: self.phase_deadline,
            drain_deadline_ms: self.drain_deadline,
            hold_deadline_ms: self.hold_deadline,
            takeover_after_ms: self.takeover_after,
            max_moves_in_flight: self.max_moves_in_flight,
            max_warming: self.max_warming,
            rejoin_grace_ms: self.rejoin_grace,
            catch_up: self.catch_up,
            wait_out_revocations: self.wait_out_revocations,
            spread_topics: self.spread_topics.clone(),
        }
    }
}

impl Operation for SetGroup {
    type Report = GroupSet;

    fn names(&self) -> TypedNames {
        self.of.names()
    }

    async fn perform(self, admin: &Admin) -> Result<GroupSet, CommandError> {
        let config = self.config();
        let group = self.of.group;
        if config == v1::GroupConfig::default() && !self.owners_stopped && exists(admin, &group).await? {
            return Err(CommandError::NothingToChange);
        }
        let owners_stopped = self.owners_stopped;
        let request =
            v1::SetGroupConfigRequest { group: group.clone(), config: Some(config), owners_stopped };
        let answer = admin.ask(admin.client().set_group_config(request)).await?;
        let config = answer.config.ok_or_else(|| admin.nonsense("a group without a configuration"))?;
        Ok(GroupSet { group, created: answer.created, config: config.into() })
    }
}

/// Checks that there is such a group.
async fn exists(admin: &Admin, group: &str) -> Result<bool, CommandError> {
    let request = v1::DescribeGroupRequest { group: group.to_owned() };
    match admin.ask(admin.client().describe_group(request)).await {
        Ok(_) => Ok(true),
        Err(CommandError::Refused { status, .. }) if status.code() == Code::NotFound => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Deletes a group.
#[derive(Debug, Args)]
pub(crate) struct DeleteGroup {
    #[command(flatten)]
    of: GroupArgument,
    /// Every process that owned partitions of it has stopped, also those that reach no instance: a new group of this name
    /// waits for none of them
    #[arg(long)]
    owners_stopped: bool,
    #[command(flatten)]
    confirmation: ConfirmationFlag,
}

impl Operation for DeleteGroup {
    type Report = GroupDeleted;

    fn names(&self) -> TypedNames {
        self.of.names()
    }

    async fn perform(self, admin: &Admin) -> Result<GroupDeleted, CommandError> {
        let group = self.of.group;
        // Nobody is asked about a group that there is not.
        admin.ask(admin.client().describe_group(v1::DescribeGroupRequest { group: group.clone() })).await?;
        self.confirmation.get(&format!("delete group {group} with all its records"))?;
        let request = v1::DeleteGroupRequest { group: group.clone(), owners_stopped: self.owners_stopped };
        let records = admin.ask(admin.client().delete_group(request)).await?.records;
        Ok(GroupDeleted { group, records })
    }
}
