//! The status of the member in use.

use crate::error::Error;

use super::version;
use super::wire::{AlarmMember, AlarmType, StatusResponse};

/// The status of one member, with the cluster's alarms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdStatus {
    /// The member's version, as `3.7.3`; empty where the user may not know it.
    pub version: String,
    /// Bytes of its database file, which count against the quota.
    pub size: u64,
    /// Bytes of the file that hold data; defragmenting frees the others.
    pub size_in_use: u64,
    /// The quota in bytes; `None` where the member does not tell (before 3.6).
    pub quota: Option<u64>,
    /// The cluster refuses writes because a member is out of space.
    pub out_of_space: bool,
    /// A member found its data corrupt.
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

    /// The active alarms, one line each, with the remedy.
    #[must_use]
    pub fn alarms(&self) -> Vec<String> {
        let version = Some(&self.version).filter(|version| !version.is_empty());
        let too_old =
            version.and_then(|version| version::check(version).err()).map(|error| error.to_string());
        let space = self.out_of_space.then(|| Error::NoSpace.to_string());
        let corrupt = "a member of etcd found its data corrupt: replace that member";
        let corrupt = self.corrupt.then(|| corrupt.to_owned());
        [too_old, space, corrupt, self.nearly_full()].into_iter().flatten().collect()
    }

    /// Nine tenths of the quota leave some time to act: at the quota etcd refuses every write.
    fn nearly_full(&self) -> Option<String> {
        let quota = self.quota?;
        (!self.out_of_space && self.size > quota / 10 * 9).then(|| {
            let (size, in_use) = (self.size, self.size_in_use);
            format!("{size} of {quota} bytes are taken, {in_use} hold data: compact and defragment etcd")
        })
    }
}
