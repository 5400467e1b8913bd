//! Creates, changes and deletes groups.

use std::collections::BTreeMap;
use std::time::Duration;

use kafka_assigner_core::claim::{Leases, Remaining};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{Consumer, GroupConfig, Tombstone, encode};
use kafka_assigner_core::state::{Entry, GroupState, SharedMap};
use kafka_assigner_proto::v1::{
    self, DeleteGroupRequest, DeleteGroupResponse, SetGroupConfigRequest, SetGroupConfigResponse,
};
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_strategies::Registry;
use kafka_assigner_types::kv::{Compare, LeaseId, Must, Op, Txn};
use kafka_assigner_types::name::GroupName;
use tonic::{Code, Status};

use super::service::{ATTEMPTS, AdminService, lost_race};
use super::{modes, show};
use crate::group::ServedGroup;
use crate::group_name::group_name;
use crate::options::Options;
use crate::{directory, leases, refusal};

/// The settings that an operator wants for a group.
struct WantedConfig {
    /// The values to change.
    config: v1::GroupConfig,
    /// True if everybody has stopped who owned a partition before and does not now.
    owners_stopped: bool,
}

impl AdminService {
    /// Creates a group or changes its configuration. Cancel safe: repeating it is harmless.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn set_group_config(
        &self,
        request: SetGroupConfigRequest,
    ) -> Result<SetGroupConfigResponse, Status> {
        let name = group_name(&request.group)?;
        let config = request.config.unwrap_or_default();
        let wanted = WantedConfig { config, owners_stopped: request.owners_stopped };
        for _ in 0..ATTEMPTS {
            let written = match self.instance.group(&name).await {
                Ok(group) if group.read(|state| state.config_entry().is_some()) => {
                    self.reconfigure(&group, &wanted).await?
                }
                // Records without a configuration are no group: somebody deleted it.
                Ok(_) => self.create(&name, &wanted).await?,
                Err(refused) if refused.code() == Code::NotFound => self.create(&name, &wanted).await?,
                Err(other) => return Err(other),
            };
            if let Some(response) = written {
                return Ok(response);
            }
        }
        Err(lost_race(&format!("group {name}")))
    }

    /// `None` where somebody else created it first; then the view shows that.
    async fn create(
        &self,
        name: &GroupName,
        wanted: &WantedConfig,
    ) -> Result<Option<SetGroupConfigResponse>, Status> {
        let options = self.instance.options();
        let config = changed(options.group_defaults.clone(), wanted, &options.strategies)?;
        let txn = self.instance.creation(name, &config).await?;
        let outcome = self.instance.store().txn(txn).await.map_err(|e| refusal::store(&e))?;
        if outcome.succeeded {
            tracing::info!(group = %name, "group created by an operator");
        }
        match self.instance.group(name).await {
            Ok(group) => self.instance.reach(&group, outcome.revision).await?,
            // The store began another history meanwhile.
            Err(refused) if !outcome.succeeded && refused.code() == Code::NotFound => return Ok(None),
            Err(refused) => return Err(refused),
        }
        let response = SetGroupConfigResponse { config: Some(show::config(&config)), created: true };
        Ok(outcome.succeeded.then_some(response))
    }

    /// `None` where somebody else changed it first.
    async fn reconfigure(
        &self,
        group: &ServedGroup,
        wanted: &WantedConfig,
    ) -> Result<Option<SetGroupConfigResponse>, Status> {
        let key = group.layout().encode(&Key::GroupConfig);
        let state = group.snapshot();
        let Some((before, must)) = before(&state)? else { return Ok(None) };
        let config = changed(before.clone(), wanted, &self.instance.options().strategies)?;
        let config = if wanted.owners_stopped { with_word(&state, config) } else { config };
        if config.mode != before.mode {
            let of = |consumer: &Consumer, mode| state.modes_for(consumer, mode);
            modes::refuse_lacking(&state, |consumer| Some(of(consumer, config.mode)[1]))?;
            let weakest = |consumer: &Consumer| (of(consumer, before.mode)[0], of(consumer, config.mode)[0]);
            modes::refuse_weaker(&state, |consumer| Some(weakest(consumer)))?;
        }
        if config != before {
            let put = Op::put(key.clone(), encode(&config));
            let txn = Txn::guarded(vec![Compare::new(key, must)], vec![put]);
            if !self.instance.change(group, txn).await? {
                return Ok(None);
            }
            let owners_stopped = wanted.owners_stopped;
            tracing::info!(group = %group.name(), owners_stopped, "group reconfigured by an operator");
        }
        Ok(Some(SetGroupConfigResponse { config: Some(show::config(&config)), created: false }))
    }

    /// Deletes a group with all its records. Cancel safe: repeating it is harmless.
    ///
    /// # Errors
    /// See the definition of the call.
    pub async fn delete_group(&self, request: DeleteGroupRequest) -> Result<DeleteGroupResponse, Status> {
        if request.group.is_empty() {
            return Err(refusal::field("group is missing: only a named group can be deleted"));
        }
        for _ in 0..ATTEMPTS {
            let group = self.current(&request.group).await?;
            let state = group.snapshot();
            let (records, config) = deletable(&state, &group)?;
            // A member that acts now must not do so in a group that is created in its place.
            refuse_claims(
                &state,
                &leases::ask(&**self.instance.store(), &owners(&state), self.instance.entropy().number())
                    .await,
            )?;
            let Options { prefix, wall, .. } = self.instance.options();
            let claims_ms = if request.owners_stopped { 0 } else { state.claims_after_deletion_ms() };
            let tombstone = Some(claims_ms).filter(|claims_ms| *claims_ms > 0);
            let tombstone = tombstone.map(|claims_ms| Tombstone::new(claims_ms, wall.now()));
            let txn = directory::delete(prefix, group.layout(), config, state.revision(), tombstone.as_ref());
            let outcome = self.instance.store().txn(txn).await.map_err(|e| refusal::store(&e))?;
            if outcome.succeeded {
                let owners_stopped = request.owners_stopped;
                tracing::info!(group = %group.name(), records, owners_stopped, "group deleted by an operator");
                return Ok(DeleteGroupResponse { records });
            }
            self.instance.reach(&group, outcome.revision).await?;
        }
        Err(lost_race(&format!("group {}", request.group)))
    }
}

