//! [`Store`] on etcd.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use kafka_assigner_types::kv::{Lease, LeaseId, Limits, Record, Revision, Snapshot, Txn, TxnOutcome};

use super::connection::{EtcdConnection, MemberChannel};
use super::convert::{
    add_page, get_answer, get_request, key_range, leases, txn_outcome, txn_request, wire_revision,
};
use super::fault::AttemptError;
use super::keep_alive::KeepAlive;
use super::lease_rest::{LeaseRest, rest};
use super::options::EtcdOptions;
use super::status::EtcdStatus;
use super::watch::Watches;
use super::wire::{
    AlarmRequest, AlarmResponse, CompactionRequest, LeaseGrantRequest, LeaseRevokeRequest, RangeRequest,
    StatusRequest, StatusResponse, TxnRequest,
};
use crate::error::Error;
use crate::traits::{Store, Watch};

/// Records a page: about a megabyte of ours, so that no single answer keeps the member busy for long.
const PAGE: i64 = 5_000;

/// The most restarts of a listing that a compaction overtook between two pages.
const LISTINGS: usize = 3;

/// A handle of an etcd cluster; cheap to clone, and all clones share connections and streams.
///
/// It connects when it is first used. A restart of a member, a change of its leader or a short outage
/// costs retries: leases are kept alive and watches go on where they were as soon as any endpoint
/// answers. Calls are bounded by [`EtcdOptions::request_timeout`] each.
#[derive(Debug, Clone)]
pub struct EtcdStore {
    pub(super) connection: Arc<EtcdConnection>,
    keep_alive: KeepAlive,
    watches: Watches,
    /// The first key or prefix that was read: a user may read nothing else for sure.
    readable: Arc<OnceLock<Bytes>>,
}

impl EtcdStore {
    /// A store for these options. It does not wait for etcd to be there.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the options break their rules or name files that can't be read.
    ///
    /// # Panics
    /// Outside a tokio runtime, which runs its two tasks until the last handle and watch are dropped.
    pub fn new(options: &EtcdOptions) -> Result<Self, Error> {
        let connection = Arc::new(EtcdConnection::new(options)?);
        let keep_alive = KeepAlive::start(Arc::clone(&connection));
        let watches = Watches::start(Arc::clone(&connection));
        Ok(Self { connection, keep_alive, watches, readable: Arc::default() })
    }

    /// Lets etcd forget its history before `oldest`, which stays readable; forgotten already is no error.
    ///
    /// Cancel safe: it may be made again.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when it may not have happened; [`Error::Invalid`] for a revision that has
    /// not come yet.
    pub async fn compact(&self, oldest: Revision) -> Result<(), Error> {
        let request = CompactionRequest { revision: wire_revision(oldest) };
        let answer =
            self.connection.read(|link| async move { link.kv().compact(link.request(request)).await }).await;
        match answer {
            Ok(_) | Err(AttemptError::Compacted) => Ok(()),
            Err(fault) => Err(fault.of_read("compact")),
        }
    }

    /// The status of the member in use, with the alarms of the whole cluster. Cancel safe.
    ///
    /// # Errors
    /// As for a read; some versions of etcd tell it to root alone.
    pub async fn status(&self) -> Result<EtcdStatus, Error> {
        let status = self.member_status().await.map_err(|fault| fault.of_read("status"))?;
        let alarms = self.raised_alarms().await.map_err(|fault| fault.of_read("status"))?;
        Ok(EtcdStatus::new(status, &alarms.alarms))
    }

    async fn member_status(&self) -> Result<StatusResponse, AttemptError> {
        let ask = |link: MemberChannel| async move {
            link.maintenance().status(link.request(StatusRequest {})).await
        };
        self.connection.read(ask).await
    }

    async fn raised_alarms(&self) -> Result<AlarmResponse, AttemptError> {
        let ask = |link: MemberChannel| async move {
            link.maintenance().alarm(link.request(AlarmRequest::default())).await
        };
        self.connection.read(ask).await
    }

    /// The alarms, from as much of the status and the alarms as the user may know.
    async fn known_alarms(&self) -> Result<Vec<String>, AttemptError> {
        let advice = &self.connection.advice;
        let status = advice.unless_denied("the size and the version of etcd", self.member_status().await)?;
        let alarms = advice.unless_denied("the alarms of etcd", self.raised_alarms().await)?;
        let status = EtcdStatus::new(status.unwrap_or_default(), &alarms.unwrap_or_default().alarms);
        Ok(status.alarms())
    }

    /// Notes a key that may be read; whoever may list a prefix may read it as a key. No key is empty.
    fn note_readable(&self, key: &[u8]) {
        if !key.is_empty() {
            self.readable.get_or_init(|| Bytes::copy_from_slice(key));
        }
    }

    /// A listing, or `None` when a compaction took its revision away between two pages.
    async fn list(&self, prefix: &[u8]) -> Result<Option<Snapshot>, Error> {
        let mut snapshot = Snapshot::default();
        let (mut key, range_end) = key_range(prefix);
        loop {
            let revision = wire_revision(snapshot.revision);
            let request =
                RangeRequest { key, range_end: range_end.clone(), limit: PAGE, revision, keys_only: false };
            let page = match self.read_range(request).await {
                Ok(page) => page,
                Err(AttemptError::Compacted) => return Ok(None),
                Err(fault) => return Err(fault.of_read("range")),
            };
            let more = page.more;
            add_page(&mut snapshot, page);
            let Some(last) = snapshot.records.last().filter(|_| more) else { return Ok(Some(snapshot)) };
            // The smallest key after the last one.
            key = [&last.key[..], &[0]].concat().into();
        }
    }

