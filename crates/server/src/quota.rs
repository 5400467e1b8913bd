//! The bounds of what callers may have stored, checked before it is.

use kafka_assigner_core::record::encode;
use kafka_assigner_core::session::Registration;
use kafka_assigner_core::state::GroupState;
use kafka_assigner_proto::{Reason, status};
use kafka_assigner_types::name::{GroupName, MemberName, TopicName};
use tonic::Status;

use crate::group::ServedGroup;
use crate::options::Quotas;

/// Refuses a group that its first consumer would create, where there are `groups` already.
pub(crate) fn check_groups(quotas: Quotas, name: &GroupName, groups: usize) -> Result<(), Status> {
    let most = quotas.max_groups;
    if groups < most {
        return Ok(());
    }
    let message = format!(
        "group {name} is not created for its first consumer: this service has {groups} groups, and max_groups = {most}. An \
         operator may create it"
    );
    Err(status(Reason::LimitReached, message))
}

/// Refuses a registration that is too large, or one member too many. Whoever has a session under the name may come again.
pub(crate) fn check_registration<R: Registration>(
    quotas: Quotas,
    group: &ServedGroup,
    (name, registration): (&MemberName, &R),
) -> Result<(), Status> {
    let (bytes, most) = (encode(registration).len(), quotas.max_registration_bytes);
    if bytes > most {
        let message = format!(
            "the registration of {} {name} has {bytes} bytes, and max_registration_bytes = {most}: name fewer topics",
            R::KIND
        );
        return Err(status(Reason::LimitReached, message));
    }
    group.read(|state| check_members::<R>(quotas, state, name))
}

fn check_members<R: Registration>(
    quotas: Quotas,
    state: &GroupState,
    name: &MemberName,
) -> Result<(), Status> {
    let (registered, most) = (R::registered(state), quotas.max_members);
    if registered.len() < most || registered.contains_key(name) {
        return Ok(());
    }
    let (kind, group) = (R::KIND, state.layout().group());
    let message =
        format!("{kind} {name} is not registered: group {group} has {most} of them, its max_members");
    Err(status(Reason::LimitReached, message))
}

/// Refuses `partitions` of topic `name`, where the group would have too many with them.
pub(crate) fn check_partitions(
    quotas: Quotas,
    state: &GroupState,
    (name, partitions): (&TopicName, u32),
) -> Result<(), Status> {
    let others = state.topics().iter().filter(|(topic, _)| *topic != name);
    let others: u64 =
        others.filter_map(|(_, topic)| topic.readable()).map(|topic| u64::from(topic.partitions)).sum();
    let (all, most) = (others + u64::from(partitions), quotas.max_partitions);
    if all <= most {
        return Ok(());
    }
    let group = state.layout().group();
    let message = format!(
        "partitions = {partitions} is refused for topic {name}: group {group} would have {all}, and max_partitions = {most}"
    );
    Err(status(Reason::LimitReached, message))
}