/// The configuration to change, and the guard under which it may be; `None` where the group was deleted.
fn before(state: &GroupState) -> Result<Option<(GroupConfig, Must)>, Status> {
    match state.config_entry() {
        None => Ok(None),
        Some(Entry::Readable(config)) => {
            Ok(Some(((**config).clone(), Must::HaveModRevision(config.mod_revision))))
        }
        Some(Entry::Unreadable(_)) => {
            let group = state.layout().group();
            let message =
                format!("the configuration of group {group} can't be read, so it is not overwritten");
            Err(status(Reason::RecordUnreadable, message))
        }
    }
}

/// The leases of all owners, and of those that work on until they have let go.
fn owners(state: &GroupState) -> BTreeMap<LeaseId, Duration> {
    let assignments = state.assignments().values().filter_map(Entry::last_good);
    let handoffs = state.handoffs().keys().filter_map(|lead| state.handoff(lead));
    let old = handoffs.filter_map(|handoff| handoff.old_owner.as_ref());
    let owners = assignments.filter_map(|assignment| assignment.owner.as_ref()).chain(old);
    owners.map(|owner| (owner.lease, Duration::from_millis(owner.ttl_ms))).collect()
}

/// Refuses to delete a group while the lease of an owner runs, or the store has not said whether it does.
fn refuse_claims(state: &GroupState, leases: &Leases) -> Result<(), Status> {
    let group = state.layout().group();
    for lease in owners(state).into_keys() {
        let left = match leases.remaining(lease) {
            Some(Remaining::Gone) => continue,
            Some(Remaining::Left(left)) => left.as_secs(),
            None => return Err(lost_race(&format!("group {group}: what is left of its sessions"))),
        };
        let message = format!("an owner of group {group} may still act: its session ends in {left} s");
        return Err(status(Reason::GroupInUse, message));
    }
    Ok(())
}

/// The number of records of a group that may be deleted, and the revision of its configuration.
fn deletable(
    state: &GroupState,
    group: &ServedGroup,
) -> Result<(u64, Option<kafka_assigner_types::kv::Revision>), Status> {
    let consumers = state.consumers().len();
    if consumers > 0 {
        let message = format!("group {} has {consumers} registered consumers: stop them first", group.name());
        return Err(status(Reason::GroupInUse, message));
    }
    let records = state.rejoins().len()
        + state.assignments().len()
        + state.handoffs().len()
        + state.intents().len()
        + state.topics().len()
        + state.routers().len()
        + state.router_acks().values().map(SharedMap::len).sum::<usize>()
        + usize::from(state.config_entry().is_some())
        + usize::from(state.leader().is_some())
        + usize::from(state.mod_revision(&Key::History).is_some());
    let config = state.config_entry().map(Entry::mod_revision);
    Ok((u64::try_from(records).unwrap_or(u64::MAX), config))
}

