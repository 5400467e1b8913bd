//! Between our vocabulary and etcd's messages.

use bytes::Bytes;
use kafka_assigner_types::kv::{
    Change, Compare, LeaseId, Limits, Must, Op, Record, Revision, Snapshot, Txn, TxnOutcome,
};

use super::wire::compare::{CompareResult, CompareTarget, TargetUnion};
use super::wire::event::EventType;
use super::wire::request_op::Request;
use super::wire::response_op::Response;
use super::wire::{self, DeleteRangeRequest, PutRequest, RangeRequest, RangeResponse, ResponseHeader};
use crate::error::Error;

/// etcd's revisions are signed but never negative.
pub(super) const fn revision(wire: i64) -> Revision {
    Revision(wire.unsigned_abs())
}

/// No store reaches a revision that does not fit.
pub(super) fn wire_revision(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}

pub(super) fn header_revision(header: Option<ResponseHeader>) -> Revision {
    revision(header.unwrap_or_default().revision)
}

/// The first key and the exclusive end of all keys with a prefix.
///
/// A zero byte as key is the smallest key of all, as end it means that there is none.
pub(super) fn key_range(prefix: &[u8]) -> (Bytes, Bytes) {
    let zero = Bytes::from_static(&[0]);
    let key = if prefix.is_empty() { zero.clone() } else { Bytes::copy_from_slice(prefix) };
    let Some(last) = prefix.iter().rposition(|byte| *byte < u8::MAX) else { return (key, zero) };
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    (key, end.into())
}

/// A copy of its own. What is decoded is a part of the whole answer: as long as one small key is kept, so is an answer of
/// perhaps a megabyte.
fn own(part: &Bytes) -> Bytes {
    Bytes::copy_from_slice(part)
}

pub(super) fn record(kv: &wire::KeyValue) -> Record {
    Record {
        key: own(&kv.key),
        value: own(&kv.value),
        create_revision: revision(kv.create_revision),
        mod_revision: revision(kv.mod_revision),
        lease: LeaseId(kv.lease),
    }
}

pub(super) fn change(event: wire::Event) -> Change {
    let deleted = event.r#type() == EventType::Delete;
    let kv = event.kv.unwrap_or_default();
    if deleted {
        return Change::Delete { key: own(&kv.key), revision: revision(kv.mod_revision) };
    }
    Change::Put(record(&kv))
}

pub(super) fn get_request(key: &[u8]) -> RangeRequest {
    RangeRequest { key: Bytes::copy_from_slice(key), ..RangeRequest::default() }
}

pub(super) fn get_answer(response: RangeResponse) -> (Option<Record>, Revision) {
    let revision = header_revision(response.header);
    (response.kvs.into_iter().next().map(|kv| record(&kv)), revision)
}

/// Takes in one page of a listing; the first one sets the revision.
pub(super) fn add_page(snapshot: &mut Snapshot, page: RangeResponse) {
    if snapshot.revision == Revision::default() {
        snapshot.revision = header_revision(page.header);
    }
    snapshot.records.extend(page.kvs.into_iter().map(|kv| record(&kv)));
}

/// # Errors
/// [`Error::TooLarge`] where etcd would refuse it for its size, [`Error::Invalid`] for an empty prefix.
pub(super) fn txn_request(txn: Txn, limits: Limits) -> Result<wire::TxnRequest, Error> {
    let bytes = txn.bytes();
    let request = wire::TxnRequest {
        compare: txn.compares.into_iter().flat_map(compares).collect(),
        success: txn.then.into_iter().map(operation).collect::<Result<_, _>>()?,
        failure: txn.or_else.into_iter().map(operation).collect::<Result<_, _>>()?,
    };
    check("compares", request.compare.len(), limits.operations)?;
    check("operations", request.success.len().max(request.failure.len()), limits.operations)?;
    check("bytes", bytes, limits.bytes)?;
    Ok(request)
}

const fn check(what: &'static str, size: usize, limit: usize) -> Result<(), Error> {
    if size > limit { Err(Error::TooLarge { what, size, limit }) } else { Ok(()) }
}

fn operation(op: Op) -> Result<wire::RequestOp, Error> {
    let request = match op {
        Op::Put { key, value, lease } => Request::RequestPut(PutRequest { key, value, lease: lease.0 }),
        Op::Delete { key } => {
            Request::RequestDeleteRange(DeleteRangeRequest { key, range_end: Bytes::new() })
        }
        Op::DeletePrefix { prefix } if prefix.is_empty() => {
            return Err(Error::Invalid("a prefix to delete must not be empty".to_owned()));
        }
        Op::DeletePrefix { prefix } => {
            let (key, range_end) = key_range(&prefix);
            Request::RequestDeleteRange(DeleteRangeRequest { key, range_end })
        }
        Op::Get { key } => Request::RequestRange(RangeRequest { key, ..RangeRequest::default() }),
    };
    Ok(wire::RequestOp { request: Some(request) })
}

