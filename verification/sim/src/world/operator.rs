//! Changes that people make to the records by hand.

use std::collections::BTreeSet;

use bytes::Bytes;
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::{
    Consumer, DeathSign, Extra, GroupConfig, Source, Suspicion, Topic, decode, encode,
};
use kafka_assigner_core::state::GroupState;
use kafka_assigner_store::Store as _;
use kafka_assigner_strategies::Registry;
use kafka_assigner_types::id::Member;
use kafka_assigner_types::kv::{Compare, LeaseId, Must, Op, Record, Txn};
use kafka_assigner_types::moment::{WallMillis, millis};
use kafka_assigner_types::name::MemberName;
use rand::RngExt as _;

use super::World;
use super::topics::topic;
use crate::hole::Hole;

/// A record of a version that nobody knows.
const UNREADABLE: &[u8] = br#"{"version":99}"#;

/// A record that was made unreadable, as it was before.
#[derive(Debug, Clone)]
pub(crate) struct Spoiled(Record);

impl World {
    pub(super) async fn write_topics(&self) {
        let label = self.shape.copartitioned.then(|| "together".to_owned());
        for (name, partitions) in &self.shape.topics {
            let value = Topic { copartition: label.clone(), ..Topic::new(*partitions, Source::Kafka) };
            let key = self.layout.encode(&Key::Topic(topic(name)));
            self.write(Txn::guarded(Vec::new(), vec![Op::put(key, encode(&value))])).await;
        }
    }

    async fn write(&self, txn: Txn) -> bool {
        self.store.txn(txn).await.expect("memory takes everything").succeeded
    }

    /// Changes the group's configuration where it can be read.
    pub(crate) async fn configure(&self, change: impl FnOnce(&mut GroupConfig)) -> bool {
        let entry = self.read(|state| state.config_entry().and_then(|e| e.readable().cloned()));
        let Some(entry) = entry else { return false };
        let mut config = GroupConfig::clone(&entry);
        change(&mut config);
        config.validate(Registry::builtin()).expect("the world sets what may be set");
        let key = self.layout.encode(&Key::GroupConfig);
        let guard = Compare::new(key.clone(), Must::HaveModRevision(entry.mod_revision));
        self.write(Txn::guarded(vec![guard], vec![Op::put(key, encode(&config))])).await
    }

    /// The session that is registered under `consumer`.
    pub(crate) fn session_of(&self, consumer: &str) -> Option<Member> {
        let name = name(consumer);
        let incarnation = self.read(|state| Some(state.registration(&name)?.incarnation.clone()))?;
        Some(Member { name, incarnation })
    }

    /// Marks the session as one of a dead process, as an instance does.
    pub(crate) async fn suspect(&self, session: &Member) -> bool {
        let Some((record, consumer)) = self.registered(session).await else { return false };
        let rest = self.store.time_to_live(record.lease).await.ok().flatten().unwrap_or_default();
        let mark = Suspicion {
            sign: DeathSign::Detached,
            by: "world".to_owned(),
            stream: 1,
            rest_ms: millis(rest),
            since: WallMillis(millis(self.history.now())),
            extra: Extra::new(),
        };
        let is_free = consumer.suspected.is_none() && !consumer.is_ending();
        let marked = Consumer { suspected: Some(mark), ..consumer };
        is_free && self.replace(&record, &record.value, encode(&marked)).await
    }

    /// Removes the mark of a session that is heard, whoever else writes to its registration.
    pub(crate) async fn hear(&self, session: &Member) {
        if self.hole == Some(Hole::MarksKept) {
            return;
        }
        while let Some((record, consumer)) = self.registered(session).await {
            let heard = Consumer { suspected: None, ..consumer.clone() };
            let is_open = consumer.suspected.is_some() && !consumer.is_ending();
            if !is_open || self.replace(&record, &record.value, encode(&heard)).await {
                return;
            }
        }
    }

    async fn registered(&self, session: &Member) -> Option<(Record, Consumer)> {
        let record = self.record(&Key::Consumer(session.name.clone())).await?;
        let consumer = decode::<Consumer>(&record.value).ok()?;
        (consumer.incarnation == session.incarnation).then_some((record, consumer))
    }

    /// Revokes the lease of the session of `consumer`.
    pub(crate) async fn revoke(&self, consumer: &str) -> bool {
        self.revoke_lease(&Key::Consumer(name(consumer))).await
    }