    async fn read_range(&self, request: RangeRequest) -> Result<super::wire::RangeResponse, AttemptError> {
        self.connection
            .read(|link| {
                let request = request.clone();
                async move { link.kv().range(link.request(request)).await }
            })
            .await
    }

    async fn write_txn(&self, request: TxnRequest) -> Result<super::wire::TxnResponse, AttemptError> {
        self.connection
            .write(|link| {
                let request = request.clone();
                async move { link.kv().txn(link.request(request)).await }
            })
            .await
    }

    /// The expired lease of a refused transaction; etcd reports only that one of them has expired.
    async fn find_lost(&self, leases: &[LeaseId]) -> Error {
        for lease in leases {
            match self.time_to_live(*lease).await {
                Ok(Some(_)) => {}
                Ok(None) => return Error::LeaseNotFound(*lease),
                Err(error) => return error,
            }
        }
        Error::Invalid("etcd misses a lease of the transaction, but knows all of them".to_owned())
    }
}

#[async_trait]
impl Store for EtcdStore {
    async fn range(&self, prefix: &[u8]) -> Result<Snapshot, Error> {
        for _ in 0..LISTINGS {
            if let Some(snapshot) = self.list(prefix).await? {
                self.note_readable(prefix);
                return Ok(snapshot);
            }
        }
        Err(Error::Unavailable { operation: "range", source: None })
    }

    async fn get(&self, key: &[u8]) -> Result<(Option<Record>, Revision), Error> {
        let answer = self.read_range(get_request(key)).await;
        if answer.is_ok() {
            self.note_readable(key);
        }
        answer.map(get_answer).map_err(|fault| fault.of_read("get"))
    }

    async fn txn(&self, txn: Txn) -> Result<TxnOutcome, Error> {
        let leases = leases(&txn);
        let request = txn_request(txn, self.limits())?;
        match self.write_txn(request).await {
            Ok(response) => Ok(txn_outcome(response)),
            Err(AttemptError::NoLease) => Err(match leases[..] {
                [only] => Error::LeaseNotFound(only),
                _ => self.find_lost(&leases).await,
            }),
            Err(fault) => Err(fault.of_write("txn")),
        }
    }

    async fn watch(&self, prefix: &[u8], from: Revision) -> Result<Watch, Error> {
        self.watches.open(prefix, from).await
    }

    async fn grant(&self, ttl: Duration) -> Result<Lease, Error> {
        let request = LeaseGrantRequest { ttl: whole_seconds(ttl) };
        let granted = self
            .connection
            .write(|link| async move { link.lease().lease_grant(link.request(request)).await })
            .await
            .map_err(|fault| fault.of_write("grant"))?;
        Ok(Lease { id: LeaseId(granted.id), ttl: Duration::from_secs(granted.ttl.unsigned_abs()) })
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<Duration, Error> {
        self.keep_alive.renew(lease).await
    }

    async fn revoke(&self, lease: LeaseId) -> Result<(), Error> {
        let request = LeaseRevokeRequest { id: lease.0 };
        let answer = self
            .connection
            .write(|link| async move { link.lease().lease_revoke(link.request(request)).await })
            .await;
        match answer {
            Ok(_) | Err(AttemptError::NoLease) => Ok(()),
            Err(fault) => Err(fault.of_write("revoke")),
        }
    }

    async fn time_to_live(&self, lease: LeaseId) -> Result<Option<Duration>, Error> {
        // Before anything was read, any key: without permissions all may be.
        let key = self.readable.get().cloned().unwrap_or(Bytes::from_static(b"/"));
        let answer = self.connection.read(|link| rest(link, lease, key.clone())).await;
        match answer.map_err(|fault| fault.of_read("time_to_live"))? {
            LeaseRest::Over => Ok(None),
            LeaseRest::Left(left) => Ok(Some(left)),
            LeaseRest::Doubtful => {
                let source = Some("the leader of etcd changed meanwhile".into());
                Err(Error::Unavailable { operation: "time_to_live", source })
            }
        }
    }

    /// etcd tells whole seconds.
    fn lease_rounding(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// One request speaks of all watches.
    fn request_progress(&self, _prefix: &[u8], _revision: Revision) {
        self.watches.ask_for_progress();
    }

    async fn alarms(&self) -> Result<Vec<String>, Error> {
        self.known_alarms().await.map_err(|fault| fault.of_read("status"))
    }

    fn limits(&self) -> Limits {
        Limits::ETCD
    }
}

/// etcd counts in seconds, and keeps at least one.
fn whole_seconds(ttl: Duration) -> i64 {
    let up = u64::from(ttl.subsec_nanos() > 0);
    i64::try_from(ttl.as_secs().saturating_add(up)).unwrap_or(i64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_live_is_rounded_up_to_whole_seconds() {
        assert_eq!(whole_seconds(Duration::from_millis(2_001)), 3);
        assert_eq!(whole_seconds(Duration::from_secs(2)), 2);
        assert_eq!(whole_seconds(Duration::ZERO), 1);
    }
}
