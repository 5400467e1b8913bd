//! The state of a member, for people and metrics.

use std::collections::BTreeSet;

use kafka_assigner_group_member::{MemberNotice, Membership};
use kafka_assigner_types::id::TopicPartition;

/// The state of a member, as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NativeStatus {
    /// The member's id with its generation; `None` outside of any, and while a group forms anew.
    pub membership: Option<Membership>,
    /// The strategy in use; `None`: the broker's, or none yet.
    pub strategy: Option<String>,
    /// True if this member made the plan.
    pub leads: bool,
    /// True if the broker plans although the member speaks the classic protocol: a member of KIP-848 has turned the
    /// group, and the strategies that are offered are not used.
    pub is_turned: bool,
    /// The partitions in the application's hands, or on the way to it.
    pub owned: BTreeSet<TopicPartition>,
    /// The number of generations so far.
    pub rebalances: u64,
}

impl NativeStatus {
    /// Takes in what the member says. Pure.
    pub(crate) fn notice(&mut self, notice: &MemberNotice) {
        match notice {
            MemberNotice::Joined { strategy, leads, .. } => {
                // A group that is turned is so until it is empty: only its word for a plan of its own ends that.
                self.is_turned &= !leads;
                self.strategy = strategy.clone().filter(|_| !self.is_turned);
                self.leads = *leads;
                self.rebalances += 1;
            }
            MemberNotice::BrokerPlans => self.is_turned = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turned_group_has_no_strategy_of_ours() {
        let joined =
            |leads| MemberNotice::Joined { generation: 1, strategy: Some("range".to_owned()), leads };
        let mut status = NativeStatus::default();
        status.notice(&joined(true));
        assert_eq!((status.strategy.as_deref(), status.is_turned), (Some("range"), false));
        status.notice(&MemberNotice::BrokerPlans);
        status.notice(&joined(false));
        assert_eq!((status.strategy.as_deref(), status.is_turned, status.rebalances), (None, true, 2));
    }
}
