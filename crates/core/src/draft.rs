//! Puts a write together: every method adds the guard that makes its change safe.

use crate::key::Key;
use crate::record::{Assignment, Consumer, Extra, Handoff, HandoffRecord, Owner, Reference, encode};
use crate::state::{GroupState, Versioned};
use crate::write::Write;
use kafka_assigner_types::id::{Epoch, Member, TopicPartition};
use kafka_assigner_types::kv::{Compare, LeaseId, Limits, Must, Op};
use kafka_assigner_types::mode::Mode;

/// A write in the making, on the state that it was decided on.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    state: &'a GroupState,
    write: Write,
}

impl<'a> Draft<'a> {
    pub(crate) fn on(state: &'a GroupState) -> Self {
        Self { state, write: Write::default() }
    }

    /// True if no store takes it as one transaction.
    pub(crate) const fn is_too_large(&self) -> bool {
        self.write.ops.len() > Limits::ETCD.operations
    }

    pub(crate) fn into_write(self) -> Write {
        self.write
    }

    /// Guards a key on being as the state has it: unchanged, or still absent.
    pub(crate) fn unchanged(mut self, key: &Key) -> Self {
        let must = self.state.mod_revision(key).map_or(Must::BeAbsent, Must::HaveModRevision);
        self.write.guards.push(Compare::new(self.state.layout().encode(key), must));
        self
    }

    /// Guards on the session behind `registration` still being the registered one. The lease is compared, not
    /// the revision, since the record is rewritten with progress.
    pub(crate) fn registered(
        mut self,
        name: &kafka_assigner_types::name::MemberName,
        registration: &Versioned<Consumer>,
    ) -> Self {
        let key = self.state.layout().encode(&Key::Consumer(name.clone()));
        self.write.guards.push(Compare::new(key, Must::HaveLease(registration.lease)));
        self
    }

    /// Guards on the router's session still being the registered one.
    pub(crate) fn routing(mut self, name: &kafka_assigner_types::name::MemberName, lease: LeaseId) -> Self {
        let key = self.state.layout().encode(&Key::Router(name.clone()));
        self.write.guards.push(Compare::new(key, Must::HaveLease(lease)));
        self
    }

    pub(crate) fn assign(mut self, at: &TopicPartition, assignment: &Assignment) -> Self {
        let key = Key::Assignment(at.clone());
        self.put(&key, encode(assignment));
        self.unchanged(&key)
    }

    /// Writes the lead record of a handoff that lies there already.
    pub(crate) fn rewrite(mut self, handoff: &Handoff) -> Self {
        let key = Key::Handoff(handoff.lead().clone());
        self.put(&key, encode(&HandoffRecord::Lead(Box::new(handoff.clone()))));
        self.unchanged(&key)
    }

    /// Writes a new handoff at all partitions of its unit, none of which may have one.
    pub(crate) fn begin(mut self, handoff: &Handoff) -> Self {
        self = self.rewrite(handoff);
        for at in &handoff.unit[1..] {
            let key = Key::Handoff(at.clone());
            let reference = Reference::new(handoff.id.clone(), handoff.lead().clone());
            self.put(&key, encode(&HandoffRecord::Reference(reference)));
            self = self.unchanged(&key);
        }
        self
    }

    /// Removes a handoff from all partitions of its unit, with the intent and the acknowledgements about it.
    pub(crate) fn clear(mut self, handoff: &Handoff) -> Self {
        for at in &handoff.unit {
            self.delete(&Key::Handoff(at.clone()));
            if handoff.mode == Mode::Routed {
                // By their prefix: a word that this state has not seen goes as well.
                let prefix = self.state.layout().router_acks(at);
                self.write.ops.push(Op::DeletePrefix { prefix });
            }
        }
        self.delete(&Key::Intent(handoff.lead().clone()));
        self.unchanged(&Key::Handoff(handoff.lead().clone()))
    }

    pub(crate) fn put(&mut self, key: &Key, value: bytes::Bytes) {
        self.write.ops.push(Op::put(self.state.layout().encode(key), value));
    }

    pub(crate) fn delete(&mut self, key: &Key) {
        self.write.ops.push(Op::delete(self.state.layout().encode(key)));
    }

    /// Removes what tells of the claims of an earlier group of this name.
    pub(crate) fn remove_tombstone(&mut self) {
        self.write.ops.push(Op::delete(self.state.layout().gone()));
    }

    /// Rewrites a registration under its own lease.
    pub(crate) fn register(
        mut self,
        name: &kafka_assigner_types::name::MemberName,
        lease: LeaseId,
        consumer: &Consumer,
    ) -> Self {
        let key = Key::Consumer(name.clone());
        self.write.ops.push(Op::put_leased(self.state.layout().encode(&key), encode(consumer), lease));
        self.unchanged(&key)
    }
}

/// The owner that a registration makes.
pub(crate) fn owner_of(member: &Member, registration: &Versioned<Consumer>) -> Owner {
    Owner {
        name: member.name.clone(),
        incarnation: member.incarnation.clone(),
        lease: registration.lease,
        ttl_ms: registration.ttl_ms,
        outage_grace_ms: registration.outage_grace_ms,
        extra: Extra::new(),
    }
}

/// The one epoch under which a whole unit is granted next: above all that its partitions had.
pub(crate) fn next_epoch(state: &GroupState, unit: &[TopicPartition]) -> Epoch {
    let highest = unit.iter().filter_map(|at| state.assignment(at)).map(Assignment::highest_epoch).max();
    highest.unwrap_or_default().next(state.epoch_floor())
}
