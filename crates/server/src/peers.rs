//! The instances of one store: this one's registration, and a view of all.
//!
//! They are registered at `{prefix}~/instances/{id}`, leased.

use std::collections::BTreeMap;
use std::hash::Hasher as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_assigner_core::key::ClusterLayout;
use kafka_assigner_core::record::{Extra, Version, decode, encode};
use kafka_assigner_store::view::Materialized;
use kafka_assigner_store::{Error, Store, View};
use kafka_assigner_types::kv::{Change, LeaseId, Op, Revision, Txn};
use kafka_assigner_types::moment::WallMillis;
use kafka_assigner_types::name::GroupName;
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::options::Options;

/// The wait of an instance that is not a group's preferred one before it campaigns. Long enough for the preferred one
/// to see the vacancy, short against a leader's time to live.
const HEAD_START: Duration = Duration::from_millis(300);

/// `{prefix}~/instances/{id}`: one running instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Peer {
    /// The version of the record.
    pub(crate) version: Version,
    /// The URL at which it is reached.
    pub(crate) address: String,
    /// The version of its program.
    pub(crate) program: String,
    /// The time at which it started.
    pub(crate) since: WallMillis,
    /// Fields that a newer writer added.
    #[serde(flatten)]
    pub(crate) extra: Extra,
}

/// The instances, kept by a view.
#[derive(Debug)]
pub(crate) struct PeerSet {
    prefix: Bytes,
    peers: BTreeMap<String, Peer>,
}

impl PeerSet {
    fn new(prefix: &str) -> Self {
        Self { prefix: ClusterLayout::new(prefix).instances(), peers: BTreeMap::new() }
    }

    /// The instances, by id. One whose record can't be read is not shown.
    #[must_use]
    pub(crate) const fn peers(&self) -> &BTreeMap<String, Peer> {
        &self.peers
    }
}

impl Materialized for PeerSet {
    type Touched = ();

    fn apply(&mut self, changes: &[Change], _revision: Revision) {
        for change in changes {
            let Some(id) = change.key().strip_prefix(&*self.prefix) else { continue };
            let id = String::from_utf8_lossy(id).into_owned();
            match change {
                Change::Put(record) => match decode::<Peer>(&record.value) {
                    Ok(peer) => drop(self.peers.insert(id, peer)),
                    Err(error) => tracing::warn!(instance = id, %error, "instance left out"),
                },
                Change::Delete { .. } => drop(self.peers.remove(&id)),
            }
        }
    }
}

/// An instance's knowledge of the others.
#[derive(Debug, Clone)]
pub(crate) struct Peers {
    id: String,
    view: View<PeerSet>,
}

impl Peers {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        options: &Options,
    ) -> (Self, kafka_assigner_store::view::Keeper<PeerSet>) {
        let set = PeerSet::new(&options.prefix);
        let prefix = set.prefix.clone();
        let (view, keeper) = View::new(store, kafka_assigner_store::view::Options::new(prefix), set);
        (Self { id: options.id.clone(), view }, keeper)
    }

    /// The addresses of the other instances, by their ids.
    pub(crate) fn others(&self) -> Vec<String> {
        self.view.read(|set, _| {
            set.peers()
                .iter()
                .filter(|(id, _)| **id != self.id)
                .map(|(_, peer)| peer.address.clone())
                .collect()
        })
    }

    /// The revision that the view of them has come to.
    pub(crate) fn revision(&self) -> Revision {
        self.view.revision()
    }

    /// True if the view of them was shown an earlier state than it has.
    pub(crate) fn went_back(&self) -> bool {
        self.view.health().went_back
    }

    /// The addresses of all instances, by their ids.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.view.read(|set, _| set.peers().values().map(|peer| peer.address.clone()).collect())
    }

    /// The time for which this instance lets others campaign for `group` first: nothing where it is the group's preferred one
    /// by rendezvous hashing, which spreads the leaderships over the instances. While it does not know them, it lets
    /// whoever does go first.
    pub(crate) fn head_start(&self, group: &GroupName) -> Duration {
        let own = weight(&self.id, group);
        let is_preferred = self.view.read(|set, _| {
            set.peers().contains_key(&self.id) && set.peers().keys().all(|id| weight(id, group) <= own)
        });
        if is_preferred { Duration::ZERO } else { HEAD_START }
    }

    /// Waits until the head start for `group` is another than `known`, because an instance came or went. Cancel safe.
    pub(crate) async fn another_head_start(&self, group: &GroupName, known: Duration) {
        let mut updates = self.view.subscribe();
        while self.head_start(group) == known {
            if updates.next().await.is_none() {
                return std::future::pending().await;
            }
        }
    }
}

fn weight(instance: &str, group: &GroupName) -> (u64, String) {
    let mut hasher = FxHasher::default();
    hasher.write(instance.as_bytes());
    hasher.write_u8(0xff);
    hasher.write(group.as_str().as_bytes());
    (hasher.finish(), instance.to_owned())
}

/// Keeps this instance registered until it is stopped; then the registration goes at once.
pub(crate) async fn stay_registered(store: Arc<dyn Store>, options: Arc<Options>, stop: CancellationToken) {
    let mut lease = None;
    loop {
        let renewing = async {
            let wait = match renew(&*store, &options, &mut lease).await {
                Ok(()) => options.leader_ttl / 3,
                Err(error) => {
                    tracing::debug!(%error, "instance not registered");
                    options.leader_ttl / 6
                }
            };
            tokio::time::sleep(wait).await;
        };
        // A request that is dropped here may leave a lease behind, which runs out by itself.
        if stop.run_until_cancelled(renewing).await.is_none() {
            break;
        }
    }
    if let Some(lease) = lease {
        // Nothing depends on it: it would run out by itself.
        let _gone = store.revoke(lease).await;
    }
}

async fn renew(store: &dyn Store, options: &Options, lease: &mut Option<LeaseId>) -> Result<(), Error> {
    if let Some(id) = *lease {
        match store.keep_alive(id).await {
            Err(Error::LeaseNotFound(_)) => *lease = None,
            other => return other.map(drop),
        }
    }
    let granted = store.grant(options.leader_ttl).await?;
    let key = ClusterLayout::new(&options.prefix).instance(&options.id);
    let peer = Peer {
        version: Version,
        address: options.address.clone(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        since: options.wall.now(),
        extra: Extra::new(),
    };
    let put = Op::put_leased(key, encode(&peer), granted.id);
    store.txn(Txn::guarded(Vec::new(), vec![put])).await?;
    *lease = Some(granted.id);
    Ok(())
}
