//! How the member in use is doing.

use super::wire::{AlarmMember, AlarmType, StatusResponse};

/// What a member says about itself and the cluster's alarms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdStatus {
    /// The member's version, as `3.7.3`.
    pub version: String,
    /// Bytes of its database file, which count against the quota.
    pub size: u64,
    /// Bytes of the file that hold data; defragmenting frees the others.
    pub size_in_use: u64,
    /// The quota in bytes; `None` where the member does not tell (before 3.6).
    pub quota: Option<u64>,
    /// Whether the cluster refuses writes because a member is out of space.
    pub out_of_space: bool,
    /// Whether a member found its data corrupt.
    pub corrupt: bool,
}

impl EtcdStatus {
    pub(super) fn new(status: StatusResponse, alarms: &[AlarmMember]) -> Self {
        let raised = |kind| alarms.iter().any(|alarm| alarm.alarm() == kind);
        Self {
            version: status.version,
            size: status.db_size.unsigned_abs(),
            size_in_use: status.db_size_in_use.unsigned_abs(),
            quota: Some(status.db_size_quota.unsigned_abs()).filter(|quota| *quota > 0),
            out_of_space: raised(AlarmType::Nospace),
            corrupt: raised(AlarmType::Corrupt),
        }
    }
}