/// An absent key compares as zeros in etcd, so a zero needs a second compare where the key must exist.
fn compares(Compare { key, must }: Compare) -> impl Iterator<Item = wire::Compare> {
    let equal = CompareResult::Equal;
    let created = |revision| TargetUnion::CreateRevision(revision);
    let is_range = matches!(must, Must::HaveNoKeys | Must::HaveNoChangesSince(_));
    let (key, range_end) = if is_range { key_range(&key) } else { (key, Bytes::new()) };
    let (result, target, union, may_be_absent) = match must {
        // Of a range it is true where there is no key.
        Must::BeAbsent | Must::HaveNoKeys => (equal, CompareTarget::Create, created(0), false),
        Must::Exist => (CompareResult::Greater, CompareTarget::Create, created(0), false),
        Must::HaveModRevision(at) => {
            let at = wire_revision(at);
            (equal, CompareTarget::Mod, TargetUnion::ModRevision(at), at == 0)
        }
        Must::HaveCreateRevision(at) => {
            let at = wire_revision(at);
            (equal, CompareTarget::Create, created(at), at == 0)
        }
        Must::HaveLease(lease) => {
            (equal, CompareTarget::Lease, TargetUnion::Lease(lease.0), lease == LeaseId::NONE)
        }
        Must::HaveValue(value) => (equal, CompareTarget::Value, TargetUnion::Value(value), false),
        Must::HaveNoChangesSince(since) => {
            let next = TargetUnion::ModRevision(wire_revision(since.next()));
            (CompareResult::Less, CompareTarget::Mod, next, false)
        }
    };
    let compare = |key: Bytes, result: CompareResult, target: CompareTarget, union| wire::Compare {
        result: result.into(),
        target: target.into(),
        key,
        target_union: Some(union),
        range_end: range_end.clone(),
    };
    let exists = may_be_absent
        .then(|| compare(key.clone(), CompareResult::Greater, CompareTarget::Create, created(0)));
    exists.into_iter().chain([compare(key, result, target, union)])
}

pub(super) fn txn_outcome(response: wire::TxnResponse) -> TxnOutcome {
    let reads = response.responses.into_iter().filter_map(|answer| match answer.response? {
        Response::ResponseRange(range) => Some(get_answer(range).0),
        Response::ResponsePut(_) | Response::ResponseDeleteRange(_) => None,
    });
    TxnOutcome {
        succeeded: response.succeeded,
        reads: reads.collect(),
        revision: header_revision(response.header),
    }
}

/// The leases that a transaction's writes name, each once.
pub(super) fn leases(txn: &Txn) -> Vec<LeaseId> {
    let named = txn.then.iter().chain(&txn.or_else).filter_map(|op| match op {
        Op::Put { lease, .. } if *lease != LeaseId::NONE => Some(*lease),
        _ => None,
    });
    let mut leases: Vec<_> = named.collect();
    leases.sort_unstable();
    leases.dedup();
    leases
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[test]
    fn a_prefix_ends_before_its_successor() {
        let range = |prefix: &[u8]| {
            let (key, end) = key_range(prefix);
            (key.to_vec(), end.to_vec())
        };
        assert_eq!(range(b"/a/"), (b"/a/".to_vec(), b"/a0".to_vec()));
        assert_eq!(range(b"a\xff\xff"), (b"a\xff\xff".to_vec(), b"b".to_vec()));
        assert_eq!(range(b"\xff"), (b"\xff".to_vec(), b"\0".to_vec()));
        assert_eq!(range(b""), (b"\0".to_vec(), b"\0".to_vec()));
    }

    #[test]
    fn what_is_kept_of_an_answer_does_not_keep_all_of_it() {
        let kv = wire::KeyValue { key: "key".into(), value: "value".into(), ..Default::default() };
        let answer = RangeResponse { kvs: vec![kv.clone(), kv], ..Default::default() };
        let received = Bytes::from(answer.encode_to_vec());
        let snapshot = &mut Snapshot::default();
        add_page(snapshot, RangeResponse::decode(received.clone()).unwrap());
        for part in snapshot.records.iter().flat_map(|record| [&record.key, &record.value]) {
            assert!(!received.as_ptr_range().contains(&part.as_ptr()), "{part:?}");
        }
    }

    #[test]
    fn a_compare_with_zero_needs_the_key_all_the_same() {
        let count = |must| compares(Compare::new("k", must)).count();
        assert_eq!(count(Must::HaveLease(LeaseId::NONE)), 2);
        assert_eq!(count(Must::HaveModRevision(Revision(0))), 2);
        assert_eq!(count(Must::HaveLease(LeaseId(7))), 1);
        assert_eq!(count(Must::BeAbsent), 1);
    }

    #[test]
    fn a_transaction_over_a_limit_is_not_built() {
        let limits = Limits { operations: 2, bytes: 1_000 };
        let puts = |n| Txn::guarded(Vec::new(), (0..n).map(|n| Op::put(format!("{n}"), "")).collect());
        assert!(txn_request(puts(2), limits).is_ok());
        let error = txn_request(puts(3), limits).unwrap_err();
        assert!(matches!(error, Error::TooLarge { what: "operations", size: 3, limit: 2 }), "{error:?}");
        let large = Txn::guarded(Vec::new(), vec![Op::put("k", vec![0; 1_000])]);
        let error = txn_request(large, limits).unwrap_err();
        assert!(matches!(error, Error::TooLarge { what: "bytes", .. }), "{error:?}");
    }

    #[test]
    fn each_lease_is_named_once() {
        let put = |lease| Op::put_leased("k", "", LeaseId(lease));
        let txn = Txn { compares: Vec::new(), then: vec![put(2), put(0), put(1)], or_else: vec![put(2)] };
        assert_eq!(leases(&txn), [LeaseId(1), LeaseId(2)]);
    }
}