/// `config` with an operator's word that the former owners have stopped. It counts for the grants of `state`.
fn with_word(state: &GroupState, config: GroupConfig) -> GroupConfig {
    GroupConfig { owners_stopped_at: Some(state.owners_stopped_now()), ..config }
}

/// `config` with what is `wanted` of it, checked.
fn changed(
    mut config: GroupConfig,
    WantedConfig { config: wanted, .. }: &WantedConfig,
    strategies: &Registry,
) -> Result<GroupConfig, Status> {
    if let Some(mode) = &wanted.mode {
        config.mode = modes::named(mode)?;
    }
    set(&mut config.strategy, wanted.strategy.as_ref());
    set(&mut config.session_timeout_ms, wanted.session_timeout_ms.as_ref());
    set(&mut config.max_session_timeout_ms, wanted.max_session_timeout_ms.as_ref());
    set(&mut config.debounce_ms, wanted.debounce_ms.as_ref());
    set(&mut config.warm_deadline_ms, wanted.warm_deadline_ms.as_ref());
    set(&mut config.phase_deadline_ms, wanted.phase_deadline_ms.as_ref());
    set(&mut config.drain_deadline_ms, wanted.drain_deadline_ms.as_ref());
    set(&mut config.hold_deadline_ms, wanted.hold_deadline_ms.as_ref());
    set(&mut config.takeover_after_ms, wanted.takeover_after_ms.as_ref());
    set(&mut config.max_moves_in_flight, wanted.max_moves_in_flight.as_ref());
    set(&mut config.max_warming, wanted.max_warming.as_ref());
    set(&mut config.rejoin_grace_ms, wanted.rejoin_grace_ms.as_ref());
    set(&mut config.catch_up, wanted.catch_up.as_ref());
    set(&mut config.wait_out_revocations, wanted.wait_out_revocations.as_ref());
    set(&mut config.spread_topics, wanted.spread_topics.as_ref());
    config.validate(strategies).map_err(|invalid| refusal::field(invalid.to_string()))?;
    Ok(config)
}

fn set<T: Clone>(field: &mut T, wanted: Option<&T>) {
    if let Some(wanted) = wanted {
        field.clone_from(wanted);
    }
}

#[cfg(test)]
mod tests {
    use kafka_assigner_core::ack::Ack;
    use kafka_assigner_core::session::Leaving;
    use kafka_assigner_core::test_group::{TestGroup, tp};

    use super::*;

    // In `overlap` the assignment names the new owner while the old one still works.
    #[test]
    fn who_works_until_it_lets_go_is_asked_before_a_deletion() {
        let mut group = TestGroup::with_topics(&[("t", 1)]);
        let (a, at) = (group.join("a"), tp("t", 0));
        group.settle();
        let b = group.join("b");
        group.leave(&a, &Leaving::Drain);
        group.pass();
        let id = group.state.handoff(&at).unwrap().id.clone();
        group.say(&b, &at, Some(&id), &Ack::Ready);
        group.pass();
        assert_eq!(group.owner(&at), Some("b"));
        let leases = [&a, &b].map(|member| group.state.registration(&member.name).unwrap().lease);
        for member in [a, b] {
            group.remove(&Key::Consumer(member.name));
        }
        assert_eq!(owners(&group.state).into_keys().collect::<Vec<_>>(), leases);
    }

    #[test]
    fn only_what_is_set_changes() {
        let config = v1::GroupConfig { debounce_ms: Some(7), ..v1::GroupConfig::default() };
        let wanted = WantedConfig { config, owners_stopped: false };
        let before = with_word(&TestGroup::with_topics(&[("t", 1)]).state, GroupConfig::default());
        let config = changed(before.clone(), &wanted, Registry::builtin()).unwrap();
        assert_eq!(config, GroupConfig { debounce_ms: 7, ..before });
    }

    #[test]
    fn a_refused_value_is_named() {
        for (config, part) in [
            (v1::GroupConfig { max_warming: Some(0), ..Default::default() }, "max_warming = 0"),
            (v1::GroupConfig { mode: Some("strict".to_owned()), ..Default::default() }, "\"strict\""),
            (v1::GroupConfig { strategy: Some("best".to_owned()), ..Default::default() }, "sticky-balanced"),
        ] {
            let wanted = WantedConfig { config, owners_stopped: false };
            let refused = changed(GroupConfig::default(), &wanted, Registry::builtin()).unwrap_err();
            assert!(refused.message().contains(part), "{}", refused.message());
        }
    }
}