    /// Deletes the registration of `consumer`; its lease lives on.
    pub(crate) async fn unregister(&self, consumer: &str) -> bool {
        self.delete(&Key::Consumer(name(consumer))).await
    }

    /// Revokes the lease of the session of `router`.
    pub(crate) async fn revoke_router(&self, router: &str) -> bool {
        self.revoke_lease(&Key::Router(name(router))).await
    }

    /// Deletes the registration of `router`; its lease lives on.
    pub(crate) async fn unregister_router(&self, router: &str) -> bool {
        self.delete(&Key::Router(name(router))).await
    }

    /// Deletes what some router said of some handoff.
    pub(crate) async fn delete_a_word(&mut self) -> Option<String> {
        let words: Vec<Key> = self.read(|state| {
            let said = state.router_acks().iter();
            said.flat_map(|(at, by)| by.keys().map(|name| Key::RouterAck(at.clone(), name.clone()))).collect()
        });
        let key = words.get(self.dice.random_range(0..words.len().max(1)))?;
        self.delete(key).await.then(|| self.layout.encode(key).escape_ascii().to_string())
    }

    async fn revoke_lease(&self, of: &Key) -> bool {
        let lease = self.record(of).await.map(|record| record.lease);
        let Some(lease) = lease.filter(|lease| *lease != LeaseId::NONE) else { return false };
        self.store.revoke(lease).await.is_ok()
    }

    async fn delete(&self, key: &Key) -> bool {
        let Some(record) = self.record(key).await else { return false };
        self.write(Txn::guarded(Vec::new(), vec![Op::delete(record.key)])).await
    }

    async fn record(&self, key: &Key) -> Option<Record> {
        self.store.get(&self.layout.encode(key)).await.ok()?.0
    }

    /// Makes some record unreadable.
    pub(crate) async fn spoil(&mut self) -> Option<Spoiled> {
        let listing = self.store.range(&self.layout.prefix()).await.ok()?;
        let folder = self.dice.random_range(0..6_u32);
        let fits = |record: &&Record| match self.layout.decode(&record.key) {
            Some(Key::Assignment(_)) => folder == 0,
            Some(Key::Handoff(_)) => folder == 1,
            Some(Key::Consumer(_)) => folder == 2 || folder == 1,
            Some(Key::GroupConfig) => folder == 3,
            Some(Key::Topic(_)) => folder == 4,
            Some(Key::Router(_) | Key::RouterAck(..)) => folder == 5,
            _ => false,
        };
        let records: Vec<&Record> = listing.records.iter().filter(fits).collect();
        let record = Record::clone(records.get(self.dice.random_range(0..records.len().max(1)))?);
        self.replace(&record, &record.value, Bytes::from_static(UNREADABLE)).await.then_some(Spoiled(record))
    }

    /// Makes it readable again, where nobody else has written or deleted it.
    pub(crate) async fn mend(&self, spoiled: &Spoiled) {
        let unreadable = Bytes::from_static(UNREADABLE);
        let _mended = self.replace(&spoiled.0, &unreadable, spoiled.0.value.clone()).await;
    }

    async fn replace(&self, record: &Record, from: &Bytes, to: Bytes) -> bool {
        let guards = vec![
            Compare::new(record.key.clone(), Must::HaveValue(from.clone())),
            Compare::new(record.key.clone(), Must::HaveLease(record.lease)),
        ];
        let put = Op::Put { key: record.key.clone(), value: to, lease: record.lease };
        self.write(Txn::guarded(guards, vec![put])).await
    }

    /// Gives every lease its whole time again, as a new leader of the store does.
    pub(crate) async fn revive_leases(&self) {
        let all = self.store.range(b"/").await.expect("memory takes everything");
        let leases: BTreeSet<LeaseId> = all.records.iter().map(|record| record.lease).collect();
        for lease in leases.into_iter().filter(|lease| *lease != LeaseId::NONE) {
            // One that has run out by now stays so.
            let _is_over = self.store.keep_alive(lease).await;
        }
    }

    /// Makes the store forget everything but its records.
    pub(crate) async fn compact(&self) {
        // The observer is told of everything first.
        self.wait_for_observer().await;
        let revision = self.read(GroupState::revision);
        self.store.compact(revision.next()).await.expect("memory takes everything");
    }
}

fn name(member: &str) -> MemberName {
    MemberName::new(member).expect("the world gives good names")
}

impl Spoiled {
    /// The key that it is about.
    pub(crate) fn name(&self) -> String {
        self.0.key.escape_ascii().to_string()
    }
}
